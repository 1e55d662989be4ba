// SPDX-License-Identifier: BSD-3-Clause
// A fictitious torus of hosts n0, n1, ... without faults, which tests damage. Devices are named as
// in testbeds: d0p leads up dimension 0, d0m down.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "config/geometry.h"
#include "tests/config/machine.h"

namespace torusmp::torus_run::test {

class Grid {
  public:
    // `more`: of the geometry file.
    explicit Grid(const std::vector<int>& dims, const std::string& more = {})
        : torus(dims), file_(text_of(dims, more)), settings(torusmp::test::load_file(file_)) {
        for (int node = 0; node < torus.size(); ++node) {
            config::HostFacts facts;
            facts.name = fmt::format("n{}", node);
            facts.identity = "boot:" + facts.name;
            for (int i = 0; i < 2 * torus.dimensions(); ++i) {
                config::Device device = torusmp::test::good_device(device_of(i), i + 2, 0, node);
                device.addresses = {torusmp::test::ip("fe80::1/64")};
                facts.devices.push_back(device);
            }
            hosts.push_back(facts);
        }
    }

    int ranks() const { return torus.size() * ranks_on_a_node(settings); }
    config::Device& device(int node, const std::string& name) {
        return const_cast<config::Device&>(*hosts[std::size_t(node)].find(name));
    }
    std::vector<config::MachineFault> faults() const {
        return transport::find_faults(settings, hosts, config::read_locations(settings));
    }
    const std::string& path() const { return file_.path(); }

    routing::Torus torus;

  private:
    static std::string device_of(int index) {
        return fmt::format("d{}{}", index / 2, index % 2 == 0 ? 'p' : 'm');
    }
    static std::string text_of(const std::vector<int>& dims, const std::string& more) {
        int size = 1;
        std::vector<std::string> names, links;
        for (const int extent : dims) size *= extent;
        for (int node = 0; node < size; ++node) names.push_back(fmt::format("\"n{}\"", node));
        for (int i = 0; i < 2 * int(dims.size()); ++i)
            links.push_back(
                fmt::format("\"{}{}\" = \"{}\"", i / 2, i % 2 == 0 ? '+' : '-', device_of(i)));
        return fmt::format("[torus]\ndims = [{}]\n[nodes]\nhosts = [{}]\n[links]\n{}\n{}",
                           fmt::join(dims, ", "), fmt::join(names, ", "), fmt::join(links, "\n"),
                           more);
    }

    torusmp::test::TemporaryFile file_;

  public:
    config::Settings settings;
    std::vector<config::HostFacts> hosts;
};

}  // namespace torusmp::torus_run::test
