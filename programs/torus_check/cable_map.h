// SPDX-License-Identifier: BSD-3-Clause
// The cables between hosts, from the packets that they received on their devices. A device name is
// a port with the same number on all hosts. Immutable; any thread.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "programs/torus_check/coordinator.h"
#include "routing/recognize.h"

namespace torusmp::torus_check {

class CableMap {
  public:
    using EndKey = std::pair<int, std::string>;  // host and device

    CableMap(const std::vector<HostResult>& results,
             const std::function<bool(const std::string&)>& wanted) {
        for (std::size_t node = 0; node < results.size(); ++node)
            for (const Heard& heard : results[node].report.heard)
                if (wanted(heard.device) && wanted(heard.from)) {
                    far_[{int(node), heard.device}].insert({heard.node, heard.from});
                    far_[{heard.node, heard.from}].insert({int(node), heard.device});
                    arrived_.insert({{heard.node, heard.from}, {int(node), heard.device}});
                }
        for (std::size_t node = 0; node < results.size(); ++node)
            for (const config::Device& device : results[node].facts.devices)
                if (!device.loopback && wanted(device.name) &&
                    !far_.count({int(node), device.name}))
                    idle_.insert({int(node), device.name});
        number_ports();
    }

    // Devices that receive nothing, and whose packets do not arrive anywhere.
    std::vector<routing::CableEnd> idle() const {
        std::vector<routing::CableEnd> ends;
        for (const EndKey& end : idle_) ends.push_back({end.first, port(end)});
        return ends;
    }

    // Whether anything has arrived over that cable from one end at the other.
    bool arrives(const routing::CableEnd& from, const routing::CableEnd& to) const {
        return arrived_.count({{from.node, device(from.port)}, {to.node, device(to.port)}}) != 0;
    }

    bool hear_each_other(const EndKey& a, const EndKey& b) const {
        const auto found = far_.find(a);
        return found != far_.end() && found->second.count(b) != 0;
    }

    bool knows(int port) const { return port >= 0 && std::size_t(port) < names_.size(); }

    // Ends that hear exactly one far end and are heard by it alone, and twins: devices of two hosts
    // that hear each other over one cable, in the order of their names. Notes on the others.
    std::vector<routing::Cable> cables(std::vector<std::string>& notes) const {
        std::vector<routing::Cable> found;
        std::map<std::string, int> shared;  // device -> hosts on which it is not on a cable
        for (const auto& [end, far] : far_) {
            const EndKey& other = *far.begin();
            if (far.size() > 1 || far_.at(other).size() > 1) {
                const std::optional<EndKey> twin = twin_of(end);
                if (!twin)
                    ++shared[end.second];
                else if (end < *twin)
                    found.push_back({{end.first, port(end)}, {twin->first, port(*twin)}});
            } else if (end < other)
                found.push_back({{end.first, port(end)}, {other.first, port(other)}});
        }
        for (const auto& [device, count] : shared)
            notes.push_back(
                fmt::format("{} of {} host{} hears more than one far end, as on a switched "
                            "network, and is left out",
                            device, count, count == 1 ? "" : "s"));
        return found;
    }

    const std::string& device(int port) const { return names_[std::size_t(port)]; }

  private:
    int port(const EndKey& end) const {
        const auto at = std::lower_bound(names_.begin(), names_.end(), end.second);
        return int(at - names_.begin());
    }

    // The end that hears the same ones as this, at the same place among the devices of the other
    // host; empty if there are other hosts or fewer devices there.
    std::optional<EndKey> twin_of(const EndKey& end) const {
        std::set<EndKey> together{end};
        for (bool more = true; std::exchange(more, false);)
            for (const EndKey& each : std::set<EndKey>(together))
                for (const EndKey& far : far_.at(each)) more |= together.insert(far).second;
        std::vector<EndKey> own, others;
        for (const EndKey& each : together)
            (each.first == end.first ? own : others).push_back(each);
        const auto place = std::size_t(std::find(own.begin(), own.end(), end) - own.begin());
        if (place >= others.size() || others.front().first != others.back().first)
            return std::nullopt;
        return others[place];
    }

    // One number for each device name, the same on all hosts.
    void number_ports() {
        std::set<std::string> names;
        for (const auto& [end, far] : far_) names.insert(end.second);
        for (const EndKey& end : idle_) names.insert(end.second);
        names_.assign(names.begin(), names.end());
    }

    std::map<EndKey, std::set<EndKey>> far_;
    std::set<std::pair<EndKey, EndKey>> arrived_;  // from, at
    std::set<EndKey> idle_;
    std::vector<std::string> names_;
};

}  // namespace torusmp::torus_check
