// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/hang_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "config/cable.h"
#include "config/geometry.h"
#include "core/settings.h"
#include "job/hang/summary.h"

namespace torusmp::torus_run {
namespace {

using std::chrono::milliseconds;

// Hosts report the state of every rank sooner; this limit is for hosts that are lost meanwhile.
constexpr std::chrono::seconds answer_timeout{15};
// Messages in flight look like a cycle of waiting ranks. So ranks must have been idle for this time
// before a deadlock is reported, and are asked again until they have.
constexpr double still = 0.5;  // seconds
constexpr milliseconds before_again{300};
constexpr int most_repeats = 8;

}  // namespace

void HangWatch::want(Why why) {
    const auto now = Clock::now();
    if (why == Why::overdue && quiet_until_ && now < *quiet_until_) return;
    if (round_ || again_) {
        // A user's question is always answered, even if ranks have already complained.
        if (round_ && why != Why::overdue) round_->why = why;
        if (again_ && why != Why::overdue) again_why_ = why;
        return;
    }
    begin(why, 0);
}

void HangWatch::begin(Why why, int repeats) {
    round_.emplace();
    round_->why = why;
    round_->repeats = repeats;
    round_->states.resize(std::size_t(job_.size()));
    round_->open.assign(std::size_t(job_.size()), true);
    round_->missing = std::size_t(job_.size());
    round_->ends = Clock::now() + answer_timeout;
    for (int rank = 0; rank < job_.size(); ++rank)
        if (auto state = known_(rank)) record(rank, std::move(*state));
    if (round_ && round_->missing != 0) ask_();
}

void HangWatch::record(int rank, job::RankState state) {
    if (!round_ || !round_->open[std::size_t(rank)]) return;
    round_->open[std::size_t(rank)] = false;
    round_->states[std::size_t(rank)] = std::move(state);
    --round_->missing;
}

bool HangWatch::heard(const RankEvent& event) {
    if (event.kind == RankEvent::Kind::seen) {
        if (event.number < 0 || event.number > std::int64_t(job::RankState::Kind::silent))
            return false;
        record(event.rank, {job::RankState::Kind(event.number), {}, event.text});
        return true;
    }
    auto waits = core::decode_waits(event.bytes, job_.size());
    if (!waits || waits->rank != event.rank) return false;
    if (event.number != 0) want(Why::overdue);
    record(event.rank, {job::RankState::Kind::answered, std::move(waits), {}});
    return true;
}

void HangWatch::lost(int rank) {
    record(rank, {job::RankState::Kind::ended, {}, {}});
}

std::optional<HangWatch::Clock::time_point> HangWatch::next_tick() const {
    if (again_) return again_;
    if (!round_) return std::nullopt;
    return round_->missing == 0 ? Clock::now() : round_->ends;
}

void HangWatch::tick(Clock::time_point now) {
    if (again_ && now >= *again_) {
        again_.reset();
        begin(again_why_, again_repeats_);
    }
    if (round_ && (round_->missing == 0 || now >= round_->ends)) finish();
}

void HangWatch::finish() {
    const Round round = std::move(*round_);
    round_.reset();
    const job::Summary summary = job::summarize(
        round.states, [this](int rank, int direction) { return name_of_cable(rank, direction); });
    if (summary.final && summary.least_seconds < still && round.repeats < most_repeats) {
        again_ = Clock::now() + before_again;
        again_why_ = round.why;
        again_repeats_ = round.repeats + 1;
        return;
    }
    if (round.why == Why::overdue) {
        const std::chrono::nanoseconds after = job_.settings[core::setting::watchdog];
        quiet_ = quiet_.count() == 0 ? after : 2 * quiet_;
        quiet_until_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(quiet_);
    }
    outputs_.print("torus-run: " + summary.text());
    if (!job_.reports.empty()) write_reports(round.states);
}

std::string HangWatch::name_of_cable(int rank, int direction) const {
    if (!node_torus(job_.settings)) return {};
    const routing::Torus ranks = rank_torus(job_.settings, job_.size());
    if (direction >= 2 * ranks.link_dimensions()) return {};
    const auto cable =
        config::cable_under(job_.settings, ranks, rank, routing::Direction::from_index(direction));
    return cable ? "the cable from " + config::describe_cable(job_.settings, *cable) : "";
}

void HangWatch::write_reports(const job::Snapshot& states) {
    std::error_code error;
    std::filesystem::create_directories(job_.reports, error);
    for (std::size_t rank = 0; rank < states.size() && !error; ++rank) {
        std::ofstream file(fmt::format("{}/rank.{}", job_.reports, rank));
        file << job::report_of(int(rank), states[rank], job_.size()) << "\n";
        file.close();
        if (!file) error = {errno, std::generic_category()};
    }
    if (error && !std::exchange(failed_to_write_, true))
        outputs_.print(
            fmt::format("torus-run: cannot write the reports of ranks to {} (--reports): "
                        "{}\n",
                        job_.reports, error.message()));
    else if (!error)
        outputs_.print(fmt::format("  reports of all ranks: {}/rank.*\n", job_.reports));
}

}  // namespace torusmp::torus_run
