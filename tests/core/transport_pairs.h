// Two interfaces of one transport in one process, for tests that every transport must pass.
//
// A pair type has: `explicit Pair(ports of a, ports of b)`, `transport::Interface& a(), b()`,
// and `pass_time()`, which lets what is under way arrive. To put a transport under the contract,
// add its pair to PairTypes.
#pragma once

#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "core/transport/sim/world.h"
#ifdef TORUSMP_TEST_SHM
#include "core/transport/shm/interface.h"
#endif
#ifdef TORUSMP_TEST_TCP
#include "core/transport/tcp/interface.h"
#endif
#ifdef TORUSMP_TEST_VERBS
#include "verbs_pair.h"
#endif

namespace torusmp::transport::testing {

using Ports = std::vector<PortOptions>;

template <sim::Remote remote>
class SimPair {
  public:
    SimPair(const Ports& a, const Ports& b)
        : world_(options()), a_(world_.create({a})), b_(world_.create({b})) {}

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

#ifdef TORUSMP_TEST_SHM
template <shm::CopyMode copy>
class ShmPair {
  public:
    ShmPair(const Ports& a, const Ports& b)
        : a_(a, {copy, copy == shm::CopyMode::packets}),
          b_(b, {copy, copy == shm::CopyMode::packets}) {}

    Interface& a() { return a_; }
    Interface& b() { return b_; }
    void pass_time() {}

  private:
    shm::ShmInterface a_;
    shm::ShmInterface b_;
};

using ShmPairs = std::tuple<ShmPair<shm::CopyMode::one_copy>, ShmPair<shm::CopyMode::packets>>;
#else
using ShmPairs = std::tuple<>;
#endif

#ifdef TORUSMP_TEST_TCP
// Over this host's own addresses: no device, so no privilege is needed.
template <bool checksum>
class TcpPair {
  public:
    TcpPair(const Ports& a, const Ports& b) : a_(a, options("a")), b_(b, options("b")) {}

    Interface& a() { return a_; }
    Interface& b() { return b_; }
    void pass_time() {}

  private:
    static tcp::InterfaceOptions options(const char* host) {
        tcp::InterfaceOptions options;
        options.host = host;
        options.checksum = checksum;
        return options;
    }
    tcp::TcpInterface a_;
    tcp::TcpInterface b_;
};
using TcpPairs = std::tuple<TcpPair<false>, TcpPair<true>>;
#else
using TcpPairs = std::tuple<>;
#endif

#ifdef TORUSMP_TEST_VERBS
// Alone: it needs RDMA devices, and so a machine of its own.
using PairTypes = std::tuple<VerbsPair>;
#else
using PairTypes = decltype(std::tuple_cat(
    std::declval<std::tuple<SimWithout, SimImmediate, SimPending, SimMixed>>(),
    std::declval<ShmPairs>(), std::declval<TcpPairs>()));
#endif

}  // namespace torusmp::transport::testing
