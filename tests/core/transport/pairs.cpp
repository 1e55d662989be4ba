// SPDX-License-Identifier: BSD-3-Clause
#include "pairs.h"

#include <chrono>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "config/load.h"
#include "core/transport/common/secret.h"
#include "core/transport/list.h"
#include "core/transport/sim/world.h"
#include "elsewhere.h"
#include "job/settings.h"

namespace torusmp::transport::testing {
namespace {

std::pair<std::string, std::string> two_words(const char* variable, const char* expected) {
    std::pair<std::string, std::string> words;
    const char* const value = std::getenv(variable);
    if (value == nullptr) return words;
    std::istringstream text(value);
    if (!(text >> words.first >> words.second))
        throw std::runtime_error(std::string(variable) + ": expected " + expected);
    return words;
}

std::pair<std::string, std::string> test_namespaces() {
    return two_words("TORUSMP_TEST_NAMESPACES", "the namespaces of the two devices");
}

class SimPair final : public Pair {
  public:
    SimPair(sim::Remote remote, const Ports& a, const Ports& b)
        : world_(options(remote)), a_(world_.create({a})), b_(world_.create({b})) {}

    Interface& a() override { return *a_; }
    Interface& b() override { return *b_; }
    void pass_time() override { world_.step(); }

  private:
    static sim::WorldOptions options(sim::Remote remote) {
        sim::WorldOptions options;
        options.seed = 7;
        options.write = remote;
        options.read = remote;
        return options;
    }

    sim::World world_;
    std::unique_ptr<sim::Interface> a_;
    std::unique_ptr<sim::Interface> b_;
};

// One of the list, with some settings. Without devices it goes over this host's own addresses, so
// that no privilege is needed.
struct Variant {
    const Descriptor* transport;
    std::vector<std::pair<std::string, std::string>> settings;
    bool oversubscribed = false;
};

class ListedPair final : public Pair {
  public:
    ListedPair(const Variant& variant, const Ports& a, const Ports& b)
        : settings_(config::load(job::schema(), {flags(variant), {}}, std::vector<std::string>{})),
          devices_(variant.transport->needs_devices) {
        const auto [at_a, at_b] = test_namespaces();
        enter_namespace(at_a);
        a_ = std::make_unique<Elsewhere>(make(variant, "a", test_devices().first, a), at_a);
        enter_namespace(at_b);
        b_ = std::make_unique<Elsewhere>(make(variant, "b", test_devices().second, b), at_b);
    }

    Interface& a() override { return *a_; }
    Interface& b() override { return *b_; }
    void pass_time() override {
        // A device's part, and the kernel's, runs beside this process.
        if (devices_) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }

  private:
    static std::vector<config::Flag> flags(const Variant& variant) {
        std::vector<config::Flag> all{{"transport.timeout", "20s", "--set"}};
        for (const auto& [key, value] : variant.settings) all.push_back({key, value, "--set"});
        return all;
    }
    std::unique_ptr<Interface> make(const Variant& variant, const char* host,
                                    const std::string& device, const Ports& ports) const {
        Surroundings surroundings;
        surroundings.host = host;
        surroundings.secret = derive_secret({});
        surroundings.oversubscribed = variant.oversubscribed;
        if (!device.empty())
            for (const PortOptions& port : ports)
                surroundings.devices.push_back({port.port, device});
        return variant.transport->make(settings_, surroundings, ports);
    }

    const config::Settings settings_;
    std::unique_ptr<Interface> a_;
    std::unique_ptr<Interface> b_;
    const bool devices_;
};

// The variants of a transport's settings that use different paths of its code.
std::vector<Variant> variants_of(const Descriptor& transport) {
    std::vector<Variant> all{{&transport, {}}};
    if (transport.name == "shm") {
        all.push_back({&transport, {{"transport.copy", "cma"}}});
        all.push_back({&transport, {{"transport.copy", "pipeline"}}, true});
    } else if (!transport.inside_host) {
        all.push_back({&transport, {{"transport.checksum", "true"}}});
    }
    return all;
}

}  // namespace

std::pair<std::string, std::string> test_devices() {
    return two_words("TORUSMP_TEST_DEVICES", "the network devices at the two ends of a cable");
}

std::vector<PairMaker> pair_makers() {
    std::vector<PairMaker> all;
    const bool devices = !test_devices().first.empty();
    const char* const only = std::getenv("TORUSMP_TEST_TRANSPORT");
    if (!devices)
        for (const auto& [name, remote] :
             {std::pair("refusing", sim::Remote::refused),
              std::pair("immediate", sim::Remote::immediate),
              std::pair("pending", sim::Remote::pending), std::pair("mixed", sim::Remote::mixed)})
            all.push_back(
                {std::string("sim, ") + name, [remote = remote](const Ports& a, const Ports& b) {
                     return std::make_unique<SimPair>(remote, a, b);
                 }});
    for (const Descriptor* transport : transports()) {
        if (transport->needs_devices != devices) continue;
        if (only != nullptr && transport->name != only) continue;
        for (const Variant& variant : variants_of(*transport)) {
            std::string name(transport->name);
            for (const auto& [key, value] : variant.settings) name += ", " + key + "=" + value;
            all.push_back({name, [variant](const Ports& a, const Ports& b) {
                               return std::make_unique<ListedPair>(variant, a, b);
                           }});
        }
    }
    return all;
}

}  // namespace torusmp::transport::testing
