// SPDX-License-Identifier: BSD-3-Clause
// Simulated time, which must equal the model exactly.
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <deque>
#include <memory>
#include <vector>

#include "core/simulated/timed_job.h"

using namespace torusmp;
using namespace torusmp::core;
using simulated::Program;
using simulated::TimedJob;
using simulated::TimedOptions;
using simulated::TimedRank;

namespace timed_test {

using Model = transport::sim::LinkModel;

constexpr Context context = 5;

// Sends some messages to one rank and receives some from any, and then has ended.
class Talk final : public Program {
  public:
    Talk(std::size_t bytes, int sends, Rank to, int receives, double compute = 0)
        : bytes_(bytes),
          sends_(sends),
          to_(to),
          compute_(compute),
          out_(bytes),
          in_(std::size_t(receives), std::vector<std::byte>(bytes)),
          sent_(std::size_t(sends)),
          received_(std::size_t(receives)) {}

    bool advance(const TimedRank& self) override {
        if (compute_ > 0) {
            self.compute(std::exchange(compute_, 0));
            return false;
        }
        if (!started_) {
            started_ = true;
            for (std::size_t i = 0; i < received_.size(); ++i)
                self.runtime().receive(received_[i], {in_[i].data(), bytes_}, any_source, context,
                                       3);
            for (SendRequest& request : sent_)
                self.runtime().send(request, {out_.data(), bytes_}, to_, context, 3);
        }
        const auto complete = [](const Request& it) { return it.complete(); };
        return std::all_of(sent_.begin(), sent_.end(), complete) &&
               std::all_of(received_.begin(), received_.end(), complete);
    }

