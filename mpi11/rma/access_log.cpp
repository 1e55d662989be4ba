// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/rma/access_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "mpi11/comm/agreement.h"
#include "mpi11/rma/window.h"

namespace torusmp::mpi {
namespace {

// Beyond this, further accesses of an epoch are not kept.
constexpr std::size_t most_ranges = 4096;

}  // namespace

AccessLog::AccessLog(Window& window) : window_(window) {}

bool AccessLog::conflict(const Range& a, const Range& b) {
    if (a.target != b.target || a.begin >= b.end || b.begin >= a.end) return false;
    if (a.kind == Kind::get && b.kind == Kind::get) return false;
    return a.kind != Kind::accumulate || b.kind != Kind::accumulate;
}

void AccessLog::report(const char* call, const Range& first, const Range& second) {
    static constexpr const char* names[] = {"a get", "a put", "an accumulate"};
    if (std::exchange(reported_, true)) return;
    fmt::print(stderr,
               "{}: rank {}: {} of rank {} and {} of rank {} to bytes {} to {} of rank {} of {} "
               "conflict: expected a synchronization between them (further conflicts of this "
               "window are not reported)\n",
               call, hot.world->rank(), names[int(first.kind)], first.origin,
               names[int(second.kind)], second.origin, std::max(first.begin, second.begin),
               std::min(first.end, second.end), first.target, window_.comm->describe());
}

void AccessLog::note(const char* call, core::rma::Action action, int target,
                     const core::rma::Place& place) {
    using core::rma::Action;
    Range range{0, 0, target, window_.core.self, Kind::accumulate};
    if (action == Action::put) range.kind = Kind::put;
    if (action == Action::get) range.kind = Kind::get;
    const std::lock_guard lock(mutex_);
    const std::size_t before = ranges_.size();
    for (std::size_t from = 0; from < place.bytes && ranges_.size() < most_ranges;) {
        core::Layout::Piece piece{std::ptrdiff_t(from), place.bytes - from};
        if (place.layout != nullptr) place.layout->pieces(from, place.bytes - from, {&piece, 1});
        range.begin = place.at + std::uint64_t(piece.offset);
        range.end = range.begin + piece.bytes;
        for (std::size_t i = 0; i < before; ++i)
            if (conflict(ranges_[i], range)) report(call, ranges_[i], range);
        ranges_.push_back(range);
        from += piece.bytes;
    }
}

void AccessLog::clear(int target) {
    const std::lock_guard lock(mutex_);
    std::erase_if(ranges_,
                  [&](const Range& range) { return target < 0 || range.target == target; });
}

void AccessLog::compare_all(const char* call) {
    Communicator& comm = *window_.comm;
    std::vector<std::size_t> counts(std::size_t(comm.size()));
    counts[std::size_t(comm.rank())] = ranges_.size();
    gather_all(comm, counts.data(), sizeof counts[0], call);
    const std::size_t most = *std::max_element(counts.begin(), counts.end());
    std::vector<Range> all(most * counts.size());
    std::copy(ranges_.begin(), ranges_.end(), all.begin() + std::ptrdiff_t(most) * comm.rank());
    if (most != 0) gather_all(comm, all.data(), most * sizeof(Range), call);
    clear(-1);
    std::vector<Range> here;
    for (std::size_t origin = 0; origin < counts.size(); ++origin)
        for (std::size_t i = 0; i < counts[origin]; ++i)
            if (all[origin * most + i].target == comm.rank())
                here.push_back(all[origin * most + i]);
    std::sort(here.begin(), here.end(),
              [](const Range& a, const Range& b) { return a.begin < b.begin; });
    for (std::size_t i = 0; i < here.size(); ++i)
        for (std::size_t k = i + 1; k < here.size() && here[k].begin < here[i].end; ++k)
            if (here[i].origin != here[k].origin && conflict(here[i], here[k]))
                return report(call, here[i], here[k]);
}

}  // namespace torusmp::mpi
