// SPDX-License-Identifier: BSD-3-Clause
// The parts of a collective access; its rounds are in rounds.cpp.
#include "io/collective_access.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>
#include <vector>

#include "io/access.h"

namespace torusmp::io {
namespace {

// A run in the lists of a member and of an aggregator, and in the layout that is made of it.
constexpr std::uint64_t memory_of_run = 448;
constexpr std::uint64_t mebibyte = std::uint64_t(1) << 20;

}  // namespace

CollectiveAccess::CollectiveAccess(collectives::Group& group, const Place& place)
    : Schedule(group), place_(place), opening_(group), closing_(group) {
    expect(Fit::at_most);
    nest(opening_, 1);
    nest(closing_, 2);
}

CollectiveAccess::~CollectiveAccess() = default;

void CollectiveAccess::start(const Call& call) {
    call_ = call;
    bytes_ = call.error == 0 ? call.buffer.bytes : 0;
    error_ = call.error;
    met_end_ = -1;
    result_ = {};
    const auto& all = place_.aggregators;
    const auto own = std::find(all.begin(), all.end(), group().member());
    own_index_ = own == all.end() ? -1 : int(own - all.begin());
    open();
    begin(call.write ? "file write" : "file read");
}

bool CollectiveAccess::move() {
    if (phase_ == Phase::opening) {
        if (!move_part(opening_)) return false;
        plan();
    }
    if (phase_ == Phase::direct) {
        access_directly();
        close();
    }
    if (phase_ == Phase::rounds) {
        if (!rounds()) return false;
        close();
    }
    if (phase_ == Phase::closing) {
        if (!move_part(closing_)) return false;
        conclude();
    }
    return true;
}

void CollectiveAccess::open() {
    openings_.resize(members());
    Opening& own = openings_[std::size_t(group().member())];
    own = {0,
           0,
           -1,
           call_.view.mean_block(),
           0,
           place_.store != nullptr ? 1U : 0U,
           call_.view.overlaps() ? 1U : 0U};
    if (own.block == 0) own.block = std::numeric_limits<std::uint64_t>::max();
    if (bytes_ != 0) {
        own.begin = call_.view.offset_of(call_.position);
        own.end = call_.view.offset_of(call_.position + Offset(bytes_) - 1) + 1;
        own.lists = memory_of_lists();
    }
    if (!call_.write && place_.store != nullptr) {
        own.size = place_.store->size();
        if (own.size < 0) note(int(-own.size));
    }
    opening_.start(openings_.data(), collectives::Blocks::even(sizeof(Opening)), nullptr);
    phase_ = Phase::opening;
}

// In a MiB of the file, where the runs of this member are densest in a few samples.
std::uint64_t CollectiveAccess::memory_of_lists() const {
    constexpr std::size_t samples = 4, stretches = 256;
    if (call_.view.dense() || call_.view.mean_block() > 64 * memory_of_run) return 0;
    std::uint64_t most = 0;
    for (std::size_t sample = 0; sample < samples; ++sample) {
        const std::size_t skipped = bytes_ / samples * sample;
        std::size_t visited = 0;
        Offset begin = 0, end = 0;
        Runs runs;
        call_.view.for_each(call_.position + Offset(skipped), bytes_ - skipped,
                            [&](Offset offset, std::size_t bytes) {
                                if (visited == 0) begin = offset;
                                end = offset + Offset(bytes);
                                runs.add(offset, Offset(bytes));
                                return ++visited < stretches;
                            });
        // A loop, and what it is cut off from.
        if (runs.list().size() <= 2) continue;
        most = std::max(most,
                        runs.list().size() * memory_of_run * mebibyte / std::uint64_t(end - begin));
    }
    return most;
}

// Whether this call does; all members find the same.
bool CollectiveAccess::through_aggregators() const {
    if (place_.aggregators.empty()) return false;  // each has moved its part in another way
    const bool all_reach = std::all_of(openings_.begin(), openings_.end(),
                                       [](const Opening& it) { return it.reaches != 0; });
    if (!all_reach) return true;
    const bool any_overlaps = std::any_of(openings_.begin(), openings_.end(),
                                          [](const Opening& it) { return it.overlaps != 0; });
    if (call_.atomic || any_overlaps) return false;
    const Choice choice =
        call_.write ? place_.hints.collective_write : place_.hints.collective_read;
    if (choice != Choice::automatic) return choice == Choice::yes;
    std::vector<const Opening*> sorted;
    std::uint64_t shortest = std::numeric_limits<std::uint64_t>::max();
    for (const Opening& it : openings_) {
        if (it.begin == it.end) continue;
        sorted.push_back(&it);
        shortest = std::min(shortest, it.block);
    }
    if (shortest >= place_.long_stretch) return false;
    std::sort(sorted.begin(), sorted.end(),
              [](const Opening* a, const Opening* b) { return a->begin < b->begin; });
    for (std::size_t i = 1; i < sorted.size(); ++i)
        if (sorted[i]->begin < sorted[i - 1]->end) return true;
    return false;
}

// Bytes of a window: it, what is packed of it, a bit for each byte, and the lists where most
// members have some, take twice what an aggregator may hold.
std::size_t CollectiveAccess::window() const {
    std::vector<std::pair<Offset, std::int64_t>> changes;
    for (const Opening& it : openings_) {
        if (it.begin >= it.end || it.lists == 0) continue;
        changes.emplace_back(it.begin, std::int64_t(it.lists));
        changes.emplace_back(it.end, -std::int64_t(it.lists));
    }
    std::sort(changes.begin(), changes.end());
    std::int64_t taken = 0, most = 0;
    for (const auto& change : changes) most = std::max(most, taken += change.second);
    const double share = 2 + 0.125 + double(most) / double(mebibyte);
    const std::size_t unit = place_.hints.striping_unit;
    const auto bytes = std::size_t(2 * double(place_.window) / share / double(lanes_));
    return std::max<std::size_t>(bytes >= unit ? bytes / unit * unit : bytes, 1);
}

void CollectiveAccess::plan() {
    Offset end = -1;
    for (const Opening& it : openings_) end = std::max(end, it.size);
    if (!call_.write && !call_.view.overlaps()) {
        const Offset known = call_.view.position_of(std::max<Offset>(end, 0)) - call_.position;
        bytes_ = std::min(bytes_, std::size_t(std::max<Offset>(known, 0)));
    }
    if (!through_aggregators()) {
        phase_ = Phase::direct;
        return;
    }
    Domains::Window all{std::numeric_limits<Offset>::max(), 0};
    for (Opening& it : openings_) {
        if (!call_.write) it.end = std::min(it.end, std::max<Offset>(end, 0));
        if (it.begin >= it.end) {
            it.begin = it.end = 0;
            continue;
        }
        all = {std::min(all.begin, it.begin), std::max(all.end, it.end)};
    }
    lanes_ = std::clamp<std::size_t>(
        std::size_t(std::max<Offset>(all.end - all.begin, 0)) / targets() / place_.shortest_lane, 1,
        std::clamp<std::size_t>(most_shares / members(), 1, std::size_t(place_.lanes)));
    domains_ =
        Domains(all.begin, all.end, int(targets() * lanes_), place_.hints.striping_unit, window());
    if (pieces_.size() != targets() * lanes_)
        pieces_ = std::vector<Piece>(targets() * lanes_);  // without the memory of other lanes
    for (Piece& piece : pieces_) {
        piece.round = 0;
        piece.waits = piece.posted = false;
    }
    own_lanes_.resize(own_index_ >= 0 ? lanes_ : 0);
    for (Lane& lane : own_lanes_) {
        lane.round = 0;
        lane.stage = Stage::ask;
        lane.transfer.reset();  // of a call that failed
        lane.shares.resize(members());
    }
    // A member's headers, lists and contents of each share; an aggregator's from each member, and
    // to it.
    use_requests(3 * pieces_.size() + lanes_ * members(), 3 * lanes_ * members() + pieces_.size());
    phase_ = Phase::rounds;
}

void CollectiveAccess::access_directly() {
    core::Buffer buffer = call_.buffer;
    buffer.bytes = bytes_;
    if (bytes_ == 0) return;
    const Opening& own = openings_[std::size_t(group().member())];
    const RangeLock lock(*place_.store, own.begin, call_.atomic ? own.end : own.begin,
                         !call_.write);
    if (lock.error() != 0) return note(lock.error());
    const Outcome outcome =
        call_.write ? write(*place_.store, call_.view, call_.position, buffer)
                    : read(*place_.store, call_.view, call_.position, buffer, place_.hints);
    if (outcome.error != 0) return note(outcome.error);
    bytes_ = outcome.bytes;
}

void CollectiveAccess::close() {
    closings_.resize(members());
    Closing& own = closings_[std::size_t(group().member())];
    own = {error_, 0, met_end_, {}};
    if (error_ != 0) gethostname(own.host, sizeof own.host - 1);
    closing_.start(closings_.data(), collectives::Blocks::even(sizeof(Closing)), nullptr);
    phase_ = Phase::closing;
}

void CollectiveAccess::conclude() {
    phase_ = Phase::over;
    Offset end = std::numeric_limits<Offset>::max();
    for (std::size_t i = 0; i < closings_.size(); ++i) {
        Closing& it = closings_[i];
        it.host[sizeof it.host - 1] = '\0';
        if (it.end >= 0) end = std::min(end, it.end);
        if (it.error == 0 || result_.error != 0) continue;
        result_.error = it.error;
        result_.member = int(i);
        result_.host = it.host;
    }
    result_.bytes = bytes_;
    if (end != std::numeric_limits<Offset>::max())
        result_.bytes = std::min(
            bytes_, std::size_t(std::max<Offset>(call_.view.position_of(end) - call_.position, 0)));
}

void CollectiveAccess::note(int error) {
    if (error_ == 0) error_ = error;
}

}  // namespace torusmp::io
