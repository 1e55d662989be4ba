// SPDX-License-Identifier: BSD-3-Clause
// Fictitious hosts and the packets they received: a machine without faults, which tests damage.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/load.h"
#include "job/settings.h"
#include "programs/torus_check/coordinator.h"
#include "programs/torus_check/discover.h"
#include "programs/torus_check/verdict.h"
#include "routing/torus.h"

namespace torusmp::test {

inline constexpr int small_probes = 200, large_probes = 8;

inline std::string device_name(routing::Direction direction) {
    return std::string(direction.sign > 0 ? "up" : "dn") + std::to_string(direction.dimension);
}

using End = std::pair<int, std::string>;

class MadeUp {
  public:
    explicit MadeUp(const std::vector<int>& dims, const std::vector<bool>& periodic = {})
        : torus(dims, periodic) {
        for (int node = 0; node < torus.size(); ++node) {
            names.push_back("h" + std::to_string(node));
            results.push_back(good_host(node));
        }
        for (int node = 0; node < torus.size(); ++node)
            for (int d = 0; d < torus.dimensions(); ++d)
                if (const auto next = torus.neighbour(node, {d, +1}))
                    plug({node, device_name({d, +1})}, {*next, device_name({d, -1})});
    }

    config::Settings settings() const {
        config::LoadRequest request;
        const auto set = [&](const char* key, const std::string& value) {
            request.flags.push_back({key, value});
        };
        std::string dims, periodic, links, hosts;
        for (int d = 0; d < torus.dimensions(); ++d) {
            dims += (d ? "," : "") + std::to_string(torus.extent(d));
            periodic += std::string(d ? "," : "") + (torus.periodic(d) ? "true" : "false");
            for (const int sign : {+1, -1})
                if (torus.extent(d) > 1)
                    links += (links.empty() ? "" : ",") + std::to_string(d) +
                             (sign > 0 ? "+=" : "-=") + device_name({d, sign});
        }
        for (const std::string& name : names) hosts += (hosts.empty() ? "" : ",") + name;
        set("torus.dims", dims);
        set("torus.periodic", periodic);
        set("nodes.hosts", hosts);
        if (!links.empty()) set("links", links);
        return config::load(job::schema(), request, std::vector<std::string>{});
    }

    torus_check::HostResult& host(int node) { return results[std::size_t(node)]; }
    config::Device& device(const End& end) {
        return const_cast<config::Device&>(*host(end.first).facts.find(end.second));
    }

    // What `to` hears of `from`; zero of both: nothing.
    void hear(const End& from, const End& to, int small, int large) {
        auto& heard = host(to.first).report.heard;
        std::erase_if(heard, [&](const torus_check::Heard& known) {
            return known.device == to.second && known.node == from.first &&
                   known.from == from.second;
        });
        if (small + large > 0) heard.push_back({to.second, from.first, from.second, small, large});
    }
    void plug(const End& a, const End& b) {
        hear(a, b, small_probes, large_probes);
        hear(b, a, small_probes, large_probes);
    }
    void pull(const End& a, const End& b) {
        hear(a, b, 0, 0);
        hear(b, a, 0, 0);
    }

    // Another name for a device: of itself, and in what its peer hears.
    void rename(const End& end, const std::string& name) {
        device(end).name = name;
        for (torus_check::Sent& sent : host(end.first).report.sent)
            if (sent.device == end.second) sent.device = name;
        for (std::size_t node = 0; node < results.size(); ++node)
            for (torus_check::Heard& heard : results[node].report.heard) {
                if (int(node) == end.first && heard.device == end.second) heard.device = name;
                if (heard.node == end.first && heard.from == end.second) heard.from = name;
            }
    }

    // The findings of all cables, "FAULT: text".
    std::vector<std::string> findings(const torus_check::Expectation& expectation = {}) const {
        std::vector<std::string> found;
        for (const torus_check::CableResult& cable :
             torus_check::judge(settings(), results, expectation))
            for (const torus_check::Finding& finding : cable.findings)
                found.push_back(std::string(torus_check::name_of(finding.fault)) + ": " +
                                finding.text);
        return found;
    }

    routing::Torus torus;
    std::vector<std::string> names;
    std::vector<torus_check::HostResult> results;

  private:
    torus_check::HostResult good_host(int node) const {
        torus_check::HostResult result;
        for (int i = 0; i < 2 * torus.dimensions(); ++i) {
            const auto direction = routing::Direction::from_index(i);
            if (!torus.neighbour(node, direction)) continue;
            config::Device device;
            device.name = device_name(direction);
            device.index = i + 2;
            device.up = device.carrier = true;
            device.mtu = 9000;
            device.megabits = 1000;
            device.full_duplex = true;
            result.facts.devices.push_back(device);
            result.report.sent.push_back(
                {device.name, small_probes, large_probes, device.mtu, 0, ""});
        }
        return result;
    }
};

}  // namespace torusmp::test
