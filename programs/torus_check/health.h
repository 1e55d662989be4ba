// SPDX-License-Identifier: BSD-3-Clause
// The health of one host's links: the changes from one check to the next, and the current faults.
//
// Pure; the text of the state file is validated. Any thread may call.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/link_counters.h"

namespace torusmp::torus_check {

struct LinkSample {
    bool present = false, up = false, carrier = false;
    std::optional<int> megabits;
    int mtu = 0;
    base::LinkCounters counters;
    friend bool operator==(const LinkSample&, const LinkSample&) = default;
};

// The remembered state of a link.
struct LinkMemory {
    LinkSample last;
    std::optional<int> best_megabits;
    std::int64_t damaged_at = 0;  // when packets were last found damaged, in seconds; 0 if never
    friend bool operator==(const LinkMemory&, const LinkMemory&) = default;
};

struct HealthState {
    std::string boot;                         // counters begin anew with it
    std::int64_t time = 0;                    // of the last look, in seconds
    std::map<std::string, LinkMemory> links;  // by device
    friend bool operator==(const HealthState&, const HealthState&) = default;
};

std::string format_state(const HealthState& state);
// Returns nothing if the text was not written by format_state().
std::optional<HealthState> parse_state(std::string_view text);

struct Health {
    std::vector<std::string> changes;  // since the last look
    std::vector<std::string> wrong;    // now, whether new or not
};

// Updates the state from a sample. Damaged packets count as a fault for `memory`.
Health update_health(HealthState& state, const std::string& boot, std::int64_t time,
                     const std::map<std::string, LinkSample>& looks, std::chrono::seconds memory);

}  // namespace torusmp::torus_check
