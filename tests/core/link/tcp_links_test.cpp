// SPDX-License-Identifier: BSD-3-Clause
// Links over TCP whose connections break repeatedly in the middle of traffic: all ranks of a small
// torus in this process, over this host's addresses. Lost packets are sent again over other ranks
// or over the next connection, and no message is affected.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <memory>
#include <vector>

#include "core/api.h"
#include "core/transport/sim/random.h"
#include "core/transport/tcp/interface.h"

using namespace torusmp;
using namespace torusmp::core;
using transport::sim::Random;

namespace tcp_links_test {
namespace {

constexpr std::chrono::milliseconds hold_down(100);
// Where connections are torn all the time: it doubles with each death, up to a thousand times.
constexpr std::chrono::milliseconds short_hold_down(1);

std::unique_ptr<Runtime> make(const std::vector<int>& dims, Rank rank, bool checksum, int shortcuts,
                              std::chrono::milliseconds held_down) {
    Options options{
        .torus = routing::Torus(dims), .rank = rank, .direct = {}, .log = {}, .name_of = {}};
    options.eager_limit = 4096;
    options.credits = options.relay_credits = 4;
    options.detour = true;
    options.shortcuts = shortcuts;
    options.shortcut_after = 2;
    options.hold_down = held_down;
    return std::make_unique<Runtime>(
        std::move(options), [=](const std::vector<transport::PortOptions>& ports) {
            transport::tcp::InterfaceOptions mine;
            mine.host = "rank " + std::to_string(rank);
            mine.secret = transport::derive_secret({});
            mine.spares_links = true;
            mine.checksum = checksum;
            mine.timeout = std::chrono::seconds(30);
            return std::make_unique<transport::tcp::TcpInterface>(ports, mine);
        });
}

// The descriptors of this process that are established TCP connections.
std::vector<int> connections() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    std::vector<int> found;
    for (int fd = 3; fd < int(std::min<rlim_t>(limit.rlim_cur, 1000)); ++fd) {
        tcp_info info{};
        socklen_t length = sizeof info;
        if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
            info.tcpi_state == TCP_ESTABLISHED)
            found.push_back(fd);
    }
    return found;
}

struct Message {
    Message(Random& random, int ranks, int number) : tag(number) {
        from = Rank(random.below(std::uint64_t(ranks)));
        to = Rank(random.below(std::uint64_t(ranks)));
        const std::size_t most[] = {64, 4000, 50'000, 400'000};
        out.resize(random.below(most[random.below(4)]));
        in.resize(out.size());
        for (std::byte& byte : out) byte = std::byte(random.next());
    }
    bool complete() const { return send.complete() && receive.complete(); }

    Rank from, to;
    Tag tag;
    std::vector<std::byte> out, in;
    SendRequest send;
    ReceiveRequest receive;
};

struct Ranks {
    Ranks(const std::vector<int>& dims, bool checksum, int shortcuts = 0,
          std::chrono::milliseconds held_down = hold_down) {
        const int size = routing::Torus(dims).size();
        for (Rank rank = 0; rank < size; ++rank)
            all.push_back(make(dims, rank, checksum, shortcuts, held_down));
        std::vector<std::vector<std::byte>> addresses;
        for (const auto& it : all) addresses.push_back(it->address());
        for (const auto& it : all) it->connect(addresses);
    }
    void turn() {
        for (const auto& it : all) it->progress();
    }
    template <class Done>
    bool turn_until(Done&& done) {
        const auto end = transport::Clock::now() + std::chrono::seconds(60);
        while (!done()) {
            if (transport::Clock::now() > end) return false;
            turn();
        }
        return true;
    }
    template <class Holds>
    bool each(Holds&& holds) const {
        return std::all_of(all.begin(), all.end(), [&](const auto& it) { return holds(*it); });
    }
    std::string report() const {
        std::string text;
        for (const auto& it : all) text += it->state().report() + "\n";
        return text;
    }

    std::vector<std::unique_ptr<Runtime>> all;
};

}  // namespace

TEST_CASE("links and shortcuts whose connections break lose no message", "[tcp][detours]") {
    const auto dims = GENERATE(std::vector<int>{2}, std::vector<int>{2, 2, 2},
                               std::vector<int>{4, 2}, std::vector<int>{3, 3});
    const int shortcuts = GENERATE(0, 2);
    if (shortcuts != 0 && dims == std::vector<int>{2}) return;  // all are neighbours
    const std::uint64_t pause = GENERATE(12, 60);               // turns, on average
    const std::uint64_t seed = GENERATE(range(1, 4));
    CAPTURE(routing::Torus(dims).describe(), shortcuts, pause, seed);
    constexpr int messages = 600;
    constexpr std::size_t window = 30;
    std::vector<std::unique_ptr<Message>> under_way;
    Ranks ranks(dims, seed == 2, shortcuts, short_hold_down);
    Random random(seed);
    int begun = 0, torn = 0;
    const bool done = ranks.turn_until([&] {
        while (begun < messages && under_way.size() < window) {
            under_way.push_back(std::make_unique<Message>(random, int(ranks.all.size()), begun++));
            Message& it = *under_way.back();
            const auto receive = [&] {
                ranks.all[std::size_t(it.to)]->receive(it.receive, {it.in.data(), it.in.size()},
                                                       it.from, 0, it.tag);
            };
            const bool early = random.below(2) == 0;
            if (early) receive();
            ranks.all[std::size_t(it.from)]->send(it.send, {it.out.data(), it.out.size()}, it.to, 0,
                                                  it.tag);
            if (!early) receive();
        }
        if (random.below(pause) == 0 || (torn == 0 && begun > messages / 2)) {
            const auto open = connections();
            if (!open.empty() && shutdown(open[random.below(open.size())], SHUT_RDWR) == 0) ++torn;
        }
        std::erase_if(under_way, [](const auto& it) {
            if (!it->complete()) return false;
            REQUIRE(it->receive.status().error == Error::none);
            REQUIRE(it->in == it->out);
            return true;
        });
        return begun == messages && under_way.empty();
    });
    INFO(ranks.report());
    REQUIRE(done);
    CHECK(torn > 0);
    CHECK(ranks.each([&](Runtime& it) {
        return (it.state().shortcuts().made != 0) == (shortcuts != 0) &&
               it.state().shortcuts().open <= std::size_t(shortcuts);
    }));
    CHECK(ranks.turn_until([&] {
        return ranks.each([](Runtime& it) { return it.state().quiet() && it.state().on_cables(); });
    }));
    CHECK(ranks.turn_until(
        [&] { return ranks.each([](Runtime& it) { return it.state().credits_home(); }); }));
}

