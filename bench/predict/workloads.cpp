// SPDX-License-Identifier: BSD-3-Clause
#include "bench/predict/workloads.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "bench/torus_bench/collective_calls.h"

namespace torusmp::bench {

namespace {

using core::simulated::Program;
using core::simulated::TimedRank;
using routing::Direction;
using routing::Rank;

constexpr core::Context context_of_messages = 3;
constexpr core::Context context_of_collectives = 8;
constexpr int repetitions = 4;

class Idle final : public Program {
  public:
    bool advance(const TimedRank&) override { return true; }
};

class PingPong final : public Program {
  public:
    PingPong(Rank peer, bool first, core::Buffer out, core::Buffer in)
        : peer_(peer), first_(first), out_(out), in_(in) {}

    bool advance(const TimedRank& self) override {
        while (send_.complete() && receive_.complete()) {
            if (step_ == 2 * repetitions) return true;
            if ((step_++ % 2 == 0) == first_)
                self.runtime().send(send_, out_, peer_, context_of_messages, 0);
            else
                self.runtime().receive(receive_, in_, peer_, context_of_messages, 0);
        }
        return false;
    }

  private:
    Rank peer_;
    bool first_;
    core::Buffer out_, in_;
    int step_ = 0;
    core::SendRequest send_;
    core::ReceiveRequest receive_;
};

constexpr int streamed = 64;

class Stream final : public Program {
  public:
    Stream(Rank peer, bool sends, core::Buffer buffer)
        : peer_(peer), sends_(sends), buffer_(buffer), sent_(streamed), received_(streamed) {}

    bool advance(const TimedRank& self) override {
        for (; started_ < streamed; ++started_) {
            if (sends_)
                self.runtime().send(sent_[started_], buffer_, peer_, context_of_messages, 1);
            else
                self.runtime().receive(received_[started_], buffer_, peer_, context_of_messages, 1);
        }
        const auto complete = [](const core::Request& it) { return it.complete(); };
        return std::all_of(sent_.begin(), sent_.end(), complete) &&
               std::all_of(received_.begin(), received_.end(), complete);
    }

  private:
    Rank peer_;
    bool sends_;
    core::Buffer buffer_;
    std::size_t started_ = 0;
    std::deque<core::SendRequest> sent_;
    std::deque<core::ReceiveRequest> received_;
};

// Messages to and from the neighbours in all directions.
class Exchange {
  public:
    explicit Exchange(std::size_t directions) : send_(directions), receive_(directions) {}

    void start(const TimedRank& self, core::Buffer out, core::Buffer in) {
        const routing::Torus& torus = self.runtime().torus();
        for (int i = 0; i < 2 * torus.dimensions(); ++i) {
            const Direction way = Direction::from_index(i);
            const auto neighbour = torus.neighbour(self.rank(), way);
            if (!neighbour) continue;
            self.runtime().receive(receive_[std::size_t(i)], in, *neighbour, context_of_messages,
                                   2 + way.opposite().index());
            self.runtime().send_by(send_[std::size_t(i)], out, way, context_of_messages, 2 + i);
        }
    }
    bool complete() const {
        const auto complete = [](const core::Request& it) { return it.complete(); };
        return std::all_of(send_.begin(), send_.end(), complete) &&
               std::all_of(receive_.begin(), receive_.end(), complete);
    }

  private:
    std::deque<core::SendRequest> send_;
    std::deque<core::ReceiveRequest> receive_;
};

std::size_t directions_of(const routing::Torus& torus) {
    return std::size_t(2 * torus.dimensions());
}

class Halo final : public Program {
  public:
    Halo(const routing::Torus& torus, core::Buffer out, core::Buffer in)
        : exchange_(directions_of(torus)), out_(out), in_(in) {}

    bool advance(const TimedRank& self) override {
        while (exchange_.complete()) {
            if (round_++ == repetitions) return true;
            exchange_.start(self, out_, in_);
        }
        return false;
    }

  private:
    Exchange exchange_;
    core::Buffer out_, in_;
    int round_ = 0;
};

void check_ended_well(const collectives::Schedule& schedule) {
    if (schedule.error() != core::Error::none) throw std::runtime_error(schedule.failure());
}

class Call final : public Program {
  public:
    explicit Call(std::unique_ptr<CollectiveCall> call) : call_(std::move(call)) {}

    bool advance(const TimedRank&) override {
        while (schedule_ == nullptr || schedule_->complete()) {
            if (schedule_ != nullptr) check_ended_well(*schedule_);
            if (left_ == 0) return true;
            --left_;
            schedule_ = &call_->start();
        }
        return false;
    }
    void again(int calls) {
        schedule_ = nullptr;
        left_ = calls;
    }

  private:
    std::unique_ptr<CollectiveCall> call_;
    int left_ = 1;
    collectives::Schedule* schedule_ = nullptr;
};

// An iteration: four times half of the lattice is computed from the other half, while the halo is
// in transit, and two sums.
class Wilson final : public Program {
  public:
    struct Shape {
        core::Buffer out, in;
        double before = 0;  // ns, while each halo is in transit
        double after = 0;
        double rest = 0;  // vectors, before each sum
    };
    Wilson(const routing::Torus& torus, const Shape& shape, std::unique_ptr<CollectiveCall> sum)
        : shape_(shape), exchange_(directions_of(torus)), sum_(std::move(sum)) {}

