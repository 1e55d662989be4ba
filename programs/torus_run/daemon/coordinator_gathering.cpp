// SPDX-License-Identifier: BSD-3-Clause
// The collective calls of ranks, and those that do not take part in them.
#include <fmt/format.h>

#include "programs/torus_run/daemon/coordinator.h"

namespace torusmp::torus_run {

void Coordinator::collective(RankEvent& event) {
    const Rank& rank = ranks_[std::size_t(event.rank)];
    if (rank.dead) return;
    std::optional<std::string> wrong;
    if (rank.finalized)
        wrong = "called a collective operation after it had left the job";
    else
        wrong = gathering_.join(event.rank, launch::FrameKind(event.call),
                                std::uint32_t(event.number), std::move(event.bytes));
    if (wrong)
        return fail({fmt::format("{} {}", describe(event.rank), *wrong), exit_failure, true, {}});
    answer_if_complete();
    check_absent();
}

// A rank that has left cannot join a collective call, so the ranks that wait for it would wait
// forever.
void Coordinator::check_absent() {
    if (!gathering_.open()) return;
    for (int i = 0; i < job_.size(); ++i) {
        const Rank& rank = ranks_[std::size_t(i)];
        if (gathering_.joined(i) || rank.dead || may_come(i)) continue;
        return fail({fmt::format("{} {} while {}", describe(i),
                                 rank.finalized ? "has left the job" : "ended without connecting",
                                 gathering_.describe_waiting()),
                     exit_failure,
                     false,
                     {}});
    }
}

// A rank that has left the job joins it again or ends; then another process joins in its place.
bool Coordinator::may_come(int index) {
    const Rank& rank = ranks_[std::size_t(index)];
    if (!rank.finalized) return rank.alive;
    if (!joins_again_ || !gathering_.exchanges()) return false;
    if (!rank.alive) replace(index);
    return true;
}

void Coordinator::replace(int index) {
    Rank& rank = ranks_[std::size_t(index)];
    rank.alive = true;
    rank.connected = rank.finalized = false;
    ++alive_;
    hosts_.stand_in(rank.node, index, gathering_.sequence());
}

void Coordinator::resume() {
    held_ = false;
    answer_if_complete();
}

void Coordinator::answer_if_complete() {
    if (held_ || !gathering_.complete()) return;
    Gathering::Answer answer = gathering_.finish();
    hosts_.answer(answer.header, std::move(answer.bytes));
}

}  // namespace torusmp::torus_run
