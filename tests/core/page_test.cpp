// SPDX-License-Identifier: BSD-3-Clause
// The control pages on which ranks publish their waits and their counters.
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/api.h"
#include "core/page/control_page.h"
#include "core/rma/windows.h"
#include "core/transport/shm/interface.h"
#include "job.h"

namespace torusmp::core::page_test {

using testing::Job;
using testing::JobOptions;

TEST_CASE("a reader of a control page never sees half of a state", "[core][page]") {
    ControlPage page;
    std::atomic<bool> done{false};
    std::thread writer([&] {
        for (std::uint64_t i = 1; !done; ++i) {
            PageState state;
            state.posted = state.unexpected = state.requests = i;
            for (WayCounts& way : state.ways) way.resent = i;
            page.publish(state);
        }
    });
    std::size_t torn = 0, read = 0;
    std::uint64_t newest = 0, backwards = 0;
    while (newest < 2000) {
        const auto state = page.read();
        if (!state) continue;
        ++read;
        torn += state->ways.back().resent != state->posted || state->requests != state->posted;
        backwards += state->posted < newest;
        newest = state->posted;
    }
    done = true;
    writer.join();
    CHECK(torn == 0);
    CHECK(backwards == 0);
    CHECK(read > 0);
}

// Two ranks of a host, as threads of this process.
class Pair {
  public:
    Pair() {
        for (Rank rank = 0; rank < 2; ++rank) {
            Options options{.torus = routing::Torus(std::array{2}),
                            .rank = rank,
                            .direct = {0, 1},
                            .log = {},
                            .name_of = {}};
            options.page = &pages[std::size_t(rank)];
            ranks[std::size_t(rank)] = std::make_unique<Runtime>(
                std::move(options), [](const std::vector<transport::PortOptions>& ports) {
                    return std::make_unique<transport::shm::ShmInterface>(
                        ports, transport::shm::InterfaceOptions{});
                });
        }
        const std::vector<std::vector<std::byte>> addresses{ranks[0]->address(),
                                                            ranks[1]->address()};
        for (const auto& rank : ranks) rank->connect(addresses);
        for (const auto& rank : ranks) rank->await_links(false);
    }
    PageState state(int rank) const { return pages[std::size_t(rank)].read().value(); }
    // The state that was seen waiting: read again, it may be of the time between two waits.
    PageState waits(int rank) const {
        PageState seen;
        while ((seen = state(rank)).wait == WaitKind::none) std::this_thread::yield();
        return seen;
    }

