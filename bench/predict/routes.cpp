// SPDX-License-Identifier: BSD-3-Clause
#include "bench/predict/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <queue>
#include <stdexcept>
#include <unordered_map>
#include <vector>

namespace torusmp::bench {

namespace {

using routing::Rank;
using routing::Torus;

constexpr std::size_t largest_packet = 8192;  // bytes; larger messages are in transit on several
                                              // hops at the same time

class Replay {
  public:
    Replay(const Torus& torus, const Model& model, const RouteProgram& program)
        : torus_(torus),
          model_(model),
          program_(program),
          ranks_(std::size_t(torus.size())),
          lines_(std::size_t(torus.size()) * 2 * routing::max_dimensions) {}

    double run() {
        for (Rank rank = 0; rank < torus_.size(); ++rank) go_on(rank, 0);
        while (!events_.empty()) {
            const Packet packet = events_.top();
            events_.pop();
            if (packet.at == packet.to)
                arrive(packet);
            else
                pass(packet, packet.time + (packet.at == packet.from ? 0 : model_.kernel_forward));
        }
        double last = 0;
        int waiting = 0;
        for (const Member& member : ranks_) {
            waiting += !member.ended;
            last = std::max(last, member.free);
        }
        if (waiting > 0)
            throw std::runtime_error(
                fmt::format("{} ranks wait for each other without end", waiting));
        return last;
    }

  private:
    struct Member {
        double free = 0;  // when its processor is free
        double bus = 0;
        int step = 0;
        Rank awaits = -1;
        bool ended = false;
        std::unordered_map<Rank, int> unclaimed;  // messages here, by sender
    };
    struct Packet {
        double time;
        std::uint64_t order;
        Rank from, to, at;
        std::uint32_t bytes;
        bool last;                                   // of its message
        bool operator<(const Packet& other) const {  // earliest first
            return time != other.time ? time > other.time : order > other.order;
        }
    };

    Member& at(Rank rank) { return ranks_[std::size_t(rank)]; }

    double on_link(std::size_t bytes) const {
        return double(bytes) + double(model_.link.header_bytes);
    }

    // The packet leaves over its next link.
    void pass(Packet packet, double ready) {
        const auto hop = torus_.next_hop(packet.at, packet.to);
        double& line = lines_[std::size_t(packet.at) * 2 * routing::max_dimensions +
                              std::size_t(hop->direction.index())];
        double& bus = at(packet.at).bus;
        const auto& link = model_.link;
        bus = std::max(ready, bus) + on_link(packet.bytes) * link.node_gap_per_byte;
        const double begins = std::max(ready, line);
        const double passed = begins + on_link(packet.bytes) * link.gap_per_byte;
        const double left = std::max({passed - link.reserve * link.gap_per_byte, ready, bus});
        line = std::max({passed, bus, begins + link.gap});
        packet.at = hop->rank;
        packet.time = left + link.latency;
        packet.order = ++order_;
        events_.push(packet);
    }

    void send(Rank from, const RouteStep& step) {
        Member& member = at(from);
        const auto& link = model_.link;
        member.free += link.send_overhead + double(step.bytes) * link.send_per_byte;
        std::size_t rest = step.bytes;
        double on_links = 0;
        do {
            const std::size_t part = std::min(rest, largest_packet);
            rest -= part;
            on_links += on_link(part) * link.gap_per_byte;
            events_.push(
                {member.free, ++order_, from, step.to, from, std::uint32_t(part), rest == 0});
        } while (rest > 0);
        if (step.alone) member.free += on_links;
    }

    void arrive(const Packet& packet) {
        Member& member = at(packet.to);
        const auto& link = model_.link;
        member.free = std::max(member.free, packet.time) +
                      double(packet.bytes) * link.receive_per_byte +
                      (packet.last ? link.receive_overhead : 0);
        if (!packet.last) return;
        ++member.unclaimed[packet.from];
        if (member.awaits == packet.from) go_on(packet.to, packet.time);
    }

    void go_on(Rank rank, double now) {
        Member& member = at(rank);
        member.free = std::max(member.free, now);
        while (!member.ended) {
            if (member.awaits >= 0) {
                const auto found = member.unclaimed.find(member.awaits);
                if (found == member.unclaimed.end()) return;
                if (--found->second == 0) member.unclaimed.erase(found);
                member.awaits = -1;
            }
            const auto step = program_(rank, member.step++);
            if (!step) {
                member.ended = true;
                return;
            }
            if (step->to >= 0) send(rank, *step);
            member.awaits = step->from;
        }
    }

