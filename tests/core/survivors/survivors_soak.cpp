// SPDX-License-Identifier: BSD-3-Clause
// Ranks that die at random times while the others exchange messages, agree, and revoke a group, on
// the simulated transport. Each step ends with an agreement. Survivors' messages arrive once and
// whole, all decisions of an agreement are equal, a revocation reaches all survivors or none of
// them, no rank waits for ever, and no memory is kept.
//
// In every third round packets are relayed. Relays die, too, cables die and return, and nothing
// between survivors is lost. If at some time no path joins all survivors, messages and agreements
// of those that are cut off may fail, but they end.
//
//   survivors_soak [FIRST [COUNT]]
//
// Exit code: 0 success, 1 failure (the seed is printed: survivors_soak SEED 1 repeats that
// round), 2 bad arguments.
#include <fmt/format.h>

#include <deque>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/job.h"
#include "core/link/cable_faults.h"
#include "core/link/detour_round.h"
#include "core/soak.h"

namespace survivors_soak {
namespace {

using namespace torusmp::core;
using namespace torusmp::core::testing;

constexpr Context messages = 7, group = 11;
constexpr Tag silent = 1000;  // no rank sends with it
constexpr int most_steps = 8;

bool relays(std::uint64_t seed) {
    return seed % 3 == 0;
}

JobOptions options_of(std::uint64_t seed) {
    sim::Random random(seed * 7 + 3);
    JobOptions options;
    if (relays(seed)) {
        std::vector<int> dims{2 + int(random.below(4))};
        while (dims.size() < 3 && random.below(3) != 0) dims.push_back(2 + int(random.below(2)));
        options = random.below(2) == 0 ? detour_torus(dims, seed) : tight_torus(dims, seed);
        if (random.below(3) == 0) options.graph = random_graph(seed);
        if (random.below(3) == 0) options.shortcuts = 1 + int(random.below(4));
        if (!options.graph && random.below(4) == 0) options.per_host = 2;
    } else {
        options.dims = {2 + int(random.below(seed % 16 == 0 ? 20 : 7))};
        options.direct = true;
        options.world.mapped = seed % 2 == 0;  // they agree on a board after some agreements
    }
    options.seed = seed;
    options.tolerates_deaths = true;
    options.eager_limit = 512;
    options.credits = options.relay_credits = 2 + int(random.below(4));
    return options;
}

int steps_of(std::uint64_t seed) {
    return relays(seed) || seed % 2 != 0 ? 3 : most_steps;
}

std::size_t size_of(Rank from, Rank to, int step) {
    const std::size_t sizes[] = {0, 8, 300, 600, 5000};
    return sizes[std::size_t(from * 5 + to * 3 + step) % 5];
}
std::uint64_t content_of(Rank from, Rank to, int step) {
    return std::uint64_t(from) << 32 | std::uint64_t(to) << 16 | std::uint64_t(step);
}

struct Exchange {
    SendRequest send;
    ReceiveRequest receive;
    std::vector<std::byte> out, in;
};

class Actor {
  public:
    // `were_parted` becomes true when survivors are cut off from each other for the first time.
    Actor(Job& job, Rank rank, int steps, std::uint64_t seed, const bool& were_parted)
        : job_(job), rank_(rank), steps_(steps), were_parted_(were_parted), random_(seed) {
        for (Rank other = 0; other < job.size(); ++other) all_.push_back(other);
    }
    // Its messages are destroyed after the Job, and it is set up when the Job is.
    void begin() {
        survivors().revocations().set_listener([this](Context) {
            revoked = true;
            survivors().cancel_all(group, 1);
        });
        survivors().revocations().open(group, all_);
        const Rank source = (rank_ + 1) % job_.size();
        runtime().receive(waits_, Buffer(nothing_, sizeof nothing_), source, group, silent);
    }
    // Does the next thing that it can do; false: it waits, or is done.
    bool act() {
        if (step_ == steps_) return false;
        if (!started_) {
            start();
        } else if (!agreeing_) {
            if (!exchanged()) return false;
            check();
            agreement_ = std::make_unique<Agreement>();
            agreement_->flags = flags[std::size_t(step_)] = std::uint32_t(random_.below(1u << 31));
            joined = step_ + 1;
            agreeing_ = true;
            survivors().agreements().begin(*agreement_, messages, all_);
        } else {
            if (!agreement_->complete()) return false;
            parted |= agreement_->parted().has_value();
            if (parted && !were_parted_)
                throw std::runtime_error("members that reach each other are parted");
            if (!agreement_->parted()) decided.push_back(agreement_->value());
            agreeing_ = started_ = false;
            ++step_;
        }
        return true;
    }
    bool done() const { return step_ == steps_; }
    void revoke() { survivors().revocations().revoke(group); }
    bool wait_ended() const { return waits_.complete(); }
    Error wait_error() const { return waits_.status().error; }
    std::string state() const {
        return fmt::format("rank {}: step {}, {}", rank_, step_,
                           agreeing_  ? "agrees"
                           : started_ ? "exchanges"
                                      : "begins");
    }

