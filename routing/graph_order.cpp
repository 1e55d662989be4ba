// SPDX-License-Identifier: BSD-3-Clause
#include "routing/graph_order.h"

#include <algorithm>
#include <limits>

namespace torusmp::routing {
namespace {

constexpr int largest_for_advice = 64;

using Distances = std::vector<std::vector<int>>;

Distances measure(int size, std::span<const std::pair<int, int>> cables) {
    Distances all(std::size_t(size), std::vector<int>(std::size_t(size), size));
    std::vector<std::vector<int>> around(static_cast<std::size_t>(size));
    for (const auto& [a, b] : cables) {
        around[std::size_t(a)].push_back(b);
        around[std::size_t(b)].push_back(a);
    }
    for (int from = 0; from < size; ++from) {
        auto& steps = all[std::size_t(from)];
        steps[std::size_t(from)] = 0;
        std::vector<int> found{from};
        for (std::size_t i = 0; i < found.size(); ++i)
            for (const int next : around[std::size_t(found[i])])
                if (steps[std::size_t(next)] == size && next != from) {
                    steps[std::size_t(next)] = steps[std::size_t(found[i])] + 1;
                    found.push_back(next);
                }
    }
    return all;
}

// A closed walk over all nodes: the nearest node that was not visited yet comes next, the one with
// the fewest neighbours left first, and then parts of it are reversed while that shortens it
// (Croes, A method for solving traveling-salesman problems, Operations Research 6, 1958).
class Tour {
  public:
    explicit Tour(const Distances& distances) : distances_(distances) {
        visit_nearest();
        while (reverse_one()) continue;
    }
    std::vector<int> take() { return std::move(order_); }

  private:
    std::size_t size() const { return distances_.size(); }
    int between(std::size_t i, std::size_t j) const {
        return distances_[std::size_t(order_[i % size()])][std::size_t(order_[j % size()])];
    }
    int free_neighbours(int node, const std::vector<bool>& visited) const {
        int count = 0;
        for (std::size_t other = 0; other < size(); ++other)
            count += !visited[other] && distances_[std::size_t(node)][other] == 1 ? 1 : 0;
        return count;
    }
    void visit_nearest() {
        std::vector<bool> visited(size());
        for (int node = 0; node >= 0;) {
            order_.push_back(node);
            visited[std::size_t(node)] = true;
            auto best = std::pair(std::numeric_limits<int>::max(), 0);
            int next = -1;
            for (std::size_t other = 0; other < size(); ++other) {
                if (visited[other]) continue;
                const auto cost = std::pair(distances_[std::size_t(node)][other],
                                            free_neighbours(int(other), visited));
                if (cost >= best) continue;
                best = cost;
                next = int(other);
            }
            node = next;
        }
    }
    bool reverse_one() {
        for (std::size_t i = 0; i + 2 < size(); ++i)
            for (std::size_t j = i + 1; j < size(); ++j)
                if (between(i, j) + between(i + 1, j + 1) < between(i, i + 1) + between(j, j + 1)) {
                    std::reverse(order_.begin() + std::ptrdiff_t(i) + 1,
                                 order_.begin() + std::ptrdiff_t(j) + 1);
                    return true;
                }
        return false;
    }

    const Distances& distances_;
    std::vector<int> order_;
};

}  // namespace

std::vector<int> nearby_order(int size, std::span<const std::pair<int, int>> cables) {
    const Distances distances = measure(size, cables);
    std::vector<int> order = Tour(distances).take();
    // In the order in which the user named them, where both directions are as good.
    if (order.size() > 2 && order[1] > order.back()) std::reverse(order.begin() + 1, order.end());
    return order;
}

double mean_distance(const Torus& torus) {
    std::int64_t sum = 0;
    const std::int64_t size = torus.size();
    for (Rank a = 0; a < torus.size(); ++a)
        for (Rank b = 0; b < a; ++b) sum += torus.distance(a, b);
    return size < 2 ? 0.0 : 2.0 * double(sum) / double(size * (size - 1));
}

std::optional<Shortening> best_cable(const Torus& torus) {
    const int size = torus.size();
    if (size > largest_for_advice) return std::nullopt;
    std::optional<Shortening> best;
    double least = mean_distance(torus);
    for (Rank a = 0; a < size; ++a)
        for (Rank b = a + 1; b < size; ++b) {
            if (torus.distance(a, b) == 1) continue;
            std::int64_t sum = 0;
            for (Rank x = 0; x < size; ++x)
                for (Rank y = 0; y < x; ++y)
                    sum += std::min({torus.distance(x, y),
                                     torus.distance(x, a) + 1 + torus.distance(b, y),
                                     torus.distance(x, b) + 1 + torus.distance(a, y)});
            const double mean = 2.0 * double(sum) / double(size * (size - 1));
            if (mean >= least) continue;
            least = mean;
            best = Shortening{a, b, mean};
        }
    return best;
}

}  // namespace torusmp::routing
