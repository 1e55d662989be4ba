// SPDX-License-Identifier: BSD-3-Clause
// The establishment and survival of TCP connections to a slow process: only kernels have to answer
// immediately.
#include <sys/resource.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <thread>

#include "base/descriptor.h"
#include "base/socket_address.h"
#include "besieged.h"
#include "core/transport/common/patience.h"

using namespace torusmp;
using namespace torusmp::transport;
using namespace torusmp::transport::testing;

namespace tcp_patience_test {
namespace {

// Two interfaces for which a cable has to answer at once, but processes may take their time. `late`
// has the larger id if it `calls`.
struct Hasty {
    explicit Hasty(bool calls, std::chrono::milliseconds timeout = std::chrono::milliseconds(1)) {
        const auto hasty = [timeout](const char* host) {
            tcp::InterfaceOptions options = testing::options(host);
            options.timeout = timeout;
            return options;
        };
        do {
            early = std::make_unique<tcp::TcpInterface>(one_port(1), hasty("early"));
            late = std::make_unique<tcp::TcpInterface>(one_port(1), hasty("late"));
        } while ((Address::decode(late->address()).id > Address::decode(early->address()).id) !=
                 calls);
        from_early = &early->connect(late->address(), {1, 1, true});
        from_late = &late->connect(early->address(), {1, 1, true});
    }
    bool meet() {
        for (int i = 0; i < 1'000'000; ++i) {
            early->poll(at_early);
            late->poll(at_late);
            if (!at_early.downs.empty() || !at_late.downs.empty()) return false;
            if (!from_early->connecting() && !from_late->connecting()) return true;
        }
        return false;
    }

    std::unique_ptr<tcp::TcpInterface> early, late;
    Channel* from_early;
    Channel* from_late;
    Recorder at_early, at_late;
};

constexpr std::chrono::milliseconds long_pause(100);  // beside the timeout

}  // namespace

TEST_CASE("after each death an end reports in time that the cable is dead", "[tcp]") {
    constexpr std::chrono::hours timeout(1);
    Patience first;
    first.again = first.met = true;
    Patience held_down;
    held_down.follow(first, {.pause = timeout}, timeout);
    CHECK(held_down.give_up_at < Clock::now() + 2 * timeout);
    // It is wanted at once and closed, before it could say so.
    Patience wanted;
    wanted.follow(held_down, {}, timeout);
    CHECK(wanted.give_up_at <= Clock::now() + timeout);

    wanted.give_up_at = Clock::now();
    Patience after;
    after.follow(wanted, {}, timeout);
    CHECK(after.give_up_at == Clock::time_point::max());
    Patience later;
    later.follow(after, {}, timeout);
    CHECK(later.give_up_at == Clock::time_point::max());
    Patience asked;
    asked.follow(later, {.afresh = true}, timeout);
    CHECK(asked.give_up_at <= Clock::now() + timeout);
    later.met = true;
    Patience next;
    next.follow(later, {}, timeout);
    CHECK(next.give_up_at <= Clock::now() + timeout);
}

TEST_CASE("a rank that has computed looks again before it reports a missing cable", "[tcp]") {
    constexpr std::chrono::seconds between_calls(1);
    const Clock::time_point due = Clock::now();
    Patience first;
    first.again = first.met = true;
    Patience patience;
    patience.follow(first, {}, between_calls * 10);
    const Clock::time_point end = patience.give_up_at;
    patience.look(due, due + between_calls, between_calls);  // as good as in time
    CHECK(patience.give_up_at == end);
    patience.look(due, end - 3 * between_calls, between_calls);  // time enough
    CHECK(patience.give_up_at == end);
    patience.look(due, end + 5 * between_calls, between_calls);
    CHECK(patience.give_up_at == end + 6 * between_calls);
    // A link that is connected for the first time has its own reasons.
    Patience fresh;
    fresh.give_up_at = due;
    fresh.look(due, due + 5 * between_calls, between_calls);
    CHECK(fresh.give_up_at == due);
}

TEST_CASE("a peer that computes before it looks is waited for", "[tcp]") {
    Hasty hasty(GENERATE(false, true));
    SECTION("one polls, the other does not") {
        for (const auto end = Clock::now() + long_pause; Clock::now() < end;)
            hasty.early->poll(hasty.at_early);
        CHECK(hasty.from_early->connecting());
    }
    SECTION("no end polls, and the first poll comes late") {
        std::this_thread::sleep_for(long_pause);
    }
    SECTION("it computes between all steps") {
        for (int step = 0; step < 10; ++step) {
            hasty.late->poll(hasty.at_late);
            for (const auto end = Clock::now() + long_pause / 10; Clock::now() < end;)
                hasty.early->poll(hasty.at_early);
        }
    }
    CHECK(hasty.meet());
    CHECK(hasty.at_early.downs.empty());
    CHECK(hasty.at_late.downs.empty());
}

TEST_CASE("a peer that computes before it reads is waited for", "[tcp]") {
    Hasty hasty(false, std::chrono::seconds(1));
    REQUIRE(hasty.meet());
    // More than both sockets can hold.
    std::vector<std::byte> source(64u << 20, std::byte{7});
    std::vector<std::byte> memory(source.size());
    const RemoteMemory remote = hasty.late->register_memory(memory, nullptr);
    REQUIRE(write(*hasty.from_early, remote, 0, source, 1, 2) == Transfer::pending);
    const auto pause = std::chrono::milliseconds(GENERATE(0, 2500));
    for (const auto end = Clock::now() + pause; Clock::now() < end;)
        hasty.early->poll(hasty.at_early);
    while (hasty.at_late.notices.empty() && hasty.at_early.downs.empty()) {
        hasty.early->poll(hasty.at_early);
        hasty.late->poll(hasty.at_late);
    }
    CHECK(hasty.at_early.downs.empty());
    CHECK(std::equal(memory.begin(), memory.end(), source.begin()));  // in few words
}

TEST_CASE("a call that was lost before a verdict is repeated, but not for ever", "[tcp]") {
    base::Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    Besieged besieged;
    const DeviceAddress ip = besieged.address().anywhere.addresses.front();
    REQUIRE_FALSE(ip.v6);
    const sockaddr_storage any = base::socket_address(ip, 0, 0);
    REQUIRE(bind(listener.get(), reinterpret_cast<const sockaddr*>(&any), sizeof(sockaddr_in)) ==
            0);
    REQUIRE(listen(listener.get(), 5) == 0);
    sockaddr_in bound{};
    socklen_t length = sizeof bound;
    REQUIRE(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&bound), &length) == 0);
    Address peer;
    peer.id = enemy_id();
    peer.host = "enemy";
    peer.anywhere = {0, ntohs(bound.sin_port), "", {ip}};
    Channel& channel = besieged.victim.connect(peer.encode(), {1, 7, false});
    int calls = 0;
    REQUIRE(besieged.turn_until([&] {
        const base::Descriptor call(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (call) ++calls;
        return !besieged.recorder.downs.empty();
    }));
    CHECK(calls > 1);
    CHECK(besieged.recorder.downs.size() == 1);
    CHECK_FALSE(channel.connecting());
}

