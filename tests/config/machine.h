// SPDX-License-Identifier: BSD-3-Clause
// A fictitious ring of hosts without faults, which tests damage.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/address.h"
#include "config/geometry.h"
#include "config/load.h"
#include "config/network.h"
#include "core/transport/machine.h"
#include "job/settings.h"
#include "tests/config/temporary.h"

namespace torusmp::test {

inline base::Address ip(const std::string& text) {
    const auto address = base::parse_address(text);
    REQUIRE(address);
    return *address;
}

// A device on which nothing is wrong; `cable` numbers the network of its two ends, 0 and 1.
inline config::Device good_device(const std::string& name, int index, int cable, int end) {
    config::Device device;
    device.name = name;
    device.index = index;
    device.up = device.carrier = true;
    device.mtu = 9000;
    device.megabits = 1000;
    device.full_duplex = true;
    device.mac = "02:00:00:00:00:01";
    device.addresses = {ip("10.0." + std::to_string(cable) + "." + std::to_string(end + 1) + "/30"),
                        ip("fe80::" + std::to_string(end + 1) + "/64")};
    return device;
}

inline config::Device loopback(int node) {
    config::Device device;
    device.name = "lo";
    device.index = 1;
    device.loopback = device.up = device.carrier = true;
    device.mtu = 65536;
    device.addresses = {ip("127.0.0.1/8"), ip("10.255.0." + std::to_string(node + 1) + "/32")};
    return device;
}

// `size` hosts a, b, c ...: eth0 leads up, eth1 down.
inline std::vector<config::HostFacts> good_ring(int size) {
    std::vector<config::HostFacts> hosts(static_cast<std::size_t>(size));
    for (int node = 0; node < size; ++node) {
        config::HostFacts& facts = hosts[static_cast<std::size_t>(node)];
        facts.name = std::string(1, char('a' + node));
        facts.identity = "boot:" + facts.name;
        facts.geometry = "0123456789abcdef";
        facts.offers["ethernet"] = {"sockets self"};
        const int below = (node + size - 1) % size;
        facts.devices = {loopback(node), good_device("eth0", 2, node, 0),
                         good_device("eth1", 3, below, 1)};
        facts.routes_known = true;
        for (int target = 0; target < size; ++target)
            if (target != node)
                facts.routes.push_back({ip("10.255.0." + std::to_string(target + 1)), "eth0",
                                        ip("10.0." + std::to_string(node) + ".2")});
    }
    return hosts;
}

// A file that lives as long as anything that knows its path.
class TemporaryFile {
  public:
    explicit TemporaryFile(const std::string& text)
        : folder_(std::make_shared<TemporaryFolder>()), path_(folder_->write("torus.toml", text)) {}
    const std::string& path() const { return path_; }

  private:
    std::shared_ptr<TemporaryFolder> folder_;
    std::string path_;
};

inline config::Settings load_file(const TemporaryFile& file) {
    return config::load(job::schema(), {{}, file.path()}, std::vector<std::string>{});
}

// A ring of four and its geometry file, which ends with `more`.
struct Machine {
    TemporaryFile file;
    config::Settings settings;
    config::Locations locations;
    std::vector<config::HostFacts> hosts;

    explicit Machine(const std::string& more = "")
        : file(
              "[torus]\ndims = [4]\n[nodes]\nhosts = [\n  \"a\",\n  \"b\",\n  \"c\",\n  \"d\"\n]\n"
              "[links]\n\"0+\" = \"eth0\"\n\"0-\" = \"eth1\"\n" +
              more),
          settings(load_file(file)),
          locations(config::read_locations(settings)),
          hosts(good_ring(4)) {}
    virtual ~Machine() = default;
    Machine(const Machine&) = default;
    Machine& operator=(const Machine&) = default;

    void forget_link(const std::string& direction) {
        config::Links links = settings[config::setting::links];
        links.erase(direction);
        settings.set(config::setting::links, links);
    }
    config::HostFacts& host(int node) { return hosts[static_cast<std::size_t>(node)]; }
    config::Device& device(int node, const std::string& name) {
        return const_cast<config::Device&>(*host(node).find(name));
    }
    // The facts that the hosts report.
    virtual std::vector<config::HostFacts> reported_facts() const { return hosts; }
    std::vector<std::string> check() const {
        return transport::check_machine(settings, reported_facts(), locations, "0123456789abcdef");
    }
    // The one message there is.
    std::string complaint() const { return only(check()); }
    std::string note() const { return only(transport::machine_notes(settings, reported_facts())); }
    std::string line(int number) const { return file.path() + ":" + std::to_string(number) + ":"; }

  private:
    static std::string only(const std::vector<std::string>& messages) {
        INFO(messages.size() << " messages, the last: "
                             << (messages.empty() ? "" : messages.back()));
        REQUIRE(messages.size() == 1);
        return messages[0];
    }
};

}  // namespace torusmp::test
