// SPDX-License-Identifier: BSD-3-Clause
#include "routing/detours.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <queue>
#include <set>

#include "random_torus.h"

namespace detours_test {

using namespace torusmp::routing;
using namespace torusmp::routing::test;

namespace {

std::vector<Link> links_of(const Torus& torus) {
    std::vector<Link> links;
    for (Rank rank = 0; rank < torus.size(); ++rank)
        for (int d = 0; d < torus.dimensions(); ++d)
            if (torus.neighbour(rank, {d, +1})) links.push_back({rank, d});
    return links;
}

// Some dead links: sometimes few, sometimes nearly all.
std::vector<Link> some_dead(Random& random, const Torus& torus) {
    const int share = between(random, 0, 3) == 0 ? between(random, 30, 90) : between(random, 0, 25);
    std::vector<Link> dead;
    for (const Link& link : links_of(torus))
        if (between(random, 1, 100) <= share) dead.push_back(link);
    std::shuffle(dead.begin(), dead.end(), random);
    return dead;
}

bool lives(const std::vector<Link>& dead, const Link& link) {
    return std::find(dead.begin(), dead.end(), link) == dead.end();
}

// The joined ranks, computed in another way than in the code: labels spread over living links until
// nothing changes.
std::vector<int> joined(const Torus& torus, const std::vector<Link>& dead) {
    std::vector<int> label;
    for (Rank rank = 0; rank < torus.size(); ++rank) label.push_back(rank);
    for (bool changed = true; changed;) {
        changed = false;
        for (const Link& link : links_of(torus)) {
            if (!lives(dead, link)) continue;
            int& a = label[std::size_t(link.rank)];
            int& b = label[std::size_t(far_end(torus, link))];
            if (a == b) continue;
            a = b = std::min(a, b);
            changed = true;
        }
    }
    return label;
}

// Steps of a shortest path over living links, whatever its turns.
int shortest(const Torus& torus, const std::vector<Link>& dead, Rank from, Rank to) {
    std::vector<int> steps(std::size_t(torus.size()), -1);
    std::queue<Rank> found;
    steps[std::size_t(from)] = 0;
    for (found.push(from); !found.empty(); found.pop()) {
        const Rank rank = found.front();
        for (int i = 0; i < 2 * torus.dimensions(); ++i) {
            const auto direction = Direction::from_index(i);
            const auto next = torus.neighbour(rank, direction);
            if (!next || steps[std::size_t(*next)] >= 0) continue;
            if (!lives(dead, link_by(torus, rank, direction))) continue;
            steps[std::size_t(*next)] = steps[std::size_t(rank)] + 1;
            found.push(*next);
        }
    }
    return steps[std::size_t(to)];
}

// Channels, one a living link and way, and which of them a packet may hold while it waits for
// which.
class Dependencies {
  public:
    explicit Dependencies(const Torus& torus)
        : ways_(2 * torus.dimensions()), next_(std::size_t(torus.size() * ways_)) {}

    void add(Rank from, const std::vector<Hop>& path) {
        int before = -1;
        for (const Hop& hop : path) {
            const int channel = from * ways_ + hop.direction.index();
            if (before >= 0) next_[std::size_t(before)].insert(channel);
            before = channel;
            from = hop.rank;
        }
    }
    bool acyclic() const {
        enum class Mark { fresh, open, done };
        std::vector<Mark> marks(next_.size(), Mark::fresh);
        const std::function<bool(int)> leave = [&](int channel) {
            Mark& mark = marks[std::size_t(channel)];
            if (mark != Mark::fresh) return mark == Mark::done;
            mark = Mark::open;
            for (const int next : next_[std::size_t(channel)])
                if (!leave(next)) return false;
            marks[std::size_t(channel)] = Mark::done;
            return true;
        };
        for (int channel = 0; channel < int(next_.size()); ++channel)
            if (!leave(channel)) return false;
        return true;
    }