#ifndef __SANITIZE_ADDRESS__  // which wants a descriptor to look at a type
TEST_CASE("a connection that cannot be started leaves nothing behind", "[tcp]") {
    Besieged besieged;
    tcp::TcpInterface friendly(one_port(7), options("friendly"));
    rlimit limit{};
    REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    const rlimit none{0, limit.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
    std::string why;
    try {
        besieged.victim.connect(friendly.address(), {1, 7, false});
    } catch (const std::runtime_error& error) {
        why = error.what();
    }
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK_THAT(why, Catch::Contains("Too many open files") && Catch::Contains("friendly"));
    // Then it can.
    Recorder at_friendly;
    Channel& there = besieged.victim.connect(friendly.address(), {1, 7, false});
    Channel& back = friendly.connect(besieged.victim.address(), {7, 1, false});
    CHECK(besieged.turn_until([&] {
        friendly.poll(at_friendly);
        return !there.connecting() && !back.connecting();
    }));
    CHECK(besieged.recorder.downs.empty());
}
#endif

TEST_CASE("empty writes with a notice arrive once each, however full the socket was", "[tcp]") {
    Hasty hasty(false, std::chrono::seconds(60));
    REQUIRE(hasty.meet());
    std::vector<std::byte> memory(1);
    const RemoteMemory remote = hasty.late->register_memory(memory, nullptr);
    // Until the socket takes no more, which seldom is between two frames.
    std::uint64_t written = 0;
    for (int behind = 0; behind < 10; ++written)
        if (write(*hasty.from_early, remote, 0, {memory.data(), 0}, written, written) ==
            Transfer::pending)
            ++behind;
    while (hasty.at_late.notices.size() < written && hasty.at_late.downs.empty()) {
        hasty.early->poll(hasty.at_early);
        hasty.late->poll(hasty.at_late);
    }
    CHECK(hasty.at_late.downs.empty());
    REQUIRE(hasty.at_late.notices.size() == written);
    for (std::uint64_t n = 0; n < written; ++n)
        if (hasty.at_late.notices[n] != n) REQUIRE(hasty.at_late.notices[n] == n);
}

TEST_CASE("an end that has said goodbye keeps its memory and is not a dead link", "[tcp]") {
    Hasty hasty(false);
    REQUIRE(hasty.meet());
    void* const memory = hasty.late->allocate(1000, 64);
    hasty.late->say_goodbye();
    for (int i = 0; i < 1000; ++i) hasty.early->poll(hasty.at_early);
    CHECK(hasty.at_early.downs.empty());
    CHECK_FALSE(hasty.from_early->can_write({0, 1, 0, {1}}));  // finished
    std::memset(memory, 1, 1000);
    hasty.late->free(memory);
}

}  // namespace tcp_patience_test
