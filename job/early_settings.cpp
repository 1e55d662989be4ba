// SPDX-License-Identifier: BSD-3-Clause
#include "job/early_settings.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/load.h"
#include "job/settings.h"

namespace torusmp::job {
namespace {

using Values = std::vector<std::pair<const config::AnySetting*, std::string>>;

Values& early() {
    static Values* const values = std::make_unique<Values>().release();
    return *values;
}

void assign(config::Settings& settings, const config::AnySetting& setting,
            std::string_view text) {
    settings.assign(setting, config::Raw::words(text),
                    {config::Origin::Kind::flag, "MPI_T_cvar_write"});
}

}  // namespace

void set_early(const config::AnySetting& setting, std::string_view text) {
    config::Settings trial(schema());
    assign(trial, setting, text);
    early().emplace_back(&setting, text);
}

config::Settings settings_for_rank() {
    config::Settings settings = config::load_for_rank(schema());
    for (const auto& [setting, text] : early()) assign(settings, *setting, text);
    return settings;
}

}  // namespace torusmp::job