    bool revoked = false;
    int joined = 0;  // agreements
    std::uint32_t flags[most_steps] = {};
    std::vector<AgreedValue> decided;
    bool parted = false;  // after that it decides nothing

  private:
    Runtime& runtime() { return job_[rank_]; }
    const Survivors& survivors() { return runtime().survivors(); }
    void start() {
        exchanges_.clear();
        started_ = true;
        for (const Rank other : all_) {
            if (other == rank_) continue;
            Exchange& exchange = exchanges_[other];
            exchange.out.resize(size_of(rank_, other, step_));
            exchange.in.resize(size_of(other, rank_, step_));
            fill(exchange.out.data(), exchange.out.size(), content_of(rank_, other, step_));
            runtime().receive(exchange.receive, Buffer(exchange.in.data(), exchange.in.size()),
                              other, messages, step_);
            runtime().send(exchange.send, Buffer(exchange.out.data(), exchange.out.size()), other,
                           messages, step_);
        }
    }
    bool exchanged() const {
        for (const auto& [other, exchange] : exchanges_)
            if (!exchange.send.complete() || !exchange.receive.complete()) return false;
        return true;
    }
    void check() {
        for (const auto& [other, exchange] : exchanges_) {
            const Status& status = exchange.receive.status();
            if (status.error == Error::none) {
                if (status.bytes != exchange.in.size() ||
                    !filled(exchange.in.data(), exchange.in.size(),
                            content_of(other, rank_, step_)))
                    throw std::runtime_error(
                        fmt::format("a wrong message of {} at {}", other, rank_));
            } else if (status.error != Error::unreachable || !may_lose(other)) {
                throw std::runtime_error(fmt::format("the receive from {} at {} failed: {}", other,
                                                     rank_, describe(status.error)));
            }
            if (exchange.send.status().error != Error::none && !may_lose(other))
                throw std::runtime_error(
                    fmt::format("the send from {} to {} failed", rank_, other));
        }
    }

    bool may_lose(Rank other) {
        return !job_.alive(other) || (were_parted_ && survivors().is_lost(other));
    }

