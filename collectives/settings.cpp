#include "collectives/settings.h"

#include "collectives/operations.h"

namespace torusmp::collectives {

Policy policy_of(const config::Settings& settings) {
    Policy policy;
    for (std::size_t i = 0; i < operations().size(); ++i) {
        const std::string text =
            config::format_forms(config::Collective(i), *settings.forms[i]);
        policy.choices[operations()[i]] =
            parse_choice(*operations()[i], text, operations()[i]->defaults());
    }
    policy.check = *settings.check_collectives;
    return policy;
}

}  // namespace torusmp::collectives
