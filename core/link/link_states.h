// SPDX-License-Identifier: BSD-3-Clause
// The states of the torus's links as a rank knows them: for each link a version, which only grows.
// The version is 0 for a link that was never dead. A death adds one, and a return raises it to the
// next multiple of 1024. In between, one more means that there is no hope for now, because the
// transport has looked and found no cable; one more that this still holds now that it separates
// ranks; and one more that there is hope again, because there is a cable, or because deaths have
// just parted the link's ends, which look anew. Ranks exchange versions, and the higher one wins,
// so all ranks that can communicate arrive at the same state, in whatever order the news arrives.
// digest() identifies the set of dead links and their deaths: ranks with the same digest compute
// the same detours, and no digest ever recurs.
//
// Pure: no I/O. Used under the Runtime's lock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "routing/detours.h"

namespace torusmp::core {

class LinkStates {
  public:
    using Versions = std::map<routing::Link, std::uint32_t>;
    static constexpr std::uint32_t lives = 1024;  // versions from one return to the next

    explicit LinkStates(const routing::Torus& torus) : torus_(torus) {}

    std::uint32_t version(const routing::Link& link) const {
        const auto found = versions_.find(link);
        return found == versions_.end() ? 0 : found->second;
    }
    bool dead(const routing::Link& link) const { return is_dead(version(link)); }
    static constexpr bool is_dead(std::uint32_t version) { return version % lives != 0; }
    static constexpr bool is_hopeless(std::uint32_t version) { return try_of(version) != 0; }
    static constexpr bool is_given_up(std::uint32_t version) { return try_of(version) == 2; }
    // The version that follows when the link dies, when there is no hope for it, when ranks have
    // lost each other because of it, and when it is back.
    static constexpr std::uint32_t died(std::uint32_t version) {
        return is_dead(version) ? version : version + 1;
    }
    static constexpr std::uint32_t without_hope(std::uint32_t version) {
        return version + (is_hopeless(version) ? 0 : is_dead(version) ? 1 : 2);
    }
    static constexpr std::uint32_t given_up(std::uint32_t version) {
        return version + (try_of(version) == 1 ? 1 : 0);
    }
    static constexpr std::uint32_t back(std::uint32_t version) {
        return (version / lives + 1) * lives;
    }
    // A life has a third of its versions for hopes; afterwards nothing is said of them.
    static constexpr std::uint32_t with_hope(std::uint32_t version) {
        const std::uint32_t next = version + (is_hopeless(version) ? 3 - try_of(version) : 0);
        return next / lives == version / lives ? next : version;
    }
    // The version reduced to the link's current life, regardless of hope.
    static constexpr std::uint32_t life(std::uint32_t version) {
        return is_dead(version) ? version / lives * lives + 1 : version;
    }
    // Versions of the links that have been dead at least once.
    const Versions& versions() const { return versions_; }
    std::uint64_t changes() const { return changes_; }  // how many changes update() has made
    std::uint64_t digest() const { return digest_; }

    // Returns true if that was new.
    bool update(const routing::Link& link, std::uint32_t version);

    // The detours in the present state; computed on first use.
    const routing::Detours& detours() const;
    // The parts of the torus with all links for which there is hope, as far as this rank knows.
    const routing::Parts& hopes() const;
    // The parts of the torus with all links but those given up: ranks in different parts have lost
    // each other.
    const routing::Parts& rest() const;

    // Where the frames of a dead link pass this rank.
    struct Crossing {
        // The link by which they arrive; nullopt at the detour's start.
        std::optional<routing::Direction> in;
        // The link by which they continue; nullopt at its end.
        std::optional<routing::Direction> out;
    };
    // The crossing of frames that start at `source` instead of leaving it by `direction`; nullopt
    // if they do not pass `here`.
    std::optional<Crossing> crossing(routing::Rank here, routing::Rank source,
                                     routing::Direction direction) const;

  private:
    // The state of a dead link: 0 with hope, 1 without, 2 when given up. Links that live have 0.
    static constexpr std::uint32_t try_of(std::uint32_t version) {
        return is_dead(version) ? (version % lives - 1) % 3 : 0;
    }
    std::vector<routing::Link> links_that(bool (*are)(std::uint32_t version)) const;

    const routing::Torus& torus_;
    Versions versions_;
    std::uint64_t digest_ = 0;
    std::uint64_t changes_ = 0;
    mutable std::optional<routing::Detours> detours_;
    mutable std::optional<routing::Parts> hopes_, rest_;
    mutable std::map<std::pair<routing::Rank, int>, std::vector<routing::Hop>> paths_;
};

}  // namespace torusmp::core
