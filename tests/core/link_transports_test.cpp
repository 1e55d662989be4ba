// SPDX-License-Identifier: BSD-3-Clause
// Several transports that share a rank's links, and last hops that write into the receiver's
// memory: the choice of a link for each packet, and false packets about it, which must not harm a
// rank.

#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/packets.h"
#include "job.h"

using namespace torusmp;
using namespace torusmp::core;
using namespace torusmp::core::testing;

namespace link_transports_test {
namespace {

constexpr std::size_t limit = 1024;

JobOptions placing(std::vector<int> dims, std::uint64_t seed) {
    JobOptions options;
    options.dims = std::move(dims);
    options.seed = seed;
    options.eager_limit = limit;
    options.credits = options.relay_credits = 2;
    options.world.places = true;
    options.world.read = sim::Remote::refused;
    return options;
}

std::uint64_t total(Runtime& runtime, std::uint64_t Statistics::*field) {
    std::uint64_t sum = 0;
    for (const auto& connection : runtime.state().connections())
        sum += connection.statistics.*field;
    return sum;
}

// One message of bytes that depend on `seed`, and its end.
struct Transfer {
    std::vector<std::byte> out, in;
    SendRequest send;
    ReceiveRequest receive;

    Transfer(std::size_t bytes, std::uint64_t seed) : out(bytes), in(bytes) {
        fill(out.data(), bytes, seed);
    }
    void check() const {
        REQUIRE(send.complete());
        REQUIRE(receive.complete());
        REQUIRE(receive.status().error == Error::none);
        REQUIRE(in == out);
    }
};

}  // namespace

TEST_CASE("a rank that is alone on its host has shared memory although its job has link transports",
          "[core][link-transports]") {
    JobOptions options = placing({1}, 1);
    options.link_transports = 2;
    Job job(options);
    void* const memory = job[0].allocate(4096, 64);
    REQUIRE(memory != nullptr);
    std::memset(memory, 1, 4096);
    job[0].free(memory);
}

TEST_CASE("a transport has ports only for the connections that it carries",
          "[core][link-transports]") {
    sim::World world{{}};
    Options options{.torus = routing::Torus(std::vector<int>{6}),
                    .rank = 0,
                    .direct = {0, 1, 2},
                    .log = {},
                    .name_of = {}};
    std::vector<std::vector<std::uint32_t>> made;
    const auto make = [&](const std::vector<transport::PortOptions>& ports) {
        auto& numbers = made.emplace_back();
        for (const auto& port : ports) numbers.push_back(port.port);
        return std::unique_ptr<transport::Interface>(world.create({ports}));
    };
    const Runtime runtime(std::move(options), make, {{make}});
    REQUIRE(made.size() == 2);
    const auto up = std::uint32_t(routing::Direction{0, +1}.index());
    const auto down = std::uint32_t(routing::Direction{0, -1}.index());
    CHECK(made[0] == std::vector<std::uint32_t>{direct_port_base + 2, up});
    CHECK(made[1] == std::vector<std::uint32_t>{down});
}

TEST_CASE("the last relay writes a large message into its place, whichever side is first",
          "[core][link-transports]") {
    const bool receiver_first = GENERATE(true, false);
    constexpr std::size_t bytes = 50'000;
    Transfer one(bytes, 1);
    Job job(placing({5}, 1));
    if (receiver_first) {
        job[2].receive(one.receive, {one.in.data(), bytes}, 0, 0, 0);
        job.settle();
    }
    job[0].send(one.send, {one.out.data(), bytes}, 2, 0, 0);
    job.settle();
    if (!receiver_first) job[2].receive(one.receive, {one.in.data(), bytes}, 0, 0, 0);
    job.settle();
    one.check();
    // Every byte once, and none of them in a packet on the last hop.
    REQUIRE(total(job[1], &Statistics::bytes_written) == bytes);
    REQUIRE(total(job[1], &Statistics::placed) == (bytes + 4095) / 4096);
    REQUIRE(total(job[2], &Statistics::bytes_received) < 1000);
    REQUIRE(job.world().counters().misplaced == 0);
}

TEST_CASE("a message that is spread over several paths is written by the last relay of each",
          "[core][link-transports]") {
    // Half way around a ring both directions are equally long.
    constexpr std::size_t bytes = 100'000;
    Transfer one(bytes, 2);
    Job job(placing({4}, 2));
    job[2].receive(one.receive, {one.in.data(), bytes}, 0, 0, 0);
    job[0].send(one.send, {one.out.data(), bytes}, 2, 0, 0);
    job.settle();
    one.check();
    const auto by_1 = total(job[1], &Statistics::bytes_written);
    const auto by_3 = total(job[3], &Statistics::bytes_written);
    REQUIRE(by_1 > bytes / 4);
    REQUIRE(by_3 > bytes / 4);
    REQUIRE(by_1 + by_3 == bytes);
}

TEST_CASE(
    "messages that relays cannot write go in packets: scattered memory, and paths that end on "
    "other transports",
    "[core][link-transports]") {
    constexpr std::size_t bytes = 30'000;
    Transfer one(bytes, 3);
    SECTION("scattered memory") {
        std::vector<std::byte> room(2 * bytes);
        const Layout layout({{0, 100, bytes / 100, 200}});
        Job job(placing({5}, 3));
        job[2].receive(one.receive, Buffer(room.data(), layout), 0, 0, 0);
        job[0].send(one.send, {one.out.data(), bytes}, 2, 0, 0);
        job.settle();
        layout.pack(room.data(), 0, one.in.data(), bytes);
        one.check();
        REQUIRE(total(job[1], &Statistics::placed) == 0);
    }
    SECTION("other link transports") {
        // One of the two paths into rank 2 ends on the link transport of the named memory.
        JobOptions options = placing({4}, 3);
        options.link_transports = 2;
        Job job(options);
        job[2].receive(one.receive, {one.in.data(), bytes}, 0, 0, 0);
        job[0].send(one.send, {one.out.data(), bytes}, 2, 0, 0);
        job.settle();
        one.check();
        const auto placed =
            total(job[1], &Statistics::bytes_written) + total(job[3], &Statistics::bytes_written);
        REQUIRE(placed > 0);
        REQUIRE(placed < bytes);
    }
}

TEST_CASE("an equal part of a large message goes over each parallel cable to a neighbour",
          "[core][link-transports]") {
    const int cables = GENERATE(range(1, 13));
    const auto remote = GENERATE(sim::Remote::pending, sim::Remote::immediate);
    const std::size_t bytes = 12'000u * std::size_t(cables);
    Transfer whole(bytes, 4), back(bytes, 5);
    JobOptions options = placing({2}, std::uint64_t(cables));
    const std::vector<std::pair<Rank, Rank>> ends(std::size_t(cables), {0, 1});
    options.graph = std::make_shared<const routing::Graph>(2, routing::assign_directions(2, ends));
    options.world.write = remote;
    Job job(options);
    job[1].receive(whole.receive, {whole.in.data(), bytes}, 0, 0, 0);
    job[0].send(whole.send, {whole.out.data(), bytes}, 1, 0, 0);
    job[1].send(back.send, {back.out.data(), bytes}, 0, 0, 0);  // its receive comes later
    job.settle();
    job[0].receive(back.receive, {back.in.data(), bytes}, 1, 0, 0);
    job.settle();
    whole.check();
    back.check();
    for (const Rank rank : {0, 1}) {
        std::vector<std::uint64_t> written;
        for (const auto& info : job[rank].state().connections())
            if (info.link) written.push_back(info.statistics.bytes_written);
        REQUIRE(written == std::vector<std::uint64_t>(std::size_t(cables), 12'000));
    }
    REQUIRE(job.credits_home());
}

TEST_CASE("half of a large message to a neighbour goes over each cable if both can write it",
          "[core][link-transports]") {
    const int link_transports = GENERATE(1, 2);  // 2: each cable has its own
    constexpr std::size_t bytes = 40'000;
    Transfer whole(bytes, 4);
    Transfer named[2]{{bytes / 20, 5}, {bytes / 20, 6}};
    JobOptions options = placing({2}, 4);
    options.link_transports = link_transports;
    Job job(options);
    job[1].receive(whole.receive, {whole.in.data(), bytes}, 0, 0, 0);
    job[0].send(whole.send, {whole.out.data(), bytes}, 1, 0, 0);
    job.settle();
    whole.check();
    std::vector<std::uint64_t> written;
    for (const auto& info : job[0].state().connections())
        if (info.link) written.push_back(info.statistics.bytes_written);
    REQUIRE(written == (link_transports == 1 ? std::vector<std::uint64_t>{bytes / 2, bytes / 2}
                                             : std::vector<std::uint64_t>{bytes, 0}));
    // By the other cable, whose link transport makes nothing of that memory's name, it goes in
    // packets.
    for (int i = 0; i < 2; ++i) {
        Transfer& it = named[i];
        job[1].receive(it.receive, {it.in.data(), it.in.size()}, 0, 0, 1);
        job[0].send_by(it.send, {it.out.data(), it.out.size()},
                       routing::Direction{0, i == 0 ? +1 : -1}, 0, 1);
    }
    job.settle();
    for (const Transfer& it : named) it.check();
    REQUIRE(job.credits_home());
}

TEST_CASE("a wrong place or a wrong count of placed bytes harms only the message with the lie",
          "[core][link-transports]") {
    struct Lie {
        const char* what;
        void (*falsify)(DataBody& body);
    };
    const Lie lie = GENERATE(
        Lie{"an address elsewhere", [](DataBody& body) { body.address += 1u << 20; }},
        Lie{"another key", [](DataBody& body) { body.key ^= 0x100; }},
        Lie{"placed already, and yet bytes behind it", [](DataBody& body) { body.placed = 7; }},
        Lie{"beyond the end", [](DataBody& body) { body.offset = ~std::uint64_t{0} - 4; }});
    INFO(lie.what);
    constexpr std::size_t bytes = 3000;
    constexpr std::size_t guard = 1u << 21;
    std::vector<std::byte> room(bytes + 2 * guard, std::byte{0x55});
    Transfer liar(bytes, 7);
    Transfer honest(bytes, 8);
    Job job(placing({5}, 5));
    job.world().set_interposer(
        [&](std::size_t from, transport::PacketHeader& header, std::vector<std::byte>& payload) {
            DataBody body;
            if (from != 0 || header.destination != 2 || PacketKind(header.kind) != PacketKind::data)
                return;
            std::memcpy(&body, payload.data(), sizeof body);
            lie.falsify(body);
            std::memcpy(payload.data(), &body, sizeof body);
        });
    job[2].receive(liar.receive, {room.data() + guard, bytes}, 0, 0, 0);
    job[2].receive(honest.receive, {honest.in.data(), bytes}, 4, 0, 0);
    job[0].send(liar.send, {liar.out.data(), bytes}, 2, 0, 0);
    job[4].send(honest.send, {honest.out.data(), bytes}, 2, 0, 0);
    job.settle();
    honest.check();
    REQUIRE(liar.receive.complete());
    for (std::size_t i = 0; i < guard; ++i) {
        if (room[i] != std::byte{0x55} || room[guard + bytes + i] != std::byte{0x55})
            FAIL("memory outside of the message was written");
    }
    for (const auto& info : job[2].state().connections()) REQUIRE_FALSE(info.down);
}

TEST_CASE("a rank reports a connection that none of its link transports carries",
          "[core][link-transports]") {
    sim::World world{{}};
    Options options{.torus = routing::Torus(std::vector<int>{3}),
                    .rank = 1,
                    .direct = {},
                    .log = {},
                    .name_of = {}};
    const auto make = [&](const std::vector<transport::PortOptions>& ports) {
        return std::unique_ptr<transport::Interface>(world.create({ports}));
    };
    const auto only_up = [](Rank, std::optional<routing::Direction> link) {
        return link->sign > 0;
    };
    try {
        const Runtime runtime(std::move(options), make, {{make, only_up}});
        FAIL("it was opened");
    } catch (const std::invalid_argument& error) {
        REQUIRE(
            std::string(error.what()).find("none of 1 link transports carries link 0- to rank 0") !=
            std::string::npos);
    }
}

}  // namespace link_transports_test