    std::array<ControlPage, 2> pages;
    std::array<std::unique_ptr<Runtime>, 2> ranks;
};

TEST_CASE("a waiting rank publishes the peer and the call until the wait ends", "[core][page]") {
    Pair pair;
    CHECK(pair.state(0).phase == Phase::running);
    CHECK(pair.state(0).wait == WaitKind::none);
    int word = 7;
    std::vector<std::byte> large(1 << 20);
    std::thread waiting([&] {
        ReceiveRequest receive;
        pair.ranks[0]->receive(receive, Buffer(&word, sizeof word), 1, 5, 77);
        pair.ranks[0]->wait(receive, "MPI_Recv");
        SendRequest send;
        pair.ranks[0]->send(send, Buffer(large.data(), large.size()), 1, 5, 78);
        pair.ranks[0]->wait(send, "MPI_Send");
    });
    const PageState receiving = pair.waits(0);
    CHECK(receiving.wait == WaitKind::receive);
    CHECK(std::string(receiving.call.data()) == "MPI_Recv");
    CHECK(receiving.peer == 1);
    CHECK(receiving.tag == 77);
    CHECK(receiving.context == 5);
    CHECK(receiving.bytes == sizeof word);
    CHECK(receiving.posted == 1);
    CHECK(receiving.requests == 1);
    CHECK(receiving.since > 0);
    CHECK(receiving.since < receiving.at);

    SendRequest send;
    pair.ranks[1]->send(send, Buffer(&word, sizeof word), 0, 5, 77);
    pair.ranks[1]->wait(send);
    PageState sending;
    do sending = pair.waits(0);
    while (sending.wait == WaitKind::receive);
    CHECK(sending.wait == WaitKind::send);
    CHECK(std::string(sending.call.data()) == "MPI_Send");
    CHECK(sending.peer == 1);
    CHECK(sending.tag == 78);
    CHECK(sending.bytes == large.size());
    CHECK(sending.posted == 0);

    ReceiveRequest receive;
    pair.ranks[1]->receive(receive, Buffer(large.data(), large.size()), 0, 5, 78);
    pair.ranks[1]->wait(receive);
    waiting.join();
    CHECK(pair.state(0).wait == WaitKind::none);
    CHECK(pair.state(0).requests == 0);
    CHECK(pair.state(0).ways[0].rendezvous_messages == 1);
}

// A window of each of the two ranks, reached by packets; the locks are mapped by both.
struct PairOfWindows {
    explicit PairOfWindows(Pair& pair) {
        for (int rank = 0; rank < 2; ++rank) {
            rma::Window& window = windows[std::size_t(rank)];
            window.self = rank;
            window.place = std::uint32_t(rank);
            window.members = window.mates = {0, 1};
            window.parts.resize(2);
            for (std::size_t other = 0; other < 2; ++other) {
                window.parts[other].bytes = sizeof memory[0];
                window.parts[other].control = &controls[other];
            }
            window.parts[std::size_t(rank)].memory =
                reinterpret_cast<std::byte*>(&memory[std::size_t(rank)]);
            pair.ranks[std::size_t(rank)]->windows().add(window);
        }
        for (auto& window : windows)
            for (std::size_t other = 0; other < 2; ++other)
                window.parts[other].id = windows[other].id;
    }
    void start(Pair& pair, rma::Operation& operation, rma::Action action) {
        operation.window_ = &windows[0];
        operation.action = action;
        operation.target = 1;
        pair.ranks[0]->windows().start(operation);
    }

