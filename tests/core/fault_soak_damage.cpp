// SPDX-License-Identifier: BSD-3-Clause
#include "fault_soak_damage.h"

#include <algorithm>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>

#include "routing/ways.h"

namespace torusmp::core::testing::fault_soak {

using transport::PacketHeader;

namespace {

// Ports of direct connections, as core numbers them: behind the links of all directions.
constexpr std::uint32_t direct_ports = 2 * routing::max_dimensions;

}  // namespace

Damage::Damage(Scene& scene)
    : scene_(scene),
      dead_(std::size_t(scene.job->size()), false),
      captured_(std::size_t(scene.job->size()), false) {}

std::optional<Rank> Damage::some_rank() {
    // At least one host must be left to judge.
    if (std::count(dead_.begin(), dead_.end(), false) <= 2) return std::nullopt;
    for (int tries = 0; tries < 100; ++tries) {
        const Rank rank = Rank(scene_.random.below(std::uint64_t(scene_.job->size())));
        if (!dead_[std::size_t(rank)]) return rank;
    }
    return std::nullopt;
}

bool Damage::kill_rank() {
    const auto victim = some_rank();
    if (!victim) return false;
    dead_[std::size_t(*victim)] = true;
    scene_.job->kill(*victim);
    scene_.result.scene += fmt::format("; {} killed", name(*victim));
    return true;
}

bool Damage::capture_rank() {
    const auto victim = some_rank();
    if (!victim) return false;
    dead_[std::size_t(*victim)] = captured_[std::size_t(*victim)] = true;
    scene_.job->capture(*victim);
    scene_.result.scene += fmt::format("; {} captured", name(*victim));
    return true;
}

bool Damage::connected(Rank from, Rank to) {
    if (from == to || !scene_.job->alive(to)) return false;
    const auto all = (*scene_.job)[from].state().connections();
    return std::any_of(all.begin(), all.end(),
                       [&](const auto& c) { return c.peer == to && !c.down; });
}

bool Damage::cut_link() {
    for (int tries = 0; tries < 40; ++tries) {
        const Rank rank = Rank(scene_.random.below(std::uint64_t(scene_.job->size())));
        if (dead_[std::size_t(rank)]) continue;
        try {
            if (scene_.direct) {
                const Rank other = Rank(scene_.random.below(std::uint64_t(scene_.job->size())));
                // A connection that only one end has opened does not count: the other end would
                // never learn of its death.
                if (!connected(rank, other) || !connected(other, rank)) continue;
                const auto port = direct_ports + std::uint32_t(other);
                scene_.job->world().kill_link(scene_.job->interface(rank, port), port);
                dead_pairs_.emplace_back(rank, other);
                scene_.result.scene += fmt::format("; connection {}-{} cut", rank, other);
                return true;
            }
            const auto direction = routing::Direction::from_index(
                int(scene_.random.below(std::uint64_t(2 * scene_.job->torus().dimensions()))));
            const auto other = scene_.job->torus().neighbour(rank, direction);
            if (!other) continue;
            scene_.job->kill_link(rank, direction);
            dead_links_.push_back({rank, direction});
            dead_links_.push_back({*other, direction.opposite()});
            scene_.result.scene += fmt::format("; link {}{}{} to {} cut", rank, direction.dimension,
                                               direction.sign > 0 ? '+' : '-', *other);
            return true;
        } catch (const std::invalid_argument&) {
            continue;  // dead already, or never opened
        }
    }
    return false;
}

bool Damage::slow_link() {
    for (int tries = 0; tries < 40; ++tries) {
        const Rank rank = Rank(scene_.random.below(std::uint64_t(scene_.job->size())));
        const auto ports = scene_.direct ? std::uint64_t(scene_.job->size())
                                         : std::uint64_t(2 * scene_.job->torus().dimensions());
        const auto port =
            std::uint32_t(scene_.random.below(ports)) + (scene_.direct ? direct_ports : 0);
        try {
            const sim::Time low(scene_.random.between(10'000, 1'000'000));
            scene_.job->world().set_delay(scene_.job->interface(rank, port), port,
                                          {low, 2 * low, 0.0, {}});
            scene_.result.scene += fmt::format("; port {} of {} slowed", port, name(rank));
            return true;
        } catch (const std::invalid_argument&) {
            continue;
        }
    }
    return false;
}

void Damage::strike() {
    const Fault fault = Fault(scene_.random.below(fault_kinds));
    bool done = false;
    switch (fault) {
        case Fault::rank_killed:
            done = kill_rank();
            break;
        case Fault::rank_captured:
            done = capture_rank();
            break;
        case Fault::link_cut:
            done = cut_link();
            break;
        case Fault::link_slowed:
            done = slow_link();
            break;
    }
    if (!done) return;
    ++scene_.result.faults[std::size_t(fault)];
    last_fault_ = scene_.job->world().now();
}

// A packet that a captured rank may send to a neighbour. Anything is allowed except three lies that
// are known to be believed: that a link between others is dead, a packet in the name of a rank
// whose packets to there do not pass it, and a wrong virtual channel in a packet that goes
// on to others.
bool Damage::forge(PacketHeader& header, Rank enemy, Rank at, std::uint32_t port) {
    const auto ranks = std::uint64_t(scene_.job->size());
    const auto rank_or_nonsense = [&](Rank usual) {
        const auto kind = scene_.random.below(20);
        return std::uint32_t(kind == 0  ? scene_.random.next()
                             : kind < 4 ? scene_.random.below(ranks)
                                        : std::uint64_t(usual));
    };
    header.kind = std::uint8_t(scene_.random.below(20) == 0
                                   ? scene_.random.next()
                                   : scene_.random.below(std::uint64_t(PacketKind::last_kind) + 1));
    header.source = rank_or_nonsense(enemy);
    header.destination = rank_or_nonsense(at);
    header.virtual_channel =
        std::uint8_t(scene_.random.below(10) == 0 ? scene_.random.below(9) : 0);
    header.grants = scene_.random.below(15) == 0   ? scene_.random.next()
                    : scene_.random.below(40) == 0 ? 1
                                                   : 0;
    header.hops = std::uint8_t(scene_.random.below(4));
    header.context = std::uint32_t(scene_.random.below(4));
    header.tag = Tag(scene_.random.below(3));
    header.sequence =
        std::uint32_t(scene_.random.below(8) == 0 ? scene_.random.next() : scene_.random.below(12));
    if (scene_.direct || header.destination == std::uint32_t(at) || header.source >= ranks ||
        header.destination >= ranks)
        return true;
    // On its way to another rank.
    const auto into = routing::Direction::from_index(int(port)).opposite();
    Rank here = Rank(header.source);
    int dimension = -1;
    int turns = -1;
    for (const auto& hop :
         routing::usual_path(scene_.job->torus(), here, Rank(header.destination))) {
        if (std::exchange(dimension, hop.direction.dimension) != hop.direction.dimension) ++turns;
        header.virtual_channel = std::uint8_t(turns);
        if (here == enemy && hop.rank == at && hop.direction == into) return true;
        here = hop.rank;
    }
    return false;
}

void Damage::attack() {
    for (Rank enemy = 0; enemy < scene_.job->size(); ++enemy) {
        if (!captured_[std::size_t(enemy)] || scene_.random.below(6) != 0) continue;
        const Rank at = Rank(scene_.random.below(std::uint64_t(scene_.job->size())));
        std::uint32_t port = direct_ports + std::uint32_t(enemy);
        if (!scene_.direct) {
            port = std::uint32_t(
                scene_.random.below(std::uint64_t(2 * scene_.job->torus().dimensions())));
            const auto direction = routing::Direction::from_index(int(port));
            if (scene_.job->torus().neighbour(at, direction) != enemy) continue;
        }
        PacketHeader header{};
        if (dead_[std::size_t(at)] || !forge(header, enemy, at, port)) continue;
        std::vector<std::uint32_t> words(std::size_t(
            scene_.random.below(4) == 0 ? scene_.random.below(60) : 2 * scene_.random.below(13)));
        for (std::uint32_t& word : words) {
            const auto kind = scene_.random.below(5);
            word = kind == 0 ? std::uint32_t(scene_.random.next())
                   : kind == 1
                       ? std::uint32_t(scene_.random.below(4) | (1 + scene_.random.below(3)) << 20)
                   : kind == 2 ? std::uint32_t(scene_.random.below(2000))
                               : std::uint32_t(scene_.random.below(3));
        }
        if (PacketKind(header.kind) == PacketKind::link_dead) {
            words.assign({std::uint32_t(enemy), std::uint32_t(scene_.random.below(8))});
        }
        try {
            scene_.job->world().inject(scene_.job->interface(at, port), port, header,
                                       std::as_bytes(std::span(words)));
            ++scene_.result.hostile_packets;
        } catch (const std::invalid_argument&) {
            continue;  // that link is gone
        }
    }
}

void Damage::end_captured() {
    for (Rank rank = 0; rank < scene_.job->size(); ++rank) {
        if (!captured_[std::size_t(rank)]) continue;
        scene_.job->end_captured(rank);
        last_fault_ = scene_.job->world().now();
        if (!scene_.direct) continue;
        for (Rank other = 0; other < scene_.job->size(); ++other)
            if (scene_.job->alive(other))
                (*scene_.job)[other].peer_died(rank, "it does not answer");
    }
}

// Large messages take every shortest path, so each of them counts.
bool Damage::crosses_fault(Rank from, Rank to) const {
    for (const auto first : routing::first_directions(scene_.job->torus(), from, to)) {
        Rank here = from;
        for (const auto& hop : routing::path_by(scene_.job->torus(), from, to, first)) {
            for (const DeadLink& link : dead_links_)
                if (link.at == here && link.direction == hop.direction) return true;
            here = hop.rank;
            if (dead_[std::size_t(here)]) return true;
        }
    }
    return false;
}

bool Damage::cut(Rank a, Rank b) const {
    if (dead_[std::size_t(a)] || dead_[std::size_t(b)]) return true;
    if (!scene_.direct) return crosses_fault(a, b) || crosses_fault(b, a);
    return std::any_of(dead_pairs_.begin(), dead_pairs_.end(), [&](const auto& pair) {
        return pair == std::pair(a, b) || pair == std::pair(b, a);
    });
}

bool Damage::hostile(Rank a, Rank b) const {
    if (captured_[std::size_t(a)] || captured_[std::size_t(b)]) return true;
    if (scene_.direct) return false;
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
        for (const auto first : routing::first_directions(scene_.job->torus(), from, to))
            for (const auto& hop : routing::path_by(scene_.job->torus(), from, to, first))
                if (captured_[std::size_t(hop.rank)]) return true;
    return false;
}

bool Damage::explains(std::string_view line) const {
    constexpr std::string_view words = "the link between rank ";
    const auto at = line.find(words);
    if (at == line.npos) return true;
    int a = -1;
    int b = -1;
    if (std::sscanf(std::string(line.substr(at + words.size())).c_str(), "%d and rank %d", &a,
                    &b) != 2 ||
        a < 0 || b < 0 || a >= scene_.job->size() || b >= scene_.job->size())
        return false;
    if (dead_[std::size_t(a)] || dead_[std::size_t(b)]) return true;
    for (const DeadLink& link : dead_links_)
        if (link.at == a && scene_.job->torus().neighbour(a, link.direction) == b) return true;
    return false;
}

}  // namespace torusmp::core::testing::fault_soak