  private:
    int ways_;
    std::vector<std::set<int>> next_;
};

void require_route(const Torus& torus, const std::vector<Link>& dead, const Detours& detours,
                   Rank from, Rank to, const std::vector<Hop>& path) {
    CAPTURE(from, to);
    Rank here = from;
    bool down = false;
    std::set<Rank> seen{from};
    for (const Hop& hop : path) {
        REQUIRE(torus.neighbour(here, hop.direction) == hop.rank);
        REQUIRE(lives(dead, link_by(torus, here, hop.direction)));
        const bool up = detours.leads_up(here, hop.rank);
        REQUIRE_FALSE((up && down));
        down = !up;
        here = hop.rank;
        REQUIRE(seen.insert(here).second);
    }
    REQUIRE(here == to);
}

std::vector<Hop> backwards(Rank from, const std::vector<Hop>& path) {
    std::vector<Hop> back;
    for (std::size_t i = path.size(); i-- > 0;)
        back.push_back({path[i].direction.opposite(), i > 0 ? path[i - 1].rank : from});
    return back;
}

}  // namespace

TEST_CASE("every two ranks that living links join have a route, whichever links are dead",
          "[detours]") {
    Random random{std::uint32_t(GENERATE(range(0, 300)))};
    const Torus torus = random_shape(random, 60).torus();
    const auto dead = some_dead(random, torus);
    CAPTURE(torus.describe(), dead.size());
    const Detours detours(torus, dead);
    const auto parts = joined(torus, dead);
    Dependencies dependencies(torus);
    for (Rank from = 0; from < torus.size(); ++from)
        for (Rank to = 0; to < torus.size(); ++to) {
            const bool together = parts[std::size_t(from)] == parts[std::size_t(to)];
            REQUIRE((detours.parts().of(from) == detours.parts().of(to)) == together);
            const auto path = detours.route(from, to);
            REQUIRE(path.has_value() == together);
            if (!path) continue;
            require_route(torus, dead, detours, from, to, *path);
            REQUIRE(*detours.route(to, from) == backwards(from, *path));
            dependencies.add(from, *path);
        }
    REQUIRE(dependencies.acyclic());
}

TEST_CASE("only the dead links that separate parts of a torus are named", "[detours]") {
    Random random{std::uint32_t(GENERATE(range(0, 300)))};
    const Torus torus = random_shape(random, 60).torus();
    const auto dead = some_dead(random, torus);
    const Detours detours(torus, dead);
    const Parts& found = detours.parts();
    const auto parts = joined(torus, dead);
    REQUIRE(found.count() == int(std::set<int>(parts.begin(), parts.end()).size()));
    REQUIRE(found.connected() == (found.count() == 1));
    const auto cut = found.cut();
    for (const Link& link : links_of(torus)) {
        const bool named = std::find(cut.begin(), cut.end(), link) != cut.end();
        const bool parts_them =
            parts[std::size_t(link.rank)] != parts[std::size_t(far_end(torus, link))];
        REQUIRE(named == parts_them);
        REQUIRE(detours.around(link.rank, link.direction()).has_value() == !parts_them);
        // Any of them back would join what it keeps asunder.
        if (!named) continue;
        std::vector<Link> others;
        std::copy_if(dead.begin(), dead.end(), std::back_inserter(others),
                     [&](const Link& it) { return it != link; });
        REQUIRE(Parts(torus, others).count() == found.count() - 1);
    }
}

TEST_CASE("both ends of a dead link take the same detour", "[detours]") {
    Random random{std::uint32_t(GENERATE(range(0, 200)))};
    const Torus torus = random_shape(random, 200).torus();
    auto dead = some_dead(random, torus);
    const Detours here(torus, dead);
    std::shuffle(dead.begin(), dead.end(), random);
    if (!dead.empty()) dead.push_back(dead.front());  // named twice
    const Detours there(torus, dead);
    Dependencies dependencies(torus);
    for (const Link& link : here.parts().dead()) {
        const Rank far = far_end(torus, link);
        const auto out = here.around(link.rank, link.direction());
        const auto back = there.around(far, link.direction().opposite());
        REQUIRE(out.has_value() == back.has_value());
        if (!out) continue;
        REQUIRE(backwards(link.rank, *out) == *back);
        require_route(torus, dead, here, link.rank, far, *out);
        dependencies.add(link.rank, *out);
        dependencies.add(far, *back);
    }
    REQUIRE(dependencies.acyclic());
}

TEST_CASE("the detour of a single dead link is the shortest possible", "[detours]") {
    Random random{std::uint32_t(GENERATE(range(0, 100)))};
    const Torus torus = random_shape(random, 200).torus();
    const auto links = links_of(torus);
    if (links.empty()) return;
    for (int n = 0; n < 20; ++n) {
        const Link link = links[random() % links.size()];
        const Detours detours(torus, {{link}});
        const auto path = detours.around(link.rank, link.direction());
        const int steps = shortest(torus, {link}, link.rank, far_end(torus, link));
        CAPTURE(torus.describe(), link.rank, link.dimension);
        REQUIRE((path ? int(path->size()) : -1) == steps);
    }
}

// All detours together, when that rank is the root: worked out over ranks and whether the route has
// gone down, and not from both ends.
int length_under_root(const Torus& torus, const std::vector<Link>& dead, Rank root) {
    std::vector<int> level;
    for (Rank rank = 0; rank < torus.size(); ++rank)
        level.push_back(shortest(torus, dead, root, rank));
    int sum = 0;
    for (const Link& link : dead) {
        const Rank to = far_end(torus, link);
        std::map<std::pair<Rank, bool>, int> steps{{{link.rank, false}, 0}};
        std::queue<std::pair<Rank, bool>> found;
        int length = -1;
        for (found.push({link.rank, false}); length < 0; found.pop()) {
            const auto [rank, down] = found.front();
            if (rank == to) length = steps[{rank, down}];
            for (int i = 0; i < 2 * torus.dimensions(); ++i) {
                const auto direction = Direction::from_index(i);
                const auto next = torus.neighbour(rank, direction);
                if (!next || !lives(dead, link_by(torus, rank, direction))) continue;
                const bool up = std::pair(level[std::size_t(*next)], *next) <
                                std::pair(level[std::size_t(rank)], rank);
                if ((up && down) || steps.count({*next, !up}) != 0) continue;
                steps[{*next, !up}] = steps[{rank, down}] + 1;
                found.push({*next, !up});
            }
        }
        sum += length;
    }
    return sum;
}

TEST_CASE("the root is the end of a dead link under which all detours together are shortest",
          "[detours]") {
    int gains = 0;
    for (std::uint32_t seed = 0; seed < 200; ++seed) {
        Random random{seed};
        const Torus torus = random_shape(random, 60).torus();
        const auto links = links_of(torus);
        if (links.size() < 4) continue;
        // As many as have their ends tried, all of them.
        std::vector<Link> dead{links[random() % links.size()], links[random() % links.size()]};
        if (dead[0] == dead[1] || !Parts(torus, dead).connected()) continue;
        std::sort(dead.begin(), dead.end());
        std::vector<int> lengths;
        for (const Link& link : dead)
            for (const Rank root : {link.rank, far_end(torus, link)})
                lengths.push_back(length_under_root(torus, dead, root));
        const int least = *std::min_element(lengths.begin(), lengths.end());
        gains += lengths.front() > least;
        const Detours detours(torus, dead);
        int sum = 0;
        for (const Link& link : dead)
            sum += int(detours.around(link.rank, link.direction())->size());
        CAPTURE(seed, torus.describe());
        REQUIRE(sum == least);
    }
    REQUIRE(gains > 0);  // the first of them would not do
}

TEST_CASE("the detour of a cable of a ring of two is the other cable", "[detours]") {
    const Torus torus(std::vector{2, 2, 2});
    for (const Link& link : links_of(torus)) {
        const Detours detours(torus, {{link}});
        const auto path = detours.around(link.rank, link.direction());
        REQUIRE(path);
        CHECK(*path == std::vector<Hop>{{link.direction().opposite(), far_end(torus, link)}});
    }
}

TEST_CASE("several dead links far apart have detours of three steps each", "[detours]") {
    const Torus torus(std::vector{8, 8, 8});
    const std::vector<Link> dead{{torus.rank({0, 0, 0}), 0}, {torus.rank({4, 4, 4}), 1}};
    const Detours detours(torus, dead);
    std::size_t longest = 0;
    for (const Link& link : dead)
        longest = std::max(longest, detours.around(link.rank, link.direction())->size());
    CHECK(longest <= 5);
    CHECK(detours.parts().connected());
    CHECK(detours.parts().cut().empty());
}

TEST_CASE("a link is the same from both ends", "[detours]") {
    const Torus torus(std::vector{2, 3});
    CHECK(link_by(torus, 0, {1, -1}) == Link{2, 1});
    CHECK(link_by(torus, 2, {1, +1}) == Link{2, 1});
    CHECK(link_by(torus, 0, {0, +1}) == Link{0, 0});
    CHECK(link_by(torus, 0, {0, -1}) == Link{3, 0});
    CHECK(far_end(torus, {2, 1}) == 0);
}

}  // namespace detours_test
