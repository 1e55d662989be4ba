// SPDX-License-Identifier: BSD-3-Clause
#include "routing/missing_cables.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace torusmp::routing {
namespace {

// A torus that misses more cables is not completed.
constexpr std::size_t most_missing = 8;
// Limit on the pairs of cables compared by all attempts together.
constexpr double most_work = 1e9;
// The distance between the ends of a missing cable in a torus of several dimensions: the cable was
// the fourth side of a square (3), the third of a ring of three (2), or the other one of a ring of
// two (1).
constexpr int farthest = 3;

// Two free ends that a missing cable may have joined.
struct Candidate {
    std::size_t a, b;  // indices of the free ends
    int distance;      // between their nodes, by the existing cables
    bool usual;        // other cables join such ports
};

class Completer {
  public:
    Completer(std::span<const std::string> names, std::span<const Cable> cables,
              std::span<const CableEnd> idle)
        : names_(names), cables_(cables.begin(), cables.end()), idle_(idle) {
        for (const Cable& cable : cables) {
            joined_.insert(std::minmax(cable.a.port, cable.b.port));
            used_[cable.a.node].insert(cable.a.port);
            used_[cable.b.node].insert(cable.b.port);
        }
    }

    Completion run() {
        Completion plain{recognize_torus(names_, cables_), {}};
        if (plain.torus.found) {
            auto ring = close_line(*plain.torus.found);
            return ring ? std::move(*ring) : std::move(plain);
        }
        const double pairs = double(cables_.size()) * double(cables_.size());
        for (const auto& ends : {ends_by_count(), ends_by_port()}) {
            tries_ = int(std::min(20'000.0, most_work / std::max(pairs, 1.0)));
            join(ends);
            if (found_.size() == 1) return std::move(found_.front());
            if (!found_.empty()) break;  // the missing one cannot be determined
        }
        return plain;
    }

  private:
    bool is_idle(const CableEnd& end) const {
        return std::find(idle_.begin(), idle_.end(), end) != idle_.end();
    }

    // A line is a ring with one dead cable if each of its ends has the port that all others use
    // there, and receives nothing on it.
    std::optional<Completion> close_line(const Recognized& line) {
        int dimension = -1;
        for (int d = 0; d < line.torus.dimensions(); ++d) {
            if (line.torus.extent(d) == 1) continue;
            if (dimension >= 0) return std::nullopt;
            dimension = d;
        }
        if (dimension < 0 || line.torus.periodic(dimension) || joined_.size() != 1)
            return std::nullopt;
        std::vector<CableEnd> free;
        for (int node = 0; node < int(names_.size()); ++node)
            for (const int port : {joined_.begin()->first, joined_.begin()->second})
                if (used_[node].count(port) == 0) free.push_back({node, port});
        if (free.size() != 2 || free[0].port == free[1].port || !is_idle(free[0]) ||
            !is_idle(free[1]))
            return std::nullopt;
        return try_with({{free[0], free[1]}});
    }

    bool uses(const CableEnd& end) const {
        const auto ports = used_.find(end.node);
        return ports != used_.end() && ports->second.count(end.port) != 0;
    }

    // Nodes of a machine have the same ports: a port that most nodes use and some do not is free
    // there.
    std::vector<CableEnd> ends_by_port() const {
        std::map<int, std::size_t> count;
        for (const auto& [node, ports] : used_)
            for (const int port : ports) ++count[port];
        std::vector<CableEnd> ends;
        for (int node = 0; node < int(names_.size()); ++node)
            for (const auto& [port, nodes] : count)
                if (2 * nodes > names_.size() && !uses({node, port})) ends.push_back({node, port});
        return ends;
    }

    // Nodes that have fewer cables than others. Their free ports are known if the same number of
    // ports is idle, or if the same number of ports that most nodes use is missing.
    std::vector<CableEnd> ends_by_count() const {
        std::size_t most = 0;
        for (const auto& [node, ports] : used_) most = std::max(most, ports.size());
        const std::vector<CableEnd> by_port = ends_by_port();
        std::vector<CableEnd> ends;
        for (int node = 0; node < int(names_.size()); ++node) {
            const std::size_t lacking = most - (used_.count(node) ? used_.at(node).size() : 0);
            std::vector<CableEnd> free;
            for (const auto& known : {by_port, std::vector(idle_.begin(), idle_.end())}) {
                std::vector<CableEnd> here;
                std::copy_if(known.begin(), known.end(), std::back_inserter(here),
                             [&](const CableEnd& end) { return end.node == node; });
                if (here.size() == lacking) free = std::move(here);
            }
            for (int i = 0; free.size() < lacking; ++i) free.push_back({node, unknown_port + i});
            ends.insert(ends.end(), free.begin(), free.end());
        }
        return ends;
    }

    std::vector<int> distances_from(int start) const {
        std::vector<int> distance(names_.size(), int(names_.size())), queue{start};
        distance[std::size_t(start)] = 0;
        std::multimap<int, int> next;
        for (const Cable& cable : cables_) {
            next.insert({cable.a.node, cable.b.node});
            next.insert({cable.b.node, cable.a.node});
        }
        for (std::size_t i = 0; i < queue.size(); ++i)
            for (auto [it, end] = next.equal_range(queue[i]); it != end; ++it) {
                int& there = distance[std::size_t(it->second)];
                if (there < int(names_.size())) continue;
                there = distance[std::size_t(queue[i])] + 1;
                queue.push_back(it->second);
            }
        return distance;
    }

    // In a torus of several dimensions a missing cable was the fourth side of a square, the third
    // of a ring of three, or the other one of a ring of two; other pairs come last.
    std::vector<Candidate> candidates(const std::vector<CableEnd>& ends) const {
        std::vector<Candidate> all;
        for (std::size_t a = 0; a < ends.size(); ++a) {
            const std::vector<int> distance = distances_from(ends[a].node);
            for (std::size_t b = a + 1; b < ends.size(); ++b)
                if (ends[a].node != ends[b].node)
                    all.push_back({a, b, distance[std::size_t(ends[b].node)],
                                   joined_.count(std::minmax(ends[a].port, ends[b].port)) != 0});
        }
        return all;
    }

    // First joins one pair of the free ends: at the edges of an open mesh all other ends stay free.
    // Then tries to join all of them.
    void join(const std::vector<CableEnd>& ends) {
        const std::vector<Candidate> all = candidates(ends);
        for (const bool usual : {true, false}) {
            for (const Candidate& pair : all)
                if (pair.usual == usual && pair.distance <= farthest && going_on())
                    keep(try_with({{ends[pair.a], ends[pair.b]}}));
            if (!found_.empty()) return;
        }
        if (ends.size() % 2 != 0 || ends.size() > 2 * most_missing) return;
        for (const bool usual : {true, false}) {
            std::vector<bool> taken(ends.size());
            std::vector<Cable> added;
            match(ends, all, usual, taken, added);
            if (!found_.empty()) return;
        }
    }

    bool going_on() const { return tries_ > 0 && found_.size() < 2; }

    void match(const std::vector<CableEnd>& ends, const std::vector<Candidate>& all, bool usual,
               std::vector<bool>& taken, std::vector<Cable>& added) {
        if (!going_on()) return;
        const auto first =
            std::size_t(std::find(taken.begin(), taken.end(), false) - taken.begin());
        if (first == taken.size()) return keep(try_with(added));
        for (const Candidate& pair : all) {
            const bool likely = pair.usual && pair.distance <= farthest;
            if (pair.a != first || taken[pair.b] || (usual && !likely)) continue;
            taken[pair.a] = taken[pair.b] = true;
            added.push_back({ends[pair.a], ends[pair.b]});
            match(ends, all, usual, taken, added);
            added.pop_back();
            taken[pair.a] = taken[pair.b] = false;
        }
    }

    std::optional<Completion> try_with(const std::vector<Cable>& added) {
        --tries_;
        std::vector<Cable> all = cables_;
        all.insert(all.end(), added.begin(), added.end());
        Recognition recognition = recognize_torus(names_, all);
        if (!recognition.found) return std::nullopt;
        return Completion{std::move(recognition), added};
    }

    // Completions that differ only in ports count as one.
    void keep(std::optional<Completion> completion) {
        if (!completion) return;
        const bool known = std::any_of(found_.begin(), found_.end(), [&](const auto& other) {
            return pairs_of(other) == pairs_of(*completion);
        });
        if (!known) found_.push_back(std::move(*completion));
    }

    static std::multiset<std::pair<int, int>> pairs_of(const Completion& completion) {
        std::multiset<std::pair<int, int>> pairs;
        for (const Cable& cable : completion.missing)
            pairs.insert(std::minmax(cable.a.node, cable.b.node));
        return pairs;
    }

    const std::span<const std::string> names_;
    const std::vector<Cable> cables_;
    const std::span<const CableEnd> idle_;
    std::set<std::pair<int, int>> joined_;  // ports, the lower one first
    std::map<int, std::set<int>> used_;     // by node
    std::vector<Completion> found_;
    int tries_ = 0;
};

}  // namespace

Completion complete_torus(std::span<const std::string> names, std::span<const Cable> cables,
                          std::span<const CableEnd> idle) {
    return Completer(names, cables, idle).run();
}

}  // namespace torusmp::routing
