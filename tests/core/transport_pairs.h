// Two interfaces of one transport in one process, for tests that every transport must pass.
//
// A pair type has: `explicit Pair(ports of a, ports of b)`, `transport::Interface& a(), b()`,
// `pass_time()`, which lets what is under way arrive, and `static constexpr slot_bytes`, a payload
// that surely fits a slot. To put a transport under the contract, add its pair to PairTypes.
#pragma once

#include <memory>
#include <tuple>
#include <vector>

#include "core/transport/sim/world.h"

namespace torusmp::transport::testing {

using Ports = std::vector<PortOptions>;

template <sim::Remote remote>
class SimPair {
  public:
    static constexpr std::size_t slot_bytes = 16384;

    SimPair(const Ports& a, const Ports& b)
        : world_(options()),
          a_(world_.create({a, {}, slot_bytes})),
          b_(world_.create({b, {}, slot_bytes})) {}

    Interface& a() { return *a_; }
    Interface& b() { return *b_; }
    void pass_time() { world_.step(); }
    sim::World& world() { return world_; }

  private:
    static sim::WorldOptions options() {
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

using SimWithout = SimPair<sim::Remote::refused>;
using SimImmediate = SimPair<sim::Remote::immediate>;
using SimPending = SimPair<sim::Remote::pending>;
using SimMixed = SimPair<sim::Remote::mixed>;

using PairTypes = std::tuple<SimWithout, SimImmediate, SimPending, SimMixed>;

}  // namespace torusmp::transport::testing
