// SPDX-License-Identifier: BSD-3-Clause
// Inter-communicators: creating one from two groups, and one communicator from its two groups
// (MPI-1.1, section 5.6).
#include <optional>

#include "mpi11/comm/agreement.h"
#include "mpi11/comm/creation.h"
#include "mpi11/error/check.h"
#include "mpi11/session/session.h"
#include "mpi11/spawn/joined.h"
#include "mpi11/spawn/leaders.h"

namespace torusmp::mpi {
namespace {

constexpr const char* create_call = "MPI_Intercomm_create";
constexpr const char* merge_call = "MPI_Intercomm_merge";

// Information that the leaders of both groups exchange and pass to their local groups.
struct Meeting {
    int code = MPI_SUCCESS;  // why the leader could not reach the other one
    bool apart = false;      // the leaders are in one job, but not all members: they have to join
    Context first = 0;
    std::uint64_t world = 0;  // number of the one of both groups; 0 for the local group's
    std::vector<Rank> remote;
};

// The leader's arguments, which are significant only there.
struct Peer {
    MPI_Comm comm;
    int leader;
    int tag;
};

void check_disjoint(const Communicator& local, const Members& remote) {
    for (int rank = 0; rank < local.size(); ++rank)
        if (remote.contains(local.members()[std::size_t(rank)]))
            fail(MPI_ERR_COMM,
                 "rank {} of {} is also in the remote group, expected groups without a common "
                 "member",
                 rank, local.describe());
}

// The machine ranks of a group in another job; nothing if not all of its members have joined that.
std::optional<std::vector<Rank>> members_there(const Communicator& local, const World& there) {
    const Roster& roster = *there.roster();
    std::vector<Rank> ranks =
        roster.translate(Members(local.members()), *local.world()->roster()).ranks();
    for (const Rank rank : ranks)
        if (rank >= roster.size()) return std::nullopt;
    return ranks;
}

// The way of the leader to the other one.
WayToLeader way_to(const Peer& peer) {
    const Communicator& between = checked<Communicator>(peer.comm);
    return {between.runtime(), between.context(Traffic::leaders), between.peer(peer.leader),
            peer.tag};
}

// Returns, on the leader, the contexts it claims, then the machine ranks of its group; empty if
// these are not all in the job of the peer communicator.
Meeting meet(Communicator& local, const Peer& peer) {
    const Communicator& between = checked<Communicator>(peer.comm);
    if (peer.leader < 0 || peer.leader >= between.remote_size())
        fail(MPI_ERR_RANK, "found remote leader {}, expected 0 to {} in {}", peer.leader,
             between.remote_size() - 1, between.describe());
    check_send_tag(peer.tag);
    const bool same = between.world() == local.world();
    core::Runtime& runtime = between.runtime();
    const Rank other = between.peer(peer.leader);
    if (other == runtime.rank())
        fail(MPI_ERR_RANK, "found remote leader {}, which is this process itself", peer.leader);
    Claim claim(between);
    const auto members = same ? local.members() : members_there(local, *between.world());
    std::vector<int> ours = members.value_or(std::vector<int>());
    if (members) ours.insert(ours.begin(), int(claim.first()));
    std::vector<int> theirs =
        swap_lists(runtime, between.context(Traffic::leaders), other, peer.tag, ours, create_call);
    Meeting meeting;
    meeting.apart = ours.empty() || theirs.empty();
    if (meeting.apart) return meeting;
    meeting.world = same ? 0 : between.world()->process().number();
    meeting.first = runtime.rank() < other ? claim.use() : Context(theirs.at(0));
    meeting.remote.assign(theirs.begin() + 1, theirs.end());
    return meeting;
}

// The leader also informs its group if it failed, so that no member waits forever.
Meeting meet_and_tell(Communicator& local, int leader, const Peer& peer) {
    Meeting meeting;
    std::exception_ptr refused;
    if (local.rank() == leader) {
        try {
            meeting = meet(local, peer);
        } catch (const Failure& failure) {
            meeting.code = failure.code();
            refused = std::current_exception();
        }
    }
    std::vector<int> list = meeting.remote;
    list.insert(list.begin(), {meeting.code, meeting.apart, int(meeting.first),
                               int(meeting.world >> 32), int(std::uint32_t(meeting.world))});
    broadcast_list(local, list, leader, create_call);
    if (refused) std::rethrow_exception(refused);
    if (list.at(0) != MPI_SUCCESS)
        fail(list[0], "the local leader, rank {}, could not connect to the remote leader", leader);
    const auto world = std::uint64_t(std::uint32_t(list.at(3))) << 32 | std::uint32_t(list.at(4));
    return {MPI_SUCCESS, list[1] != 0, Context(list[2]), world, {list.begin() + 5, list.end()}};
}

// In the job of processes that have joined.
Communicator& make_there(const Communicator& local, Meeting meeting) {
    const std::shared_ptr<World> there = joined_job(meeting.world);
    if (there == nullptr)
        fail(MPI_ERR_COMM, "this process has not joined the processes of the peer communicator");
    Communicator& made = make_inter(there, members_there(local, *there).value(),
                                    std::move(meeting.remote), meeting.first);
    made.error_handler = local.error_handler;
    made.session = local.session;
    return made;
}

Communicator& join_apart(Communicator& local, int leader, const Peer& peer) {
    std::optional<WayToLeader> way;
    if (local.rank() == leader) way.emplace(way_to(peer));
    return join_over_leaders(local, leader, way ? &*way : nullptr, create_call);
}

Communicator& merged(Communicator& inter, int high) {
    const bool first_word = ours_counts(inter);
    std::optional<Claim> claim;
    if (inter.rank() == 0 && first_word) claim.emplace(inter);
    const BothLists both =
        exchange_lists(inter, {high != 0 ? 1 : 0, claim ? int(claim->use()) : 0}, merge_call);
    const auto first = Context(first_word ? both.ours.at(1) : both.theirs.at(1));
    // If both groups pass the same value, both compute the same order.
    const bool ours_first =
        both.ours.at(0) != both.theirs.at(0) ? both.ours.at(0) == 0 : first_word;
    std::vector<Rank> members = ours_first ? inter.members() : inter.peers();
    const std::vector<Rank>& behind = ours_first ? inter.peers() : inter.members();
    members.insert(members.end(), behind.begin(), behind.end());
    return make_intra(inter, std::move(members), first);
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Intercomm_create = PMPI_Intercomm_create
int PMPI_Intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm,
                          int remote_leader, int tag, MPI_Comm* newintercomm) {
    return api_for_new(create_call, local_comm, "newintercomm", newintercomm, [&](Communicator& c) {
        if (c.inter())
            fail(MPI_ERR_COMM,
                 "local_comm is an inter-communicator, expected an "
                 "intra-communicator");
        if (local_leader < 0 || local_leader >= c.size())
            fail(MPI_ERR_RANK, "found local leader {}, expected 0 to {} in {}", local_leader,
                 c.size() - 1, c.describe());
        const Peer peer{peer_comm, remote_leader, tag};
        Meeting meeting = meet_and_tell(c, local_leader, peer);
        if (meeting.apart) return handle_of(join_apart(c, local_leader, peer));
        if (meeting.world != 0) return handle_of(make_there(c, std::move(meeting)));
        check_disjoint(c, Members(meeting.remote));
        return handle_of(make_inter(c, c.members(), std::move(meeting.remote), meeting.first));
    });
}

#pragma weak MPI_Intercomm_merge = PMPI_Intercomm_merge
int PMPI_Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm* newintracomm) {
    return api_for_new(merge_call, intercomm, "newintracomm", newintracomm, [&](Communicator& c) {
        if (!c.inter())
            fail(MPI_ERR_COMM, "found an intra-communicator, expected an inter-communicator");
        return handle_of(merged(c, high));
    });
}
}