  private:
    std::size_t bytes_;
    int sends_;
    Rank to_;
    double compute_;
    bool started_ = false;
    std::vector<std::byte> out_;
    std::vector<std::vector<std::byte>> in_;
    std::deque<SendRequest> sent_;
    std::deque<ReceiveRequest> received_;
};

using Programs = std::vector<std::unique_ptr<Program>>;

TimedOptions options_of(std::vector<int> dims, const Model& model) {
    return {.torus = routing::Torus(dims), .model = model, .eager_limit = 16384};
}

Programs quiet(int ranks) {
    Programs programs;
    for (int i = 0; i < ranks; ++i) programs.push_back(std::make_unique<Talk>(0, 0, 0, 0));
    return programs;
}

std::int64_t one_way(std::vector<int> dims, const Model& model, Rank to, std::size_t bytes,
                     int messages = 1, double receiver_computes = 0) {
    TimedJob job(options_of(std::move(dims), model));
    Programs programs = quiet(job.size());
    programs[0] = std::make_unique<Talk>(bytes, messages, to, 0);
    programs[std::size_t(to)] = std::make_unique<Talk>(bytes, 0, 0, messages, receiver_computes);
    return job.run(programs).count();
}

const Model plain{.latency = 5000,
                  .send_overhead = 1000,
                  .receive_overhead = 2000,
                  .send_per_byte = 0.5,
                  .receive_per_byte = 1,
                  .gap = 0,
                  .gap_per_byte = 10,
                  .node_gap_per_byte = 0,
                  .forward = 700,
                  .forward_per_byte = 0.25,
                  .header_bytes = 40};

// One message over one link without other traffic.
std::int64_t alone(const Model& m, std::size_t bytes) {
    const auto n = double(bytes);
    return std::llround(m.send_overhead + n * m.send_per_byte) +
           std::llround((n + double(m.header_bytes)) * m.gap_per_byte) + std::llround(m.latency) +
           std::llround(m.receive_overhead + n * m.receive_per_byte);
}

TEST_CASE("A message to a neighbour takes the time of the model, to the nanosecond") {
    for (const std::size_t bytes : {0, 8, 100, 4096})
        CHECK(one_way({4}, plain, 1, bytes) == alone(plain, bytes));
}

TEST_CASE("Each hop adds the times of forwarding, the link and the latency") {
    const std::size_t bytes = 400;
    const std::int64_t hop = 700 + 100 + 4400 + 5000;
    CHECK(one_way({7}, plain, 2, bytes) == alone(plain, bytes) + hop);
    CHECK(one_way({7}, plain, 3, bytes) == alone(plain, bytes) + 2 * hop);
}

TEST_CASE("Messages over one link come one after the other") {
    // The link is the slowest part: each further message takes its time on it.
    const std::int64_t on_link = 10440;
    CHECK(one_way({4}, plain, 1, 1004, 5) == alone(plain, 1004) + 4 * on_link);
    // With a gap longer than that, the gap.
    Model gaps = plain;
    gaps.gap = 20000;
    CHECK(one_way({4}, gaps, 1, 1004, 5) == alone(gaps, 1004) + 4 * 20000);
}

TEST_CASE("A link that was idle passes its reserve immediately, and then keeps its rate") {
    Model shaped = plain;
    shaped.reserve = 2.0 * (1000 + double(plain.header_bytes));
    const auto at_once = one_way({2}, plain, 1, 1000) - one_way({2}, shaped, 1, 1000);
    CHECK(double(at_once) ==
          Approx((1000 + double(plain.header_bytes)) * plain.gap_per_byte).margin(1));
    // The rest of a long stream has the rate of the link.
    const auto longer = one_way({2}, shaped, 1, 1000, 40) - one_way({2}, shaped, 1, 1000, 20);
    const auto usual = one_way({2}, plain, 1, 1000, 40) - one_way({2}, plain, 1, 1000, 20);
    CHECK(double(longer) == Approx(double(usual)).margin(20));
    CHECK(double(one_way({2}, plain, 1, 1000, 20) - one_way({2}, shaped, 1, 1000, 20)) ==
          Approx(shaped.reserve * plain.gap_per_byte).margin(2));
}

TEST_CASE("Two senders share the link that both need, and no other") {
    const std::int64_t on_link = 41360;  // of a message of 4096 bytes
    // Rank 1 sends four messages to rank 2, over the link by which rank 0's message comes, too.
    const auto beside = [](Rank to) {
        TimedJob job(options_of({5}, plain));
        Programs programs = quiet(5);
        programs[0] = std::make_unique<Talk>(4096, 1, to, 0);
        programs[1] = std::make_unique<Talk>(4096, 4, 2, 0);
        programs[2] = std::make_unique<Talk>(4096, 0, 0, to == 2 ? 5 : 4);
        if (to != 2) programs[std::size_t(to)] = std::make_unique<Talk>(4096, 0, 0, 1);
        return job.run(programs).count();
    };
    CHECK(beside(2) == alone(plain, 4096) + 4 * on_link);
    CHECK(beside(4) == alone(plain, 4096) + 3 * on_link);
}

TEST_CASE("Neither more bandwidth nor less latency makes a single stream slower") {
    for (const std::size_t bytes : {64, 4096, 100000, 1000000}) {
        std::int64_t before = std::int64_t{1} << 60;
        for (const double gap : {80.0, 40.0, 10.0, 1.0, 0.0}) {
            Model model = plain;
            model.gap_per_byte = gap;
            const std::int64_t now = one_way({4}, model, 1, bytes, 4);
            CHECK(now <= before);
            before = now;
        }
        Model far = plain;
        far.latency *= 3;
        CHECK(one_way({4}, plain, 1, bytes) <= one_way({4}, far, 1, bytes));
    }
}

TEST_CASE("A large message takes the time of the link once, without copies") {
    Model model = plain;
    model.send_per_byte = model.receive_per_byte = 0;
    const std::size_t bytes = 4'000'000;
    const auto on_link = std::int64_t(double(bytes) * model.gap_per_byte);
    const std::int64_t took = one_way({3}, model, 1, bytes);
    CHECK(took >= on_link);
    CHECK(took < on_link + on_link / 50);
}

TEST_CASE("The bus of a node limits all its links together") {
    Model model = plain;
    model.node_gap_per_byte = 10;  // as much as one link
    const auto four = [&](const Model& m) {
        TimedJob job(options_of({3, 3}, m));
        Programs programs = quiet(9);
        class Around final : public Program {
          public:
            bool advance(const TimedRank& self) override {
                if (!started_) {
                    started_ = true;
                    int i = 0;
                    for (const Rank to : {1, 2, 3, 6})
                        self.runtime().send(sent_[std::size_t(i++)], {bytes_.data(), 4000}, to,
                                            context, 3);
                }
                return std::all_of(sent_.begin(), sent_.end(),
                                   [](const Request& it) { return it.complete(); });
            }

          private:
            bool started_ = false;
            std::vector<std::byte> bytes_ = std::vector<std::byte>(4000);
            std::array<SendRequest, 4> sent_;
        };
        programs[0] = std::make_unique<Around>();
        for (const Rank to : {1, 2, 3, 6})
            programs[std::size_t(to)] = std::make_unique<Talk>(4000, 0, 0, 1);
        return job.run(programs).count();
    };
    CHECK(four(plain) == alone(plain, 4000) + 3 * 3000);   // one processor sends all
    CHECK(four(model) == alone(plain, 4000) + 3 * 40400);  // one after the other
}

TEST_CASE("A link with a long queue does not delay other links of its node") {
    class TwoWays final : public Program {
      public:
        bool advance(const TimedRank& self) override {
            if (!started_) {
                started_ = true;
                for (std::size_t i = 0; i < 5; ++i)
                    self.runtime().send(sent_[i], {bytes_.data(), bytes_.size()}, i < 4 ? 1 : 4,
                                        context, 3);
            }
            return std::all_of(sent_.begin(), sent_.end(),
                               [](const Request& it) { return it.complete(); });
        }

      private:
        bool started_ = false;
        std::vector<std::byte> bytes_ = std::vector<std::byte>(4096);
        std::array<SendRequest, 5> sent_;
    };
    const auto until = [](bool both) {
        TimedJob job(options_of({5}, plain));
        Programs programs = quiet(5);
        programs[0] = std::make_unique<TwoWays>();
        programs[4] = std::make_unique<Talk>(4096, 0, 0, 1);
        if (both) programs[1] = std::make_unique<Talk>(4096, 0, 0, 4);
        return job.run(programs).count();
    };
    // Four over one link, whose processor sends the fifth last, over another.
    CHECK(until(false) == alone(plain, 4096) + 4 * 3048);
    CHECK(until(true) == alone(plain, 4096) + 3 * 41360);
}

TEST_CASE("A rank that computes receives its messages afterwards, or is interrupted by them") {
    const std::int64_t took = one_way({4}, plain, 1, 100, 1, 1e6);
    CHECK(took >= 1'000'000 + 2100);
    CHECK(took <= 1'000'000 + 2100 + 100);
    // The packet that it would have relayed waits for it, too; not so where packets interrupt.
    const auto past = [](const Model& model) {
        TimedJob job(options_of({5}, model));
        Programs programs = quiet(5);
        programs[0] = std::make_unique<Talk>(100, 1, 2, 0);
        programs[1] = std::make_unique<Talk>(0, 0, 0, 0, 1e6);
        programs[2] = std::make_unique<Talk>(100, 0, 0, 1);
        return job.run(programs).count();
    };
    Model interrupts = plain;
    interrupts.interrupts = true;
    CHECK(past(plain) > 1'000'000 + 5000);
    // The interruptions make the computation longer.
    CHECK(past(interrupts) == 1'000'000 + 725);
}

TEST_CASE("Ranks that share a core compute one after the other") {
    const auto all = [](int cores, double wake) {
        Model model = plain;
        model.cores = cores;
        model.wake = wake;
        TimedJob job(options_of({8}, model));
        Programs programs;
        for (int i = 0; i < 8; ++i) programs.push_back(std::make_unique<Talk>(0, 0, 0, 0, 1e6));
        return job.run(programs).count();
    };
    CHECK(all(0, 0) == 1'000'000);
    CHECK(all(8, 0) == 1'000'000);
    CHECK(all(2, 0) == 4'000'000);
    CHECK(all(1, 0) == 8'000'000);
    CHECK(all(1, 1000) >= 8'007'000);
}

TEST_CASE("The same job takes the same time twice, in the same simulation and in a new one") {
    const auto crowd = [] {
        TimedJob job(options_of({3, 4, 2}, plain));
        std::vector<std::int64_t> took;
        for (int run = 0; run < 2; ++run) {
            Programs programs;
            for (int rank = 0; rank < job.size(); ++rank)
                programs.push_back(std::make_unique<Talk>(5000, 3, (rank * 7 + 5) % job.size(), 3));
            took.push_back(job.run(programs).count());
        }
        return took;
    };
    const auto first = crowd();
    CHECK(first == crowd());
    CHECK(first[0] > 0);
}

TEST_CASE("A job whose ranks wait for each other for ever reports it") {
    TimedJob job(options_of({2}, plain));
    Programs programs = quiet(2);
    programs[1] = std::make_unique<Talk>(8, 0, 0, 1);
    REQUIRE_THROWS_WITH(job.run(programs),
                        Catch::Contains("wait for each other") && Catch::Contains("rank 1"));
}

}  // namespace timed_test
