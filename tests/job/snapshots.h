// SPDX-License-Identifier: BSD-3-Clause
// Snapshots of jobs, made by hand.
#pragma once

#include <string>
#include <utility>

#include "job/hang/summary.h"

namespace torusmp::job {

inline constexpr core::Context world = 0, collectives = 1;

// The waits of one rank in a call.
inline Waits in_call(Rank rank, int ranks, const char* call, double seconds = 12) {
    Waits waits;
    waits.rank = rank;
    waits.ranks = ranks;
    waits.calls.push_back({call, seconds, false});
    Waits::Group& group = waits.group(world);
    group.name = "MPI_COMM_WORLD";
    group.messages = true;
    for (Rank member = 0; member < ranks; ++member) group.members.push_back(member);
    waits.group(collectives) = {collectives, "MPI_COMM_WORLD", false, -1, group.members};
    return waits;
}
inline RankState answered(Waits waits) {
    return {RankState::Kind::answered, std::move(waits), {}};
}
inline RankState receives(Rank rank, int ranks, Rank source, core::Tag tag) {
    Waits waits = in_call(rank, ranks, "MPI_Recv");
    waits.add(
        Waits::Operation{.call = 0, .peer = source, .context = world, .tag = tag, .bytes = 4});
    return answered(waits);
}
inline RankState sends(Rank rank, int ranks, Rank dest, std::uint64_t bytes = 1 << 20) {
    Waits waits = in_call(rank, ranks, "MPI_Send");
    waits.add(Waits::Operation{.kind = Waits::Operation::Kind::send,
                               .call = 0,
                               .peer = dest,
                               .context = world,
                               .tag = 0,
                               .bytes = bytes});
    return answered(waits);
}
inline RankState in_barrier(Rank rank, int ranks, core::Tag tag = 128,
                            const char* name = "barrier") {
    Waits waits =
        in_call(rank, ranks, name == std::string("barrier") ? "MPI_Barrier" : "MPI_Bcast");
    waits.add(
        Waits::Collective{.name = name, .context = collectives, .tag = tag, .call = 0, .bytes = 0});
    waits.group(collectives).last = tag;
    return answered(waits);
}
inline RankState plain(RankState::Kind kind) {
    return {kind, {}, {}};
}
inline std::string first(const Snapshot& snapshot) {
    return summarize(snapshot).first;
}

}  // namespace torusmp::job
