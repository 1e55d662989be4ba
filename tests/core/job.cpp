// SPDX-License-Identifier: BSD-3-Clause
#include "job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "core/settings.h"

namespace torusmp::core::testing {

namespace {

constexpr sim::Time slowest{2'000'000};

}  // namespace

JobOptions tight_torus(std::vector<int> dims, std::uint64_t seed) {
    JobOptions options;
    options.dims = std::move(dims);
    options.seed = seed;
    options.eager_limit = 512;
    options.credits = options.relay_credits = 2;
    return options;
}

JobOptions detour_torus(std::vector<int> dims, std::uint64_t seed) {
    JobOptions options = tight_torus(std::move(dims), seed);
    options.detour = true;
    options.world.read = sim::Remote::refused;
    options.world.notifies = true;
    return options;
}

Options Job::options_of(const JobOptions& options, Rank rank) {
    Options mine{.torus = torus_, .rank = rank, .direct = {}, .log = {}, .name_of = {}};
    for (Rank near = 0; near < torus_.size(); ++near)
        if (options.direct ||
            (options.per_host > 1 && near / options.per_host == rank / options.per_host))
            mine.direct.push_back(near);
    mine.eager_limit = options.eager_limit;
    mine.store_limit = options.eager_limit / 4;
    mine.spread_limit = options.spread_limit != 0 ? options.spread_limit : 3 * options.eager_limit;
    mine.set(setting::unexpected, options.unexpected_limit);
    mine.credits = options.credits;
    mine.relay_credits = options.relay_credits;
    mine.shortcuts = options.shortcuts;
    mine.shortcut_after = options.shortcut_after;
    mine.detour = options.detour;
    mine.shares_cores = options.shares_cores;
    mine.tolerates_deaths = options.tolerates_deaths;
    mine.hold_down = options.hold_down;
    mine.dead_links = options.dead_links;
    mine.page = pages_.emplace_back(std::make_unique<ControlPage>()).get();
    mine.set(setting::watchdog, std::chrono::nanoseconds(0));
    mine.log = [this, rank](std::string_view text) {
        log_.push_back(fmt::format("{}: {}", rank, text));
    };
    if (options.log_link)
        mine.log_link = [log = options.log_link, rank](const routing::LinkNews& news) {
            log(rank, news);
        };
    return mine;
}

simulated::Plan Job::plan_of(const JobOptions& options) {
    simulated::Plan plan{.torus = torus_,
                         .world = options.world,
                         .options = [&](Rank rank) { return options_of(options, rank); },
                         .link_transports = options.link_transports,
                         .joint_links = options.joint_links,
                         .allocatable = options.allocatable};
    plan.world.seed = options.seed;
    return plan;
}

Job::Job(const JobOptions& options)
    : direct_(options.direct || options.per_host > 1),
      tolerates_deaths_(options.tolerates_deaths),
      torus_(torus_of(options)),
      random_(options.seed * 2 + 1),
      ranks_(plan_of(options)) {
    auto addresses = ranks_.addresses();
    if (options.misnamed) {
        auto& address = addresses[std::size_t(*options.misnamed)];
        address[address.size() - options.misnamed_at] ^= std::byte{0xff};
    }
    for (const routing::Link& link : options.cut) {
        const auto out = std::uint32_t(link.direction().index());
        const auto in = std::uint32_t(link.direction().opposite().index());
        world().cut(interface(link.rank, out), out,
                    interface(routing::far_end(torus_, link), in).index(), in);
    }
    ranks_.connect(addresses);
    const auto ranks = std::size_t(torus_.size());
    alive_.assign(ranks, true);
    stopped_.assign(ranks, false);
    is_ready_.assign(ranks, false);
}

void Job::make_ready(std::size_t index) {
    if (is_ready_[index] || !alive_[index] || stopped_[index]) return;
    is_ready_[index] = true;
    ready_.push_back(index);
}

bool Job::turn() {
    if (!unreported_.empty() && random_.below(20) == 0 && report_death()) return true;
    if (ready_.empty()) {
        // Several events at a time, so that a poll sometimes finds more than one.
        const auto events = 1 + random_.below(8);
        for (std::uint64_t i = 0; i < events; ++i) {
            // No rank is so slow that what all wait for arrives first.
            if (!ready_.empty() && world().next_event() > world().now() + slowest) break;
            const auto index = world().step();
            if (!index) break;
            make_ready(std::size_t(ranks_.owner(*index)));
        }
        if (ready_.empty()) return sweep();
    }
    const std::size_t pick = std::size_t(random_.below(ready_.size()));
    const std::size_t index = ready_[pick];
    ready_[pick] = ready_.back();
    ready_.pop_back();
    is_ready_[index] = false;
    if (alive_[index] && !stopped_[index] && (*this)[Rank(index)].progress()) make_ready(index);
    return true;
}

// When no event is left, ranks can still move packets by themselves. A packet in shared memory is
// not an event and does not end a task, so all ranks look twice.
bool Job::sweep() {
    constexpr int looks = 2;
    bool moved = false;
    for (std::size_t i = 0; i < looks * alive_.size() && (!moved || i % alive_.size() != 0); ++i) {
        const std::size_t rank = i % alive_.size();
        if (alive_[rank] && !stopped_[rank] && (*this)[Rank(rank)].progress()) {
            make_ready(rank);
            moved = true;
        }
    }
    return moved || !world().idle() || report_death();
}

void Job::kill(Rank rank) {
    if (!alive(rank)) return;
    alive_[std::size_t(rank)] = false;
    ranks_.each_interface(rank, [&](sim::Interface& it) { world().kill(it); });
    if (tolerates_deaths_)
        for (Rank other = 0; other < size(); ++other) unreported_.push_back({rank, other});
    if (!direct_ || tolerates_deaths_) return;
    // A rank without a connection to the dead one hears of it from the launcher, which is us.
    for (Rank other = 0; other < size(); ++other)
        if (alive(other)) (*this)[other].peer_died(rank, "the launcher says so");
}

// One of the launcher's reports reaches a rank.
bool Job::report_death() {
    while (!unreported_.empty()) {
        std::swap(unreported_[std::size_t(random_.below(unreported_.size()))], unreported_.back());
        const Death death = unreported_.back();
        unreported_.pop_back();
        if (!alive(death.to)) continue;
        (*this)[death.to].peer_died(death.rank, "the launcher says so");
        make_ready(std::size_t(death.to));
        return true;
    }
    return false;
}

void Job::go_on(Rank rank) {
    stopped_[std::size_t(rank)] = false;
    make_ready(std::size_t(rank));
}

void Job::capture(Rank rank) {
    alive_[std::size_t(rank)] = false;
    ranks_.each_interface(rank, [&](sim::Interface& it) { world().swallow(it); });
}

void Job::end_captured(Rank rank) {
    ranks_.each_interface(rank, [&](sim::Interface& it) { world().kill(it); });
}

void Job::kill_link(Rank rank, routing::Direction direction) {
    const auto port = std::uint32_t(direction.index());
    world().kill_link(interface(rank, port), port);
}

bool Job::cut_link(Rank rank, routing::Direction direction) {
    const auto port = std::uint32_t(direction.index());
    sim::Interface& at = interface(rank, port);
    if (!world().is_up(at, port)) return false;
    world().kill_link(at, port);
    return true;
}

void Job::revive_link(Rank rank, routing::Direction direction) {
    const auto port = std::uint32_t(direction.index());
    world().revive_link(interface(rank, port), port);
}

bool Job::cut_shortcut(Rank rank, Rank peer) {
    const std::uint32_t port = direct_port_base + std::uint32_t(peer);
    sim::Interface& at = interface(rank, port);
    if (!world().is_up(at, port)) return false;
    world().kill_link(at, port);
    return true;
}

void Job::revive_shortcut(Rank rank, Rank peer) {
    const std::uint32_t port = direct_port_base + std::uint32_t(peer);
    world().revive_link(interface(rank, port), port);
}

bool Job::has_logged(std::string_view text) const {
    return std::any_of(log_.begin(), log_.end(), [&](const std::string& line) {
        return line.find(text) != std::string::npos;
    });
}

std::string Job::report() const {
    std::string text = "world: " + ranks_.world().describe();
    int shown = 0;
    for (std::size_t i = 0; i < alive_.size(); ++i) {
        if (!alive_[i] || ranks_[Rank(i)].state().quiet()) continue;
        if (++shown > 12) {
            text += "and more\n";
            break;
        }
        text += fmt::format("rank {}: {}\n", i, ranks_[Rank(i)].state().report());
    }
    for (const std::string& line : log_) text += "log " + line + "\n";
    return text;
}

bool Job::quiet() const {
    for (std::size_t i = 0; i < alive_.size(); ++i)
        if (alive_[i] && !ranks_[Rank(i)].state().quiet()) return false;
    return true;
}

bool Job::credits_home() const {
    for (std::size_t i = 0; i < alive_.size(); ++i)
        if (alive_[i] && !ranks_[Rank(i)].state().credits_home()) return false;
    return true;
}

bool Job::on_cables() const {
    for (std::size_t i = 0; i < alive_.size(); ++i)
        if (alive_[i] && !ranks_[Rank(i)].state().on_cables()) return false;
    return true;
}

namespace {

std::uint64_t word_at(std::uint64_t seed, std::size_t index) {
    return (seed + index) * 0x9e3779b97f4a7c15u ^ seed << 17;
}

}  // namespace

void fill(std::byte* data, std::size_t bytes, std::uint64_t seed) {
    for (std::size_t at = 0; at < bytes; at += 8) {
        const std::uint64_t word = word_at(seed, at / 8);
        std::memcpy(data + at, &word, std::min<std::size_t>(8, bytes - at));
    }
}

bool filled(const std::byte* data, std::size_t bytes, std::uint64_t seed) {
    for (std::size_t at = 0; at < bytes; at += 8) {
        const std::uint64_t word = word_at(seed, at / 8);
        if (std::memcmp(data + at, &word, std::min<std::size_t>(8, bytes - at)) != 0) return false;
    }
    return true;
}

}  // namespace torusmp::core::testing