// It is written in more pieces than go into one write. A connection that is torn is noticed when
// the first of these writes is sent, and reported at the end of the poll: those after it belong to
// the same message.
TEST_CASE("a message in several writes survives a connection that dies during the first",
          "[tcp][detours]") {
    Ranks ranks({3}, false);
    constexpr std::size_t block = 5000;
    constexpr std::size_t blocks = 200;
    std::vector<std::byte> out(blocks * (block + 7)), in(blocks * block);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::byte(i % 251);
    const Layout layout(std::vector<Layout::Run>{{0, block, blocks, block + 7}});
    SendRequest send;
    ReceiveRequest receive;
    REQUIRE(ranks.turn_until([&] {
        return ranks.each([](Runtime& it) { return it.state().on_cables() && it.state().quiet(); });
    }));
    for (int n = 0; n < 100; ++n) ranks.turn();
    ranks.all[1]->receive(receive, {in.data(), in.size()}, 0, 0, 1);
    ranks.all[0]->send(send, Buffer(out.data(), layout), 1, 0, 1);
    for (int n = 0; n < 100; ++n) ranks.all[1]->progress();  // it says where the message belongs
    for (const int fd : connections()) shutdown(fd, SHUT_WR);
    const bool done = ranks.turn_until([&] { return send.complete() && receive.complete(); });
    INFO(ranks.report());
    REQUIRE(done);
    CHECK(send.status().error == Error::none);
    CHECK(receive.status().error == Error::none);
    bool same = true;
    for (std::size_t b = 0; b < blocks; ++b)
        same &= std::equal(in.begin() + std::ptrdiff_t(b * block),
                           in.begin() + std::ptrdiff_t((b + 1) * block),
                           out.begin() + std::ptrdiff_t(b * (block + 7)));
    CHECK(same);
}

// However slow the machine is, it does not come back sooner.
TEST_CASE("a cable over TCP that dies after each return is held down longer and longer",
          "[tcp][detours]") {
    Ranks ranks({3}, false);
    const auto on_cables = [&] {
        return ranks.each([](Runtime& it) { return it.state().on_cables() && it.state().quiet(); });
    };
    // All ranks are on one host. One end may have an IPv4 address, and the other end the same
    // address in the form of IPv6.
    const auto port_of = [](int fd, auto* ask) {
        sockaddr_in6 name{};
        socklen_t length = sizeof name;
        REQUIRE(ask(fd, reinterpret_cast<sockaddr*>(&name), &length) == 0);
        return name.sin6_port;  // at the same place in both
    };
    // A message over each link: so all are up.
    std::deque<SendRequest> sends;
    std::deque<ReceiveRequest> receives;
    for (Rank from = 0; from < 3; ++from)
        for (Rank to = 0; to < 3; ++to) {
            if (from == to) continue;
            ranks.all[std::size_t(to)]->receive(receives.emplace_back(), {}, from, 0, 1);
            ranks.all[std::size_t(from)]->send(sends.emplace_back(), {}, to, 0, 1);
        }
    REQUIRE(ranks.turn_until([&] {
        return std::all_of(receives.begin(), receives.end(),
                           [](const auto& it) { return it.complete(); });
    }));
    // But the two ends of one connection; its successors are those that are not among them.
    std::vector<int> others;
    REQUIRE(ranks.turn_until([&] {
        const std::vector<int> all = connections();
        if (all.size() != 6 || !on_cables()) return false;
        others = all;
        std::erase_if(others, [&](int fd) {
            return fd == all[0] || (port_of(fd, getsockname) == port_of(all[0], getpeername) &&
                                    port_of(fd, getpeername) == port_of(all[0], getsockname));
        });
        return others.size() == 4;
    }));
    const auto current = [&] {
        const std::vector<int> all = connections();
        const auto it = std::find_if(all.begin(), all.end(), [&](int fd) {
            return std::find(others.begin(), others.end(), fd) == others.end();
        });
        return all.size() == 6 && on_cables() ? *it : -1;
    };
    for (int deaths = 1; deaths <= 5; ++deaths) {
        CAPTURE(deaths);
        const auto died = transport::Clock::now();
        const auto name = port_of(current(), getsockname);
        REQUIRE(shutdown(current(), SHUT_RDWR) == 0);
        REQUIRE(ranks.turn_until(
            [&] { return current() >= 0 && port_of(current(), getsockname) != name; }));
        if (deaths > 1) CHECK(transport::Clock::now() - died >= hold_down * (1 << (deaths - 2)));
    }
}

}  // namespace tcp_links_test
