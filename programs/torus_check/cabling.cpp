// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_check/cabling.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "config/geometry.h"
#include "config/network.h"

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

using Hearing = std::map<CablingEnd, std::set<CablingEnd>>;  // the far ends that each end hears

// The ends of twins: as many devices of one host as of another, all of which hear each other, as
// two devices of a host on one cable do.
bool are_twins(const Hearing& far, const std::set<CablingEnd>& own,
               const std::set<CablingEnd>& others) {
    const auto of_one_host = [](const std::set<CablingEnd>& ends) {
        return ends.begin()->first == ends.rbegin()->first;
    };
    const auto all_hear = [&far](const std::set<CablingEnd>& ends,
                                 const std::set<CablingEnd>& heard) {
        return std::all_of(ends.begin(), ends.end(),
                           [&](const CablingEnd& end) { return far.at(end) == heard; });
    };
    return own.size() == others.size() && of_one_host(own) && of_one_host(others) &&
           all_hear(own, others) && all_hear(others, own);
}

// Twins may be paired in any way: as in the file where it has them, the others in order.
void pair_twins(std::set<CablingEnd> own, std::set<CablingEnd> others, const Cabling& in_file,
                Cabling& cabling) {
    for (const Ends& cable : in_file)
        if (own.contains(cable.first) && others.contains(cable.second)) {
            own.erase(cable.first);
            others.erase(cable.second);
            cabling.insert(cable);
        }
    for (auto a = own.begin(), b = others.begin(); a != own.end(); ++a, ++b)
        cabling.insert({*a, *b});
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
    Hearing far;
    for (std::size_t node = 0; node < results.size(); ++node)
        for (const Heard& heard : results[node].report.heard) {
            if (!wanted(heard.device) || !wanted(heard.from)) continue;
            const CablingEnd at{hosts[node], heard.device};
            const CablingEnd from{hosts[std::size_t(heard.node)], heard.from};
            far[at].insert(from);
            far[from].insert(at);
        }
    // Twins hear each other, too; a cable from a host to itself is heard by no other host.
    for (auto& [end, others] : far) {
        const std::string& host = end.first;
        const auto is_own = [&host](const CablingEnd& other) { return other.first == host; };
        if (!std::all_of(others.begin(), others.end(), is_own)) std::erase_if(others, is_own);
    }
    Cabling cabling;
    for (const auto& [end, others] : far) {
        const std::set<CablingEnd>& own = far.at(*others.begin());
        if (end == *own.begin() && end < *others.begin() && are_twins(far, own, others))
            pair_twins(own, others, in_file, cabling);
    }
    return cabling;
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
