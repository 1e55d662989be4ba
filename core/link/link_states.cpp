// SPDX-License-Identifier: BSD-3-Clause
#include "core/link/link_states.h"

#include "base/assert.h"

namespace torusmp::core {

using routing::Direction;
using routing::Hop;
using routing::Link;
using routing::Rank;

namespace {

constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// A link's contribution to the digest; none while it was never dead.
std::uint64_t part_of_digest(const Link& link, std::uint32_t version) {
    if (version == 0) return 0;
    version = LinkStates::life(version);
    const std::uint64_t which =
        std::uint64_t(std::uint32_t(link.rank)) << 8 | unsigned(link.dimension);
    return mix(mix(which + 0x9e3779b97f4a7c15u) + version);
}

}  // namespace

bool LinkStates::update(const Link& link, std::uint32_t version) {
    const std::uint32_t known = this->version(link);
    if (version <= known) return false;
    digest_ += part_of_digest(link, version) - part_of_digest(link, known);
    TORUSMP_ASSERT(version > known && version != 0, link.rank, link.dimension, version, known);
    versions_[link] = version;
    ++changes_;
    hopes_.reset();
    rest_.reset();
    if (life(version) == life(known)) return true;
    detours_.reset();
    paths_.clear();
    return true;
}

const routing::Detours& LinkStates::detours() const {
    if (!detours_) detours_.emplace(torus_, links_that(is_dead));
    return *detours_;
}

const routing::Parts& LinkStates::hopes() const {
    if (!hopes_) hopes_.emplace(torus_, links_that(is_hopeless));
    return *hopes_;
}

const routing::Parts& LinkStates::rest() const {
    if (!rest_) rest_.emplace(torus_, links_that(is_given_up));
    return *rest_;
}

std::vector<Link> LinkStates::links_that(bool (*are)(std::uint32_t version)) const {
    std::vector<Link> links;
    for (const auto& [link, version] : versions_)
        if (are(version)) links.push_back(link);
    return links;
}

std::optional<LinkStates::Crossing> LinkStates::crossing(Rank here, Rank source,
                                                         Direction direction) const {
    if (!torus_.neighbour(source, direction) || !dead(routing::link_by(torus_, source, direction)))
        return std::nullopt;
    const auto [known, fresh] = paths_.try_emplace({source, direction.index()});
    std::vector<Hop>& path = known->second;
    if (fresh)
        if (auto found = detours().around(source, direction)) path = std::move(*found);
    if (path.empty()) return std::nullopt;
    Crossing crossing;
    if (source == here) {
        crossing.out = path.front().direction;
        return crossing;
    }
    for (std::size_t i = 0; i < path.size(); ++i) {
        if (path[i].rank != here) continue;
        crossing.in = path[i].direction.opposite();
        if (i + 1 < path.size()) crossing.out = path[i + 1].direction;
        return crossing;
    }
    return std::nullopt;
}

}  // namespace torusmp::core
