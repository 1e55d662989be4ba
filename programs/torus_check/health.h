// SPDX-License-Identifier: BSD-3-Clause
// How the links of one host are doing from one look to the next: what has changed, and what is
// wrong now.
//
// Pure except for the state file's text, which is not believed either; any thread may call.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/link_counters.h"

namespace torusmp::check {

struct LinkLook {
    bool present = false, up = false, carrier = false;
    std::optional<int> megabits;
    int mtu = 0;
    base::LinkCounters counters;
    friend bool operator==(const LinkLook&, const LinkLook&) = default;
};

// What is remembered of a link.
struct LinkMemory {
    LinkLook last;
    std::optional<int> best_megabits;
    std::int64_t hurt = 0;  // when packets were last found damaged, in seconds; 0: never
    friend bool operator==(const LinkMemory&, const LinkMemory&) = default;
};

struct HealthState {
    std::string boot;                         // counters begin anew with it
    std::int64_t time = 0;                    // of the last look, in seconds
    std::map<std::string, LinkMemory> links;  // by device
    friend bool operator==(const HealthState&, const HealthState&) = default;
};

std::string format_state(const HealthState& state);
// Nothing if it is none that format_state() has written.
std::optional<HealthState> parse_state(std::string_view text);

struct Health {
    std::vector<std::string> changes;  // since the last look
    std::vector<std::string> wrong;    // now, whether new or not
};

// Takes a look into the state. `memory`: for so long damaged packets count as wrong.
Health take_look(HealthState& state, const std::string& boot, std::int64_t time,
                 const std::map<std::string, LinkLook>& looks, std::chrono::seconds memory);

}  // namespace torusmp::check