    std::array<std::uint64_t, 2> memory{};
    std::array<rma::Control, 2> controls{rma::Control(2), rma::Control(2)};
    std::array<rma::Window, 2> windows;
};

TEST_CASE("a rank that waits for a window names the target, and for a lock its holder",
          "[core][page]") {
    Pair pair;
    PairOfWindows all(pair);
    std::uint64_t word = 7;
    rma::Operation put, flush, lock;
    put.data = Buffer(&word, sizeof word);
    put.place = {0, sizeof word};
    REQUIRE(pair.ranks[1]->windows().lock_now(all.windows[1], 1, true));
    std::thread waiting([&] {
        all.start(pair, put, rma::Action::put);
        all.start(pair, flush, rma::Action::flush);
        pair.ranks[0]->wait(flush, "MPI_Win_flush");
        all.start(pair, lock, rma::Action::lock_shared);
        pair.ranks[0]->wait(lock, "MPI_Win_lock");
    });
    const PageState flushing = pair.waits(0);
    CHECK(flushing.wait == WaitKind::access);
    CHECK(std::string(flushing.call.data()) == "MPI_Win_flush");
    CHECK(flushing.peer == 1);
    CHECK(std::string(flushing.detail.data()).empty());
    CHECK(flushing.windows.sent == 1);
    CHECK(flushing.windows.open == 1);
    CHECK(flushing.windows.served == 0);

    while (!flush.complete()) pair.ranks[1]->progress();
    PageState locking;
    do locking = pair.waits(0);
    while (std::string(locking.call.data()) != "MPI_Win_lock");
    CHECK(locking.wait == WaitKind::access);
    CHECK(locking.peer == 1);
    CHECK(std::string(locking.detail.data()) == "the lock of a window of rank 1, held by rank 1");
    CHECK(locking.windows.lock_waits == 1);

    pair.ranks[1]->windows().unlock(all.windows[1], 1, true);
    waiting.join();
    all.windows[0].count_direct();
    pair.ranks[0]->windows().remove(all.windows[0]);
    for (int rank = 0; rank < 2; ++rank) {
        pair.pages[std::size_t(rank)].asked() |= ControlPage::state_wanted;
        pair.ranks[std::size_t(rank)]->progress();
    }
    CHECK(pair.state(0).windows == WindowCounts{.direct = 1, .sent = 1});
    CHECK(pair.state(1).windows == WindowCounts{.served = 1});
    CHECK(all.memory[1] == 7);
    pair.ranks[1]->windows().remove(all.windows[1]);
}

TEST_CASE("a rank answers a request when it next runs, and at no other time", "[core][page]") {
    Pair pair;
    const auto before = pair.state(0).at;
    for (int i = 0; i < 1000; ++i) pair.ranks[0]->progress();
    CHECK(pair.state(0).at == before);
    pair.pages[0].asked() |= ControlPage::state_wanted;
    CHECK(pair.state(0).at == before);
    pair.ranks[0]->progress();
    CHECK(pair.state(0).at > before);
    CHECK(pair.pages[0].asked() == 0);
}

TEST_CASE("the counters of pages by path equal what was sent", "[core][page]") {
    JobOptions options;
    options.dims = {4};
    options.eager_limit = 1024;
    Job job(options);
    const auto send = [&](Rank from, Rank to, std::size_t bytes) {
        std::vector<std::byte> out(bytes, std::byte{1}), in(bytes);
        SendRequest request;
        ReceiveRequest receive;
        job[to].receive(receive, Buffer(in.data(), bytes), from, 0, 0);
        job[from].send(request, Buffer(out.data(), bytes), to, 0, 0);
        REQUIRE(job.run_until([&] { return request.complete() && receive.complete(); }));
        REQUIRE(in == out);
    };
    for (int i = 0; i < 10; ++i) send(0, 1, 100);
    for (int i = 0; i < 3; ++i) send(0, 2, 50);
    send(0, 1, 5000);
    const auto state = [&](Rank rank) {
        job.page(rank).asked() |= ControlPage::state_wanted;
        job[rank].progress();
        return job.page(rank).read().value();
    };
    // Over two hops by 0+ or 0-; the relay counts what it passes on, and nothing of its own.
    const PageState first = state(0);
    std::uint64_t eager = 0, eager_bytes = 0, rendezvous = 0;
    for (const WayCounts& way : first.ways) {
        eager += way.eager_messages;
        eager_bytes += way.eager_bytes;
        rendezvous += way.rendezvous_messages;
        CHECK(way.relayed_packets == 0);
    }
    CHECK(eager == 13);
    CHECK(eager_bytes == 10 * 100 + 3 * 50);
    CHECK(rendezvous == 1);
    CHECK(first.ways[0].peer == 1);
    CHECK((first.ways[0].flags & way_is_link) != 0);
    CHECK(std::string(first.ways[0].transport.data()) == "sim");
    std::uint64_t relayed = 0, relayed_bytes = 0, own = 0;
    for (const Rank rank : {1, 3})
        for (const WayCounts& way : state(rank).ways) {
            relayed += way.relayed_packets;
            relayed_bytes += way.relayed_bytes;
            own += way.eager_messages;
        }
    CHECK(relayed == 3);
    CHECK(relayed_bytes == 3 * 50);
    CHECK(own == 0);
}

TEST_CASE("a page shows an operation outside of memory while it lasts", "[core][page]") {
    Job job({.dims = {2}});
    const ControlPage& page = job.page(0);
    CHECK(page.deed().empty());
    // States of every length, each followed by a prefix of it and by a longer state.
    std::uint64_t number = 0;
    for (std::size_t length = 1; length < 140; ++length)
        for (const std::size_t more : {1, 0, 9}) {
            const std::string text = std::string(length + more, 'x');
            ++number;
            for (int again = 0; again < 2; ++again) {
                job[0].begin_deed(number, text);
                REQUIRE(page.deed() == text.substr(0, 127));
                job[0].end_deed();
                REQUIRE(page.deed().empty());
            }
        }
    job[0].begin_deed(1, "reading /a");
    job[0].begin_deed(2, "writing /a");
    CHECK(page.deed() == "writing /a");
    job[0].begin_deed(1, "reading /a");
    CHECK(page.deed() == "reading /a");
}

}  // namespace torusmp::core::page_test
