// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_check/cabling.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/geometry.h"
#include "config/network.h"
#include "programs/torus_check/cable_map.h"

namespace torusmp::torus_check {

namespace {

using Ends = Cabling::value_type;

std::string text_of(const CablingEnd& end) {
    return end.first + " " + end.second;
}

const CablingEnd& far_end(const Ends& cable, const CablingEnd& end) {
    return cable.first == end ? cable.second : cable.first;
}

const Ends* cable_at(const Cabling& cabling, const CablingEnd& end) {
    const auto found = std::find_if(cabling.begin(), cabling.end(), [&](const Ends& cable) {
        return cable.first == end || cable.second == end;
    });
    return found == cabling.end() ? nullptr : &*found;
}

// A cable between the same hosts that keeps one end and has another device at the other.
const Ends* with_other_device(const Cabling& cabling, const Ends& cable) {
    const auto found = std::find_if(cabling.begin(), cabling.end(), [&](const Ends& other) {
        return cable.first.first == other.first.first && cable.second.first == other.second.first &&
               (cable.first == other.first || cable.second == other.second);
    });
    return found == cabling.end() ? nullptr : &*found;
}

// Removes these cables from both.
std::vector<std::string> other_devices(Cabling& before, Cabling& now) {
    std::vector<std::string> changes;
    for (auto it = before.begin(); it != before.end();) {
        const Ends* const found = with_other_device(now, *it);
        if (found == nullptr) {
            ++it;
            continue;
        }
        const bool first = found->first != it->first;
        changes.push_back(fmt::format("the cable from {} to {} is now at {}", text_of(it->first),
                                      text_of(it->second),
                                      text_of(first ? found->first : found->second)));
        now.erase(Ends(*found));
        it = before.erase(it);
    }
    return changes;
}

}  // namespace

Cabling cabling_of(const config::Settings& settings) {
    const routing::Torus torus = *config::node_torus(settings);
    const auto& hosts = config::host_names(settings);
    Cabling cabling;
    for (int node = 0; node < torus.size(); ++node)
        for (int dimension = 0; dimension < torus.link_dimensions(); ++dimension) {
            const auto neighbour = torus.neighbour(node, {dimension, 1});
            if (!neighbour) continue;
            const CablingEnd own{hosts[std::size_t(node)],
                                 config::link_device(settings, node, {dimension, 1})};
            const CablingEnd far{hosts[std::size_t(*neighbour)],
                                 config::link_device(settings, *neighbour, {dimension, -1})};
            if (!own.second.empty() && !far.second.empty()) cabling.insert(std::minmax(own, far));
        }
    return cabling;
}

Cabling cabling_found(const std::vector<std::string>& hosts, const std::vector<HostResult>& results,
                      const std::function<bool(const std::string&)>& wanted,
                      const Cabling& in_file) {
    const CableMap map(results, wanted);
    const auto named = [&](const routing::CableEnd& end) {
        return CablingEnd{hosts[std::size_t(end.node)], map.device(end.port)};
    };
    Cabling found;
    std::vector<std::string> left_out;  // --discover prints it
    for (const routing::Cable& cable : map.cables(left_out))
        found.insert(std::minmax(named(cable.a), named(cable.b)));
    // Twins may be paired in any way.
    const auto key = [&hosts](const CablingEnd& end) {
        const auto at = std::find(hosts.begin(), hosts.end(), end.first);
        return CableMap::EndKey(int(at - hosts.begin()), end.second);
    };
    for (const auto& [a, b] : in_file) {
        const Ends *const of_a = cable_at(found, a), *const of_b = cable_at(found, b);
        if (!of_a || !of_b || of_a == of_b || !map.hear_each_other(key(a), key(b))) continue;
        const Ends rest = std::minmax(far_end(*of_a, a), far_end(*of_b, b));
        found.erase(Ends(*of_a));
        found.erase(Ends(*of_b));
        found.insert({{a, b}, rest});
    }
    return found;
}

std::vector<std::string> changes_of_cabling(Cabling before, Cabling now) {
    for (auto it = before.begin(); it != before.end();)
        it = now.erase(*it) > 0 ? before.erase(it) : std::next(it);
    std::vector<std::string> changes = other_devices(before, now);
    for (const Ends& cable : before)
        if (!cable_at(now, cable.first) && !cable_at(now, cable.second))
            changes.push_back(fmt::format("the cable from {} to {} is missing",
                                          text_of(cable.first), text_of(cable.second)));
    for (const Ends& cable : now) {
        const std::size_t known = changes.size();
        for (const CablingEnd& end : {cable.first, cable.second})
            if (const Ends* const old = cable_at(before, end))
                changes.push_back(fmt::format("{} leads to {}, before to {}", text_of(end),
                                              text_of(far_end(cable, end)),
                                              text_of(far_end(*old, end))));
        if (changes.size() == known)
            changes.push_back(fmt::format("the cable from {} to {} is new", text_of(cable.first),
                                          text_of(cable.second)));
    }
    return changes;
}

}  // namespace torusmp::torus_check
