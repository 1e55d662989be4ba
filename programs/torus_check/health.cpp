// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_check/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/units.h"

namespace torusmp::torus_check {

namespace {

constexpr std::string_view state_word = "torus-check-state-1";
// Fewer damaged packets are reported, but are not a reason to avoid the cable.
constexpr std::uint32_t fewest_damaged = 3, packets_for_one = 1'000'000;
// Kernels also drop packets without a receiver; only a larger share is reported.
constexpr std::uint32_t packets_for_one_drop = 1000;

std::string speed(const std::optional<int>& megabits) {
    return megabits ? fmt::format("{} Mbit/s", *megabits) : "an unknown speed";
}

// Returns why a link does not work at all; empty if it works.
std::string dead(const LinkSample& look) {
    if (!look.present) return "is gone";
    if (!look.up) return "is down";
    if (!look.carrier) return "has no carrier";
    return {};
}

class Comparison {
  public:
    Comparison(const std::string& device, const LinkSample& now, Health& health)
        : device_(device), now_(now), health_(health) {}

    void compare_state(const LinkMemory* known) {
        const std::string state = dead(now_), before = known ? dead(known->last) : std::string();
        if (state != before)
            change(state.empty() ? fmt::format("is back, at {}", speed(now_.megabits)) : state);
        if (!state.empty()) wrong(state);
    }

    void compare_speed(const LinkMemory* known, LinkMemory& memory) {
        if (!dead(now_).empty()) return;
        if (now_.megabits)
            memory.best_megabits = std::max(memory.best_megabits.value_or(0), *now_.megabits);
        if (known && dead(known->last).empty() && known->last.megabits != now_.megabits)
            change(fmt::format("runs at {}, previously {}", speed(now_.megabits),
                               speed(known->last.megabits)));
        if (now_.megabits && *now_.megabits < *memory.best_megabits)
            wrong(fmt::format("runs at {}, at best {}", speed(now_.megabits),
                              speed(memory.best_megabits)));
        if (known && known->last.present && known->last.mtu != now_.mtu)
            change(fmt::format("has MTU {}, previously {}", now_.mtu, known->last.mtu));
    }

    void compare_counters(const LinkMemory* known, LinkMemory& memory, std::int64_t time,
                          std::int64_t since, std::chrono::seconds span) {
        if (known && known->last.present && now_.present) {
            const base::LinkCounters counted = now_.counters.since(known->last.counters);
            const std::uint32_t damaged = counted.damaged();
            // While a device goes down or comes up, the kernel drops packets in transit.
            const bool worked = dead(known->last).empty() && dead(now_).empty();
            const std::uint32_t dropped = !worked ? 0
                                                  : counted[base::LinkCounters::rx_dropped] +
                                                        counted[base::LinkCounters::tx_dropped];
            if (damaged > 0 || dropped > counted.packets() / packets_for_one_drop)
                change(fmt::format("{} in {} packets since {} ago", counted.describe(),
                                   counted.packets(),
                                   base::format_time(std::chrono::seconds(time - since))));
            if (damaged >= fewest_damaged && damaged > counted.packets() / packets_for_one)
                memory.damaged_at = time;
        }
        if (memory.damaged_at > 0 && time - memory.damaged_at < span.count())
            wrong(
                fmt::format("received damaged packets {} ago: is the cable damaged, or a plug "
                            "loose?",
                            base::format_time(std::chrono::seconds(time - memory.damaged_at))));
    }

  private:
    void change(const std::string& what) {
        health_.changes.push_back(fmt::format("{} {}", device_, what));
    }
    void wrong(const std::string& what) {
        health_.wrong.push_back(fmt::format("{} {}", device_, what));
    }

    const std::string& device_;
    const LinkSample& now_;
    Health& health_;
};

}  // namespace

std::string format_state(const HealthState& state) {
    std::string out = fmt::format("{} {} {}\n", state_word, state.boot, state.time);
    for (const auto& [device, memory] : state.links) {
        const LinkSample& look = memory.last;
        out += fmt::format("link {} {:d} {:d} {:d} {} {} {} {}", device, look.present, look.up,
                           look.carrier, look.megabits.value_or(-1), look.mtu,
                           memory.best_megabits.value_or(-1), memory.damaged_at);
        for (const std::uint32_t value : look.counters.values()) out += fmt::format(" {}", value);
        out += "\n";
    }
    return out + fmt::format("end {}\n", state.links.size());
}

std::optional<HealthState> parse_state(std::string_view text) {
    std::istringstream lines{std::string(text)};
    HealthState state;
    std::string line, word;
    if (!std::getline(lines, line)) return std::nullopt;
    std::istringstream head(line);
    if (!(head >> word >> state.boot >> state.time) || word != state_word) return std::nullopt;
    while (std::getline(lines, line)) {
        std::istringstream words(line);
        words >> word;
        std::size_t links = 0;
        if (word == "end" && words >> links && links == state.links.size()) return state;
        std::string device;
        LinkMemory memory;
        LinkSample& look = memory.last;
        int megabits = 0, best = 0;
        if (word != "link" || !(words >> device >> look.present >> look.up >> look.carrier >>
                                megabits >> look.mtu >> best >> memory.damaged_at))
            return std::nullopt;
        for (std::size_t i = 0; i < look.counters.values().size(); ++i) {
            std::uint32_t value = 0;
            if (!(words >> value)) return std::nullopt;
            look.counters.set(i, value);
        }
        if (megabits >= 0) look.megabits = megabits;
        if (best >= 0) memory.best_megabits = best;
        state.links[device] = memory;
    }
    return std::nullopt;
}

Health update_health(HealthState& state, const std::string& boot, std::int64_t time,
                     const std::map<std::string, LinkSample>& looks, std::chrono::seconds memory) {
    Health health;
    HealthState next{boot, time, {}};
    for (const auto& [device, now] : looks) {
        const auto found = state.links.find(device);
        const LinkMemory* known = found == state.links.end() ? nullptr : &found->second;
        LinkMemory& kept = next.links[device];
        if (known) kept = *known;
        Comparison look(device, now, health);
        look.compare_state(known);
        look.compare_speed(known, kept);
        // Counters restart when the host boots; a clock that was set back also invalidates the
        // comparison.
        const bool comparable = state.boot == boot && time >= state.time;
        look.compare_counters(comparable ? known : nullptr, kept, time, state.time, memory);
        kept.last = now;
    }
    state = std::move(next);
    return health;
}

}  // namespace torusmp::torus_check
