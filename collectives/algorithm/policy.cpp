#include "collectives/algorithm/policy.h"

#include "collectives/algorithm/table.h"

namespace torusmp::collectives {

const Choice& Policy::choice_of(const AlgorithmTable& table) const {
    const auto found = choices.find(&table);
    return found == choices.end() ? table.defaults() : found->second;
}

const Policy& default_policy() {
    static const Policy policy;
    return policy;
}

}  // namespace torusmp::collectives