    // Steps of half an iteration: two halos, each started, awaited and used; then the sum.
    bool advance(const TimedRank& self) override {
        constexpr int steps = 6;
        while (exchange_.complete() && (schedule_ == nullptr || schedule_->complete())) {
            if (schedule_ != nullptr) check_ended_well(*std::exchange(schedule_, nullptr));
            if (step_ == 2 * steps * repetitions) return true;
            switch (step_++ % steps) {
                case 0:
                case 2:
                    exchange_.start(self, shape_.out, shape_.in);
                    self.compute(shape_.before);
                    return false;
                case 1:
                case 3:
                    self.compute(shape_.after);
                    return false;
                case 4:
                    self.compute(shape_.rest);
                    return false;
                default:
                    schedule_ = &sum_->start();
            }
        }
        return false;
    }

  private:
    Shape shape_;
    Exchange exchange_;
    std::unique_ptr<CollectiveCall> sum_;
    collectives::Schedule* schedule_ = nullptr;
    int step_ = 0;
};

// As examples/wilson counts them.
constexpr double hop_flops_a_site = 1320 + 24;
constexpr double solver_flops_a_site = 12 * 24;
constexpr std::size_t half_spinor = 96;  // bytes

}  // namespace

Prediction::Prediction(const routing::Torus& torus, const Model& model)
    : model_(model),
      job_({.torus = torus, .model = model.link, .eager_limit = std::size_t(model.eager_limit)}) {
    std::vector<Rank> everybody(std::size_t(job_.size()), 0);
    std::iota(everybody.begin(), everybody.end(), 0);
    for (const Rank rank : everybody)
        groups_.push_back(
            std::make_unique<collectives::Group>(job_[rank], everybody, context_of_collectives));
}

Prediction::Programs Prediction::idle() const {
    Programs programs;
    for (int rank = 0; rank < job_.size(); ++rank) programs.push_back(std::make_unique<Idle>());
    return programs;
}

double Prediction::latency(Rank peer, std::size_t bytes) {
    out_.resize(std::max(out_.size(), bytes));
    in_.resize(std::max(in_.size(), bytes));
    double time = 0;
    for (int round = 0; round < 2; ++round) {  // the first round makes connections
        Programs programs = idle();
        const core::Buffer out{out_.data(), bytes}, in{in_.data(), bytes};
        programs[0] = std::make_unique<PingPong>(peer, true, out, in);
        programs[std::size_t(peer)] = std::make_unique<PingPong>(0, false, out, in);
        time = double(job_.run(programs).count()) / (2 * repetitions);
    }
    return time;
}

double Prediction::stream(Rank peer, std::size_t bytes) {
    in_.resize(std::max(in_.size(), bytes));
    Programs programs = idle();
    const core::Buffer buffer{in_.data(), bytes};
    programs[0] = std::make_unique<Stream>(peer, true, buffer);
    programs[std::size_t(peer)] = std::make_unique<Stream>(0, false, buffer);
    return double(job_.run(programs).count()) / streamed;
}

double Prediction::halo(std::size_t bytes) {
    out_.resize(std::max(out_.size(), bytes));
    in_.resize(std::max(in_.size(), bytes));
    Programs programs;
    for (int rank = 0; rank < job_.size(); ++rank)
        programs.push_back(std::make_unique<Halo>(job_.torus(), core::Buffer{out_.data(), bytes},
                                                  core::Buffer{in_.data(), bytes}));
    return double(job_.run(programs).count()) / repetitions;
}

double Prediction::collective(std::string_view operation, std::string_view algorithm,
                              std::size_t bytes, int calls) {
    const CollectiveFacts* facts = find_collective(operation);
    if (facts == nullptr) throw std::invalid_argument("unknown collective");
    in_.assign(std::max(in_.size(), facts->bytes_in(bytes, job_.size())), std::byte{0});
    out_.assign(std::max(out_.size(), facts->bytes_out(bytes, job_.size())), std::byte{0});
    Programs programs;
    for (int rank = 0; rank < job_.size(); ++rank)
        programs.push_back(std::make_unique<Call>(make_collective(
            *groups_[std::size_t(rank)], operation, algorithm, in_.data(), out_.data(), bytes)));
    job_.run(programs);  // makes connections
    for (auto& program : programs) static_cast<Call&>(*program).again(calls);
    return double(job_.run(programs).count()) / calls;
}

Prediction::Iteration Prediction::wilson(int extent) {
    const double sites = double(extent) * extent * extent * extent;
    const double half = sites / 2;
    Iteration result;
    // Two applications of the operator, each of two halves of the lattice.
    result.flops = 4 * half * hop_flops_a_site + half * solver_flops_a_site;
    result.computation = result.flops / model_.gflops;
    const std::size_t face = std::size_t(extent) * std::size_t(extent) * std::size_t(extent) / 2;
    const std::size_t bytes = face * half_spinor;
    // Of the eight neighbours of a site, the number that are on another rank.
    double away = 0;
    for (int d = 0; d < job_.torus().dimensions(); ++d)
        if (job_.torus().extent(d) > 1) away += 2.0 / extent;
    const double hop = half * hop_flops_a_site / model_.gflops;
    const double after = hop * away / 8;
    in_.assign(std::max(in_.size(), bytes), std::byte{0});
    out_.assign(std::max(out_.size(), bytes), std::byte{0});
    Wilson::Shape shape{{out_.data(), bytes},
                        {in_.data(), bytes},
                        hop - after,
                        after,
                        half * solver_flops_a_site / model_.gflops / 2};
    std::vector<double> norms(2);
    Programs programs;
    for (int rank = 0; rank < job_.size(); ++rank)
        programs.push_back(std::make_unique<Wilson>(
            job_.torus(), shape,
            make_collective(*groups_[std::size_t(rank)], "sum", "automatic", norms.data(), nullptr,
                            2 * sizeof(double))));
    result.whole = double(job_.run(programs).count()) / repetitions;
    return result;
}

}  // namespace torusmp::bench