    Job& job_;
    const Rank rank_;
    const int steps_;
    const bool& were_parted_;
    sim::Random random_;
    std::vector<Rank> all_;
    std::map<Rank, Exchange> exchanges_;
    std::unique_ptr<Agreement> agreement_;
    ReceiveRequest waits_;
    std::byte nothing_[8];
    int step_ = 0;
    bool started_ = false;
    bool agreeing_ = false;
};

void judge(Job& job, const std::deque<Actor>& actors, bool were_parted) {
    for (int step = 0; step < most_steps; ++step) {
        const AgreedValue* common = nullptr;
        std::uint32_t by_living = ~0u, by_all = ~0u;
        for (Rank rank = 0; rank < job.size(); ++rank) {
            const Actor& actor = actors[std::size_t(rank)];
            if (actor.joined > step) by_all &= actor.flags[step];
            if (job.alive(rank)) by_living &= actor.flags[step];
            if (actor.decided.size() <= std::size_t(step)) continue;
            const AgreedValue& value = actor.decided[std::size_t(step)];
            if (common != nullptr && !(*common == value))
                throw std::runtime_error(fmt::format("two decisions of agreement {}", step));
            common = &value;
        }
        if (common == nullptr) continue;
        if ((common->flags & ~by_living) != 0 || (by_all & ~common->flags) != 0)
            throw std::runtime_error(fmt::format("a wrong decision of agreement {}", step));
    }
    for (Rank rank = 0; rank < job.size(); ++rank) {
        if (!job.alive(rank)) continue;
        const Actor& actor = actors[std::size_t(rank)];
        for (Rank other = 0; actor.revoked && other < job.size(); ++other)
            if (job.alive(other) && !actors[std::size_t(other)].revoked &&
                !(were_parted && job[rank].survivors().is_lost(other)))
                throw std::runtime_error("a revocation reached only some survivors");
        if (actor.revoked && !actor.wait_ended())
            throw std::runtime_error(fmt::format("rank {} waits in a revoked group", rank));
        if (actor.revoked && actor.wait_error() != Error::cancelled &&
            actor.wait_error() != Error::unreachable)
            throw std::runtime_error(fmt::format("rank {}: a wrong end of its wait", rank));
        if (const std::size_t kept = job[rank].survivors().agreements().kept(); kept > 2)
            throw std::runtime_error(
                fmt::format("rank {} keeps {} rounds and packets", rank, kept));
    }
}

void run(std::uint64_t seed) {
    bool were_parted = false;
    std::deque<Actor> actors;
    Job job(options_of(seed));
    CableFaults cables(job, seed);
    const bool faulty = options_of(seed).detour && seed % 2 == 0;
    bool known = true;  // whether all deaths have been reported or judged
    const auto kill = [&](Rank rank) {
        job.kill(rank);
        known = false;
        were_parted |= relays(seed) && !cables.connected();
    };
    sim::Random random(seed * 11 + 5);
    for (Rank rank = 0; rank < job.size(); ++rank)
        actors.emplace_back(job, rank, steps_of(seed), seed + 99u * unsigned(rank), were_parted);
    for (Actor& actor : actors) actor.begin();
    int kills = int(random.below(std::uint64_t(job.size()) / 3 + 1));
    const std::uint64_t seldom = 5 + random.below(120u * std::uint64_t(job.size()));
    bool to_revoke = random.below(3) == 0;
    const auto all_done = [&] {
        for (Rank rank = 0; rank < job.size(); ++rank)
            if (job.alive(rank) && !actors[std::size_t(rank)].done()) return false;
        return true;
    };
    while (!all_done()) {
        if (kills > 0 && random.below(seldom) == 0) {
            kill(Rank(random.below(std::uint64_t(job.size()))));
            --kills;
        }
        if (faulty) cables.happen();
        const auto pick = Rank(random.below(std::uint64_t(job.size())));
        if (to_revoke && job.alive(pick) && random.below(seldom) == 0) {
            actors[std::size_t(pick)].revoke();
            to_revoke = false;
            if (random.below(2) == 0) {  // it may die when only some have heard of it
                for (std::uint64_t i = random.below(6); i > 0; --i) job.turn();
                kill(pick);
            }
        }
        bool acted = job.alive(pick) && actors[std::size_t(pick)].act();
        const bool moved = job.turn();
        for (Rank rank = 0; !acted && !moved && rank < job.size(); ++rank)
            acted = job.alive(rank) && actors[std::size_t(rank)].act();
        if (acted || moved || all_done()) continue;
        if (!std::exchange(known, true)) {  // the launcher has had its time
            for (Rank rank = 0; rank < job.size(); ++rank)
                if (job.alive(rank)) job[rank].deaths_are_known();
            continue;
        }
        std::string text = "nothing moves any more";
        for (Rank rank = 0; rank < job.size(); ++rank)
            text += "\n" + (job.alive(rank) ? actors[std::size_t(rank)].state()
                                            : fmt::format("rank {}: dead", rank));
        throw std::runtime_error(text + "\n" + job.report());
    }
    job.settle();
    judge(job, actors, were_parted);
}

}  // namespace
}  // namespace survivors_soak

int main(int argc, char** argv) {
    torusmp::core::testing::Seeds seeds;
    try {
        std::vector<char*> rest(argv, argv + argc);
        seeds = torusmp::core::testing::take_seeds(rest);
        if (rest.size() > 1) throw std::invalid_argument(fmt::format("found '{}'", rest[1]));
    } catch (const std::invalid_argument& error) {
        fmt::print(stderr, "survivors_soak: {}\nusage: survivors_soak [FIRST [COUNT]]\n",
                   error.what());
        return 2;
    }
    for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        torusmp::core::testing::tell_on_crash("survivors_soak", seed);
        try {
            survivors_soak::run(seed);
        } catch (const std::exception& error) {
            fmt::print(stderr, "survivors_soak: seed {}: {}\n", seed, error.what());
            return 1;
        }
    }
    fmt::print("survivors_soak: {} rounds from seed {}: all was right\n", seeds.count, seeds.first);
    return 0;
}
