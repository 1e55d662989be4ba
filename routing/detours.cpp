#include "routing/detours.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace torusmp::routing {
namespace {

// Roots that are tried, and how much work that may be: for each of them all detours are laid.
constexpr std::size_t most_roots = 4;
constexpr std::int64_t most_steps = 1'000'000;

// A rank, and whether the route has gone down already.
constexpr std::size_t state_of(Rank rank, bool down) {
    return 2 * std::size_t(rank) + (down ? 1 : 0);
}

}  // namespace

Link link_by(const Torus& torus, Rank rank, Direction direction) {
    return {direction.sign > 0 ? rank : *torus.neighbour(rank, direction), direction.dimension};
}

Rank far_end(const Torus& torus, const Link& link) {
    return *torus.neighbour(link.rank, link.direction());
}

Parts::Parts(const Torus& torus, std::span<const Link> dead)
    : torus_(torus), dead_(dead.begin(), dead.end()) {
    std::sort(dead_.begin(), dead_.end());
    dead_.erase(std::unique(dead_.begin(), dead_.end()), dead_.end());
    const auto ways = std::size_t(2 * torus_.dimensions());
    std::vector<bool> gone(std::size_t(torus_.size()) * ways);
    const auto end_of = [&](Rank rank, Direction direction) {
        return gone[std::size_t(rank) * ways + std::size_t(direction.index())];
    };
    for (const Link& link : dead_) {
        end_of(link.rank, link.direction()) = true;
        end_of(far_end(torus_, link), link.direction().opposite()) = true;
    }
    for (Rank rank = 0; rank < torus_.size(); ++rank) {
        first_step_.push_back(steps_.size());
        for (int i = 0; i < int(ways); ++i) {
            const Direction direction = Direction::from_index(i);
            if (end_of(rank, direction)) continue;
            if (const auto to = torus_.neighbour(rank, direction))
                steps_.push_back({direction, *to});
        }
    }
    first_step_.push_back(steps_.size());

    part_.assign(std::size_t(torus_.size()), -1);
    std::vector<Rank> found;
    for (Rank first = 0; first < torus_.size(); ++first) {
        if (of(first) >= 0) continue;
        part_[std::size_t(first)] = count();
        for (found.assign(1, first); !found.empty();) {
            const Rank rank = found.back();
            found.pop_back();
            for (const Hop& hop : steps(rank)) {
                if (of(hop.rank) >= 0) continue;
                part_[std::size_t(hop.rank)] = count();
                found.push_back(hop.rank);
            }
        }
        lowest_.push_back(first);
    }
}

std::vector<Link> Parts::cut() const {
    std::vector<Link> between;
    std::copy_if(dead_.begin(), dead_.end(), std::back_inserter(between),
                 [&](const Link& link) { return apart(link); });
    return between;
}

Detours::Detours(const Torus& torus, std::span<const Link> dead) : parts_(torus, dead) {
    level_.assign(std::size_t(torus.size()), -1);
    std::vector<std::vector<Rank>> members(std::size_t(parts_.count()));
    for (Rank rank = 0; rank < torus.size(); ++rank)
        members[std::size_t(parts_.of(rank))].push_back(rank);
    for (int part = 0; part < parts_.count(); ++part) choose_root(part, members[std::size_t(part)]);
}

void Detours::set_levels(Rank root, std::span<const Rank> members) {
    for (const Rank rank : members) level_[std::size_t(rank)] = -1;
    std::vector<Rank> found{root};
    level_[std::size_t(root)] = 0;
    for (std::size_t next = 0; next < found.size(); ++next) {
        const Rank rank = found[next];
        for (const Hop& hop : parts_.steps(rank)) {
            int& level = level_[std::size_t(hop.rank)];
            if (level >= 0) continue;
            level = level_[std::size_t(rank)] + 1;
            found.push_back(hop.rank);
        }
    }
}

// From an end of a dead link as the root its detour only leads down and is as short as the graph
// allows. So of each part those ends are tried, and the one is taken by which all detours together
// are shortest.
void Detours::choose_root(int part, std::span<const Rank> members) {
    std::vector<Rank> roots;
    std::int64_t detours = 0;
    for (const Link& link : parts_.dead()) {
        if (parts_.of(link.rank) != part || parts_.apart(link)) continue;
        ++detours;
        for (const Rank end : {link.rank, far_end(parts_.torus(), link)})
            if (std::find(roots.begin(), roots.end(), end) == roots.end()) roots.push_back(end);
    }
    if (roots.empty()) roots.push_back(parts_.lowest(part));
    const auto steps = (detours + 1) * std::int64_t(members.size()) * parts_.torus().dimensions();
    roots.resize(std::min({roots.size(), most_roots, std::size_t(most_steps / steps) + 1}));
    Rank best = roots.front();
    auto shortest = std::numeric_limits<std::int64_t>::max();
    for (const Rank root : roots) {
        set_levels(root, members);
        if (roots.size() == 1) return;
        const std::int64_t length = length_of_detours(part);
        if (length >= shortest) continue;
        shortest = length;
        best = root;
    }
    set_levels(best, members);
}

std::int64_t Detours::length_of_detours(int part) const {
    std::int64_t length = 0;
    for (const Link& link : parts_.dead())
        if (parts_.of(link.rank) == part)
            if (const auto path = around(link.rank, link.direction()))
                length += std::int64_t(path->size());
    return length;
}

// Laid from the lower rank, so that both ends mean the same one. Breadth first over ranks and
// phases: a route that has gone down may not go up.
std::optional<std::vector<Hop>> Detours::route(Rank from, Rank to) const {
    if (parts_.of(from) != parts_.of(to)) return std::nullopt;
    if (from > to) {
        const auto there = *route(to, from);
        std::vector<Hop> back;
        for (std::size_t i = there.size(); i-- > 0;)
            back.push_back({there[i].direction.opposite(), i > 0 ? there[i - 1].rank : to});
        return back;
    }
    struct Came {
        std::size_t before;
        Direction by;
    };
    constexpr auto nowhere = std::numeric_limits<std::size_t>::max();
    std::vector<Came> came(2 * level_.size(), Came{nowhere, {}});
    std::vector<std::size_t> found{state_of(from, false)};
    came[found.front()].before = found.front();
    std::size_t end = from == to ? found.front() : nowhere;
    for (std::size_t next = 0; next < found.size() && end == nowhere; ++next) {
        const std::size_t state = found[next];
        const auto rank = Rank(state / 2);
        const bool down = state % 2 != 0;
        for (const Hop& hop : parts_.steps(rank)) {
            const bool up = leads_up(rank, hop.rank);
            if (up && down) continue;
            const std::size_t there = state_of(hop.rank, !up);
            if (came[there].before != nowhere) continue;
            came[there] = {state, hop.direction};
            found.push_back(there);
            if (hop.rank == to && end == nowhere) end = there;
        }
    }
    std::vector<Hop> hops;
    for (std::size_t at = end; at != found.front(); at = came[at].before)
        hops.push_back({came[at].by, Rank(at / 2)});
    std::reverse(hops.begin(), hops.end());
    return hops;
}

}  // namespace torusmp::routing
