// SPDX-License-Identifier: BSD-3-Clause
// Connections that arrive at a bad time: several from one caller in a row, and while this process
// has no free descriptor.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "besieged.h"

namespace torusmp::transport::testing {
namespace {

// A call of the attacker, up to the proof.
struct Call {
    explicit Call(Besieged& victim)
        : besieged(victim),
          socket(victim.dial()),
          handshake(Handshake::call(secret_of("the job's"), introduction(victim))) {
        say();
        REQUIRE(besieged.turn_until([&] {
            std::array<std::byte, 256> buffer{};
            const ssize_t got = recv(socket.get(), buffer.data(),
                                     std::min(handshake.wants(), buffer.size()), MSG_DONTWAIT);
            if (got > 0) REQUIRE(handshake.read(std::span(buffer).first(std::size_t(got))));
            return !handshake.to_write().empty();
        }));
    }
    void say() {
        const auto out = handshake.to_write();
        REQUIRE(send(socket.get(), out.data(), out.size(), MSG_NOSIGNAL) == ssize_t(out.size()));
        handshake.written(out.size());
    }

    Besieged& besieged;
    base::Descriptor socket;
    Handshake handshake;
};

// The process can open no further descriptor while this lives.
class NoDescriptors {
  public:
    NoDescriptors() {
        REQUIRE(getrlimit(RLIMIT_NOFILE, &before_) == 0);
        const base::Descriptor next(fcntl(0, F_DUPFD_CLOEXEC, 0));
        REQUIRE(next);
        rlimit now = before_;
        now.rlim_cur = rlim_t(next.get());
        limit_ = now.rlim_cur;
        REQUIRE(setrlimit(RLIMIT_NOFILE, &now) == 0);
    }
    ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
    NoDescriptors(const NoDescriptors&) = delete;
    NoDescriptors& operator=(const NoDescriptors&) = delete;
    rlim_t limit() const { return limit_; }

  private:
    rlimit before_{};
    rlim_t limit_ = 0;
};

}  // namespace

// Both are seen by the same look at the sockets; AddressSanitizer and valgrind see the look at what
// was deleted.
TEST_CASE("a call that its caller has replaced may end after the proof of the next call", "[tcp]") {
    Besieged besieged;
    Call first(besieged);
    first.say();
    REQUIRE(besieged.turn_until([&] { return !besieged.recorder.connects.empty(); }));
    Call second(besieged);
    second.say();
    first.socket.reset();
    besieged.turn();
    besieged.expect_peer(enemy_id());
    CHECK(besieged.get_in(second.socket, second.handshake));
}

TEST_CASE("a rank without descriptors reports it once, and accepts calls when it has some",
          "[tcp]") {
    std::vector<std::string> said;
    tcp::InterfaceOptions siege = options("victim");
    siege.log = [&](std::string_view text) { said.emplace_back(text); };
    Besieged besieged(siege);
    besieged.expect_peer(enemy_id());
    const auto sleep_until = [&](Clock::time_point end) {
        besieged.victim.prepare_sleep();
        besieged.victim.poll(besieged.recorder);
        besieged.victim.sleep(end);
        const bool early = Clock::now() < end;
        besieged.victim.cancel_sleep();
        besieged.victim.poll(besieged.recorder);
        return early;
    };
    // The sanitizer opens a pipe when it meets a class for the first time.
    sleep_until(Clock::now());
    const auto socket = besieged.dial();
    int early = 0;  // sleeps that ended before their time
    {
        const NoDescriptors none;
        const auto end = Clock::now() + std::chrono::seconds(1);
        while (Clock::now() < end) early += sleep_until(end);
        REQUIRE(said.size() == 1);
        CHECK_THAT(said.front(), Catch::Contains("victim") &&
                                     Catch::Contains(std::to_string(none.limit())) &&
                                     Catch::Contains("ulimit -n"));
    }
    // Twice for each attempt, four times a second; without a pause tens of thousands.
    CHECK(early <= 12);
    Handshake handshake = Handshake::call(secret_of("the job's"), introduction(besieged));
    CHECK(besieged.get_in(socket, handshake));
    CHECK(said.size() == 1);
}

}  // namespace torusmp::transport::testing
