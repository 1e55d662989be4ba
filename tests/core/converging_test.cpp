// SPDX-License-Identifier: BSD-3-Clause
// The ways of large messages to a rank to which many send at the same time.

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <deque>
#include <vector>

#include "job.h"
#include "routing/way_shares.h"
#include "routing/ways.h"

using namespace torusmp;
using namespace torusmp::core;
using namespace torusmp::core::testing;

namespace converging_test {
namespace {

// Where shares are unequal: 0.54, 0.18, 0.14, 0.14 from the rank at (1, 1, 1) to rank 0.
const std::vector<int> dims{3, 3, 2};
constexpr Rank target = 0;
constexpr std::size_t bytes = 1'600'000;

JobOptions links_with_many_credits(std::uint64_t seed) {
    JobOptions options = tight_torus(dims, seed);
    options.credits = options.relay_credits = 64;
    options.world.read = options.world.write =
        sim::Remote::refused;  // neighbours send packets, too
    return options;
}

// Messages to the target; all of them are checked at the end.
class Inflow {
  public:
    explicit Inflow(const JobOptions& options) : job_(options) {}
    Job& job() { return job_; }

    void expect(Rank from) {
        auto& in = buffers_.emplace_back(bytes);
        into_.push_back(&in);
        job_[target].receive(receives_.emplace_back(), {in.data(), bytes}, from, 0, 0);
    }
    void send(Rank from) {
        auto& out = buffers_.emplace_back(bytes);
        fill(out.data(), bytes, std::uint64_t(from));
        job_[from].send(sends_.emplace_back(), {out.data(), bytes}, target, 0, 0);
    }
    void expect_all() {
        for (Rank from = 1; from < job_.size(); ++from) expect(from);
    }
    void send_all() {
        for (Rank from = 1; from < job_.size(); ++from) send(from);
    }
    void check() {
        job_.settle();
        INFO(job_.report());
        for (const SendRequest& it : sends_) REQUIRE(it.complete());
        std::size_t arrived = 0;
        for (std::size_t i = 0; i < receives_.size(); ++i) {
            if (!receives_[i].complete()) continue;
            const auto from = std::uint64_t(receives_[i].status().source);
            REQUIRE(filled(into_[i]->data(), bytes, from));
            ++arrived;
        }
        REQUIRE(arrived == sends_.size());
    }
    // The parts of its message that a rank has sent by each of its links.
    std::array<double, 2 * routing::max_dimensions> parts(Rank from) {
        std::array<double, 2 * routing::max_dimensions> parts{};
        for (const auto& it : job_[from].state().connections())
            if (it.link)
                parts[std::size_t(it.link->index())] =
                    double(it.statistics.bytes_streamed) / double(bytes);
        return parts;
    }
    // The bytes that arrive at the target by its busiest link, over the mean of its links. In equal
    // parts by all ways it would be 1.3.
    double imbalance() {
        double sum = 0, most = 0;
        int links = 0;
        for (const auto& it : job_[target].state().connections()) {
            if (!it.link) continue;
            ++links;
            sum += double(it.statistics.bytes_received);
            most = std::max(most, double(it.statistics.bytes_received));
        }
        return most * links / sum;
    }

  private:
    std::deque<std::vector<std::byte>> buffers_;
    std::vector<std::vector<std::byte>*> into_;
    std::deque<SendRequest> sends_;
    std::deque<ReceiveRequest> receives_;
    Job job_;
};

}  // namespace

TEST_CASE("a large message keeps to its shares of the ways if many ranks send to its receiver",
          "[core][converging]") {
    const auto seed = std::uint64_t(GENERATE(range(1, 6)));
    const bool many = GENERATE(true, false);
    CAPTURE(seed, many);
    Inflow inflow(links_with_many_credits(seed));
    const routing::Torus& torus = inflow.job().torus();
    const Rank from = torus.rank({1, 1, 1});
    if (many)
        for (Rank other = 1; other <= 4; ++other) inflow.expect(other);
    inflow.expect(from);
    inflow.job().settle();
    inflow.send(from);
    inflow.check();
    const auto shares = routing::way_shares(torus, from, target);
    const auto parts = inflow.parts(from);
    for (const auto first : routing::first_directions(torus, from, target)) {
        const auto link = std::size_t(first.index());
        CAPTURE(link, int(shares[link]), parts[link]);
        if (many)
            CHECK(std::abs(parts[link] - shares[link] / double(routing::whole_message)) < 0.05);
        else
            CHECK(std::abs(parts[link] - 0.25) < 0.08);
    }
}

TEST_CASE("messages of all ranks to one fill its links equally", "[core][converging]") {
    const auto seed = std::uint64_t(GENERATE(range(1, 6)));
    const bool announced = GENERATE(true, false);
    CAPTURE(seed, announced);
    Inflow inflow(links_with_many_credits(seed));
    if (announced)
        inflow.expect_all();
    else
        inflow.send_all();
    inflow.job().settle();
    if (announced)
        inflow.send_all();
    else
        inflow.expect_all();
    inflow.check();
    CHECK(inflow.imbalance() < 1.08);
}

TEST_CASE("messages of all ranks to one are divided among the ways that have cables of their own",
          "[core][converging]") {
    const auto seed = std::uint64_t(GENERATE(range(1, 6)));
    CAPTURE(seed);
    JobOptions options = links_with_many_credits(seed);
    options.link_transports = 2;
    options.joint_links = true;
    Inflow inflow(options);
    inflow.expect_all();
    inflow.job().settle();
    inflow.send_all();
    inflow.check();
}

TEST_CASE("a large message leaves a way that stands still, whatever its share is",
          "[core][converging]") {
    const auto seed = std::uint64_t(GENERATE(range(1, 6)));
    CAPTURE(seed);
    Inflow inflow(links_with_many_credits(seed));
    Job& job = inflow.job();
    const Rank from = job.torus().rank({1, 1, 1});
    for (Rank other = 1; other <= 4; ++other) inflow.expect(other);
    inflow.expect(from);
    job.settle();
    // Behind the link with the largest share.
    const routing::Direction slow{0, -1};
    const Rank relay = *job.torus().neighbour(from, slow);
    job.stop(relay);
    inflow.send(from);
    job.settle();
    const auto parts = inflow.parts(from);
    double sum = 0;
    for (const double part : parts) sum += part;
    CHECK(sum > 0.99);
    CHECK(parts[std::size_t(slow.index())] < 0.1);
    job.go_on(relay);
    inflow.check();
}

}  // namespace converging_test
