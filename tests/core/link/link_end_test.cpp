// SPDX-License-Identifier: BSD-3-Clause
// One end of a link as the channel that core uses: which remote writes it accepts. Ends whose
// transport cannot make a new cable.

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/core.h"
#include "core/transport/sim/world.h"

namespace link_end_test {

using namespace torusmp;
using namespace torusmp::core;
namespace sim = transport::sim;
using transport::Transfer;

namespace {

// Three ranks in a ring, whose modules the test can reach.
class Ring {
  public:
    explicit Ring(bool notifies, const std::function<bool()>& connects = [] { return true; })
        : world_(world_options(notifies)) {
        std::vector<std::vector<std::byte>> addresses;
        for (Rank rank = 0; rank < 3; ++rank) {
            Options options{.torus = routing::Torus(std::vector{3}, {}),
                            .rank = rank,
                            .direct = {},
                            .detour = true,
                            .log = {},
                            .name_of = {}};
            const auto make = [&](const std::vector<transport::PortOptions>& ports) {
                auto made = world_.create({.ports = ports, .other = {}});
                interfaces_.push_back(made.get());
                return std::unique_ptr<transport::Interface>(std::move(made));
            };
            const auto carries = [connects](Rank, std::optional<routing::Direction>) {
                return connects();
            };
            cores_.push_back(std::make_unique<Core>(std::move(options), make,
                                                    std::vector<LinkTransport>{{make, carries}}));
            addresses.push_back(cores_.back()->connections.address());
        }
        for (auto& core : cores_) {
            const Progress::Guard guard(core->progress);
            core->connections.connect(addresses);
            core->links.adopt();
        }
        settle();
    }

    Core& operator[](Rank rank) { return *cores_[std::size_t(rank)]; }
    Connection& link(Rank rank, int sign) {
        return *cores_[std::size_t(rank)]->connections.link({0, sign});
    }
    void settle() {
        while (const auto index = world_.step()) {
            const Progress::Guard guard(cores_[*index]->progress);
            while (cores_[*index]->progress.poll()) {
            }
        }
    }
    void cut(Rank rank, int sign) {
        world_.kill_link(*interfaces_[std::size_t(rank)],
                         std::uint32_t(routing::Direction{0, sign}.index()));
    }

  private:
    static sim::WorldOptions world_options(bool notifies) {
        sim::WorldOptions options;
        options.notifies = notifies;
        return options;
    }

    sim::World world_;
    std::vector<sim::Interface*> interfaces_;
    std::vector<std::unique_ptr<Core>> cores_;
};

}  // namespace

TEST_CASE("a link end refuses writes that it cannot make, and reports this in advance",
          "[core][detour]") {
    const bool notifies = GENERATE(false, true);
    CAPTURE(notifies);
    std::vector<std::byte> here(64, std::byte{7}), there(64);
    Ring ring(notifies);
    Connection& link = ring.link(0, +1);
    Connection& other = ring.link(1, -1);
    transport::Channel& channel = *link.channel;
    REQUIRE(link.end == &channel);
    const auto memory = other.interface->register_memory(there, nullptr);
    const transport::ConstBytes local(here);
    const auto write = [&](const transport::RemoteMemory& to, std::size_t offset,
                           std::size_t bytes) {
        const transport::ConstBytes part = local.first(bytes);
        const Progress::Guard guard(ring[0].progress);
        return channel.write(to, offset, {&part, 1}, 0, std::nullopt);
    };
    const transport::RemoteMemory unknown{};
    CHECK(channel.can_write(memory));
    CHECK_FALSE(channel.can_write(unknown));
    CHECK(write(unknown, 0, 0) == Transfer::refused);
    CHECK(write(memory, 65, 0) == Transfer::refused);
    CHECK(write(memory, 1, 64) == Transfer::refused);

    // By a detour only a transport that notifies can write: the cable, when it is back, might
    // refuse what the others have accepted.
    ring.cut(0, +1);
    ring.settle();
    REQUIRE_FALSE(link.end->on_cable());
    CHECK(channel.can_write(memory) == notifies);
    CHECK_FALSE(channel.can_write(unknown));
    CHECK(write(unknown, 0, 0) == Transfer::refused);
    CHECK(write(memory, 65, 0) == Transfer::refused);
    CHECK(write(memory, 1, 64) == Transfer::refused);
    CHECK(write(memory, 0, 64) == (notifies ? Transfer::pending : Transfer::refused));
    ring.settle();
    CHECK(there == std::vector<std::byte>(64, notifies ? std::byte{7} : std::byte{0}));

    {
        const Progress::Guard guard(ring[0].progress);
        ring[0].faults.close(link, Error::unreachable, "the test says so");
    }
    CHECK_FALSE(channel.can_write(memory));
    CHECK(write(memory, 0, 64) == Transfer::refused);
}

// There is no hope for such a link, also when it is the last one to a rank.
TEST_CASE("ranks behind links whose transport cannot make new cables are given up",
          "[core][detour]") {
    bool connects = true;
    Ring ring(true, [&] { return connects; });
    connects = false;
    ring.cut(0, +1);
    ring.settle();
    REQUIRE_FALSE(ring.link(0, +1).end->on_cable());
    CHECK_FALSE(ring[0].connections.peer(1).dead);
    ring.cut(1, +1);
    ring.settle();
    CHECK(ring[0].connections.peer(1).dead);
    CHECK(ring[1].connections.peer(0).dead);
    CHECK(ring[1].connections.peer(2).dead);
    CHECK(ring[2].connections.peer(1).dead);
    CHECK_FALSE(ring[0].connections.peer(2).dead);
    CHECK_FALSE(ring[2].connections.peer(0).dead);
}

}  // namespace link_end_test
