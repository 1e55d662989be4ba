// SPDX-License-Identifier: BSD-3-Clause
// Pieces of large messages and small packets share the credits of a link: none waits for a credit
// that does not return, small packets return theirs rarely, and pieces return them early.
#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <numeric>
#include <vector>

#include "traffic.h"

using namespace torusmp;
using namespace torusmp::core;
using namespace torusmp::core::testing;

namespace pieces_test {
namespace {

constexpr std::size_t small = 40;

// Large messages travel in pieces, over every shortest path.
JobOptions links_of(std::vector<int> dims, int credits, std::uint64_t seed) {
    JobOptions options = tight_torus(std::move(dims), seed);
    options.credits = credits;
    options.relay_credits = std::min(credits, 16);
    options.world.read = options.world.write = sim::Remote::refused;
    return options;
}

// Messages of one rank to another, sent one after the other and received in order.
class Conversation {
  public:
    explicit Conversation(const JobOptions& options) : job_(options) {}

    Job& job() { return job_; }
    void say(Rank from, Rank to, std::size_t bytes) {
        const auto seed = std::uint64_t(buffers_.size());
        fill(buffers_.emplace_back(bytes).data(), bytes, seed);
        job_[from].send(sends_.emplace_back(), Buffer(buffers_.back().data(), bytes), to, 0, 0);
        std::vector<std::byte>& memory = buffers_.emplace_back(bytes);
        job_[to].receive(receives_.emplace_back(), Buffer(memory.data(), bytes), from, 0, 0);
    }
    void end() {
        arrive();
        INFO(job_.report());
        REQUIRE(job_.credits_home());
        REQUIRE(job_.log().empty());
    }
    // Everything arrives.
    void arrive() {
        job_.settle();
        INFO(job_.report());
        const auto open = std::count_if(receives_.begin(), receives_.end(),
                                        [](const auto& it) { return !it.complete(); });
        REQUIRE(open == 0);
        for (std::size_t i = 0; i < buffers_.size(); i += 2)
            REQUIRE(buffers_[i] == buffers_[i + 1]);
    }
    std::uint64_t grants(Rank by) {
        const auto all = job_[by].state().connections();
        return std::accumulate(all.begin(), all.end(), std::uint64_t(0),
                               [](std::uint64_t sum, const auto& connection) {
                                   return sum + connection.statistics.grants_sent;
                               });
    }

  private:
    std::deque<std::vector<std::byte>> buffers_;  // what was sent, then what was received
    std::deque<SendRequest> sends_;
    std::deque<ReceiveRequest> receives_;
    Job job_;
};

}  // namespace

TEST_CASE("a large message follows any number of small ones, and vice versa", "[core][pieces]") {
    const int credits = GENERATE(2, 3, 16, 32, 64, 120);
    const int before = GENERATE(0, 1, 15, 16, 31, 33, 59, 63, 200);
    const std::vector<int> dims = GENERATE(std::vector{2}, std::vector{4}, std::vector{3, 3});
    const bool paused = GENERATE(false, true);
    Conversation talk(links_of(dims, credits, std::uint64_t(credits + before)));
    const Rank to = talk.job().size() - 1;
    CAPTURE(credits, before, dims, paused);
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < before; ++i) talk.say(0, to, small);
        if (paused) talk.job().settle();  // the peer owes credits for what has come
        talk.say(0, to, 30'000);
        if (paused && round == 1) talk.job().settle();
    }
    talk.end();
}

TEST_CASE("small packets return the credits of a link half at a time", "[core][pieces]") {
    Conversation talk(links_of({5}, 64, 3));
    for (int i = 0; i < 40; ++i) {
        for (int k = 0; k < 16; ++k) talk.say(0, 1, small);
        talk.job().settle();
    }
    talk.end();
    CHECK(talk.grants(1) == 640 / 32);
}

TEST_CASE("a piece returns the credits of a link once eight are owed", "[core][pieces]") {
    Conversation talk(links_of({5}, 64, 4));
    for (int i = 0; i < 31; ++i) talk.say(0, 1, small);
    talk.job().settle();
    CHECK(talk.grants(1) == 0);
    // Its request is the packet that fills the half.
    talk.say(0, 1, 640'000);
    talk.end();
    const auto pieces = talk.job()[0].state().connections();
    const auto streamed = std::accumulate(
        pieces.begin(), pieces.end(), std::uint64_t(0),
        [](std::uint64_t sum, const auto& it) { return sum + it.statistics.streamed; });
    REQUIRE(streamed > 100);
    CHECK(talk.grants(1) == 1 + streamed / 8);
}

TEST_CASE("small and large messages of all ranks share links of many credits", "[core][pieces]") {
    const int credits = GENERATE(2, 20, 64, 120);
    const std::uint64_t seed = GENERATE(range(1, 4));
    JobOptions job = links_of({4, 3, 2}, credits, seed);
    job.world.packet = {sim::Time(500), sim::Time(5000), 0.02, sim::Time(40'000)};
    TrafficOptions options;
    options.messages = 1000;
    options.length = [](sim::Random& random, std::size_t limit) {
        return random.below(5) == 0 ? std::size_t(random.below(60 * limit))
                                    : std::size_t(random.below(limit / 4));
    };
    Traffic traffic(job, options);
    CAPTURE(credits, seed);
    if (!traffic.run()) FAIL(traffic.stuck());
    traffic.job().settle();
    INFO(traffic.job().report());
    REQUIRE(traffic.job().quiet());
    REQUIRE(traffic.job().credits_home());
}

TEST_CASE("pieces continue while cables die and return", "[core][pieces][link]") {
    const int credits = GENERATE(2, 64, 120);
    const std::uint64_t seed = GENERATE(range(1, 4));
    JobOptions options = detour_torus({3, 3}, seed);
    options.credits = credits;
    options.world.write = sim::Remote::refused;
    Conversation talk(options);
    CAPTURE(credits, seed);
    for (int round = 0; round < 20; ++round) {
        for (int i = 0; i < int(talk.job().random().below(40)); ++i) talk.say(0, 4, small);
        talk.say(0, 4, 20'000);
        for (int i = 0; i < int(talk.job().random().below(3000)); ++i) talk.job().turn();
        const auto link = routing::Direction::from_index(int(talk.job().random().below(4)));
        if (round % 2 == 0) {
            if (talk.job().cut_link(0, link)) {
                for (int i = 0; i < int(talk.job().random().below(2000)); ++i) talk.job().turn();
                talk.job().revive_link(0, link);
            }
        }
    }
    talk.arrive();
}

}  // namespace pieces_test