    const Torus& torus_;
    const Model& model_;
    const RouteProgram& program_;
    std::vector<Member> ranks_;
    std::vector<double> lines_;  // by rank and direction: when that end is free
    std::priority_queue<Packet> events_;
    std::uint64_t order_ = 0;
};

int lowest_bit(int number) {
    return number & -number;
}

int power_of_two_up(int number) {
    int power = 1;
    while (power < number) power *= 2;
    return power;
}

// A binomial tree from rank 0, largest subtree first. `bytes` returns the size of the message to
// that child.
RouteProgram down_tree(int ranks, std::function<std::size_t(int child, int span)> bytes) {
    const int whole = power_of_two_up(ranks);
    return [=](Rank rank, int step) -> std::optional<RouteStep> {
        int span = rank == 0 ? whole : lowest_bit(rank);
        if (rank != 0 && step == 0) return RouteStep{.from = rank - span};
        int sent = rank == 0 ? 0 : 1;
        for (span /= 2; span > 0; span /= 2)
            if (rank + span < ranks && sent++ == step)
                return RouteStep{.to = rank + span, .bytes = bytes(rank + span, span)};
        return std::nullopt;
    };
}

}  // namespace

double time_on_routes(const Torus& torus, const Model& model, const RouteProgram& program) {
    return Replay(torus, model, program).run();
}

RouteProgram repeated(const RouteProgram& program, int ranks, int times) {
    struct Place {
        int round = 0;
        int began = 0;  // at this step
    };
    const auto places = std::make_shared<std::vector<Place>>(std::size_t(ranks));
    return [=](Rank rank, int step) -> std::optional<RouteStep> {
        Place& place = (*places)[std::size_t(rank)];
        for (;;) {
            if (const auto next = program(rank, step - place.began)) return next;
            if (++place.round >= times) return std::nullopt;
            if (step == place.began) return std::nullopt;  // no step at all
            place.began = step;
        }
    };
}

RouteProgram binomial_broadcast(int ranks, std::size_t bytes) {
    return down_tree(ranks, [=](int, int) { return bytes; });
}

RouteProgram binomial_scatter(int ranks, std::size_t block) {
    return down_tree(ranks, [=](int child, int span) {
        return block * std::size_t(std::min(span, ranks - child));
    });
}

RouteProgram scatter_one_by_one(int ranks, std::size_t block) {
    return [=](Rank rank, int step) -> std::optional<RouteStep> {
        if (rank == 0)
            return step + 1 < ranks ? std::optional(RouteStep{step + 1, block, -1, true})
                                    : std::nullopt;
        return step == 0 ? std::optional(RouteStep{.from = 0}) : std::nullopt;
    };
}

// Ranks above the largest power of two send their value to a rank below it, and receive the sum
// from there.
RouteProgram recursive_doubling_sum(int ranks, std::size_t bytes) {
    int core = power_of_two_up(ranks);
    if (core > ranks) core /= 2;
    const int rest = ranks - core;
    return [=](Rank rank, int step) -> std::optional<RouteStep> {
        if (rank >= core) {
            if (step == 0) return RouteStep{rank - core, bytes, rank - core};
            return std::nullopt;
        }
        const bool helps = rank < rest;
        if (helps && step-- == 0) return RouteStep{.from = rank + core};
        int bit = 1;
        for (int i = 0; bit < core; ++i, bit *= 2)
            if (i == step) return RouteStep{rank ^ bit, bytes, rank ^ bit};
        int steps = 0;
        for (bit = 1; bit < core; bit *= 2) ++steps;
        if (helps && step == steps) return RouteStep{rank + core, bytes};
        return std::nullopt;
    };
}

RouteProgram ring_sum(int ranks, std::size_t bytes) {
    const std::size_t block = (bytes + std::size_t(ranks) - 1) / std::size_t(ranks);
    return [=](Rank rank, int step) -> std::optional<RouteStep> {
        if (step >= 2 * (ranks - 1)) return std::nullopt;
        return RouteStep{(rank + 1) % ranks, block, (rank + ranks - 1) % ranks};
    };
}

RouteProgram pairwise_alltoall(int ranks, std::size_t block) {
    return [=](Rank rank, int step) -> std::optional<RouteStep> {
        if (step >= ranks - 1) return std::nullopt;
        return RouteStep{(rank + step + 1) % ranks, block, (rank + ranks - step - 1) % ranks};
    };
}

}  // namespace torusmp::bench
