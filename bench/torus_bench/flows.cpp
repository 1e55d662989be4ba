// SPDX-License-Identifier: BSD-3-Clause
#include "bench/torus_bench/flows.h"

#include <algorithm>
#include <optional>
#include <set>

namespace torusmp::bench {
namespace {

using routing::Direction;
using routing::Torus;

// The flow that enters by one link and leaves by another, if the path between the two neighbours
// uses this rank and these links.
std::optional<Flow> flow_between(const Torus& torus, int node, Direction in, Direction out) {
    const auto from = torus.neighbour(node, in), to = torus.neighbour(node, out);
    if (in == out || !from || !to || *from == node || *to == node || *from == *to)
        return std::nullopt;
    const auto path = torus.path(*from, *to);
    if (path.size() != 2 || path[0].rank != node || path[0].direction != in.opposite() ||
        path[1].direction != out)
        return std::nullopt;
    return Flow{*from, *to, in, out};
}

// The maximum number of pairs of incoming and outgoing links, by augmenting paths.
class Matching {
  public:
    Matching(const Torus& torus, int node)
        : torus_(torus),
          node_(node),
          links_(2 * torus.dimensions()),
          taken_by_(std::size_t(links_), -1) {}

    std::vector<Flow> flows() {
        for (int in = 0; in < links_; ++in) {
            std::vector<bool> seen(std::size_t(links_), false);
            place(in, seen);
        }
        std::vector<Flow> all;
        for (int out = 0; out < links_; ++out)
            if (taken_by_[std::size_t(out)] >= 0)
                all.push_back(*between(taken_by_[std::size_t(out)], out));
        return all;
    }

  private:
    std::optional<Flow> between(int in, int out) const {
        return flow_between(torus_, node_, Direction::from_index(in), Direction::from_index(out));
    }
    bool place(int in, std::vector<bool>& seen) {
        for (int out = 0; out < links_; ++out) {
            const auto at = std::size_t(out);
            if (seen[at] || !between(in, out)) continue;
            seen[at] = true;
            if (taken_by_[at] >= 0 && !place(taken_by_[at], seen)) continue;
            taken_by_[at] = in;
            return true;
        }
        return false;
    }

    const Torus& torus_;
    int node_, links_;
    std::vector<int> taken_by_;  // by link out, the link in; -1 if none
};

}  // namespace

std::vector<Flow> flows_through(const Torus& torus, int node) {
    return Matching(torus, node).flows();
}

int busiest_forwarder(const Torus& torus) {
    int busiest = 0;
    std::size_t most = 0;
    for (int rank = 0; rank < torus.size(); ++rank)
        if (const std::size_t here = flows_through(torus, rank).size(); here > most)
            busiest = rank, most = here;
    return busiest;
}

int links_used(const std::vector<Flow>& flows) {
    std::set<int> links;
    for (const Flow& flow : flows) {
        links.insert(flow.in.index());
        links.insert(flow.out.index());
    }
    return int(links.size());
}

}  // namespace torusmp::bench
