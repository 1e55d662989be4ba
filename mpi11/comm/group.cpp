// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/comm/group.h"

#include <vector>

#include "mpi11/error/check.h"

namespace torusmp::mpi {

MPI_Group make_group(std::shared_ptr<const Roster> roster, Members members,
                     Reference<Session> session) {
    if (members.size() == 0) return MPI_GROUP_EMPTY;
    return handle_of(make<ProcessGroup>(std::move(roster), std::move(members), std::move(session)));
}

Members members_in(const Communicator& comm, MPI_Group group) {
    const ProcessGroup& object = checked<ProcessGroup>(group);
    const auto& roster = comm.world()->roster();
    if (object.roster == roster || object.roster == nullptr) return object.members;
    return roster->translate(object.members, *object.roster);
}

void make_predefined_group() {
    make_predefined(make<ProcessGroup>(nullptr, Members(), Reference<Session>()), MPI_GROUP_EMPTY);
}

namespace {

// The members of a group as machine ranks of another's job.
Members members_in(const std::shared_ptr<const Roster>& roster, const ProcessGroup& group) {
    if (roster == group.roster || roster == nullptr || group.roster == nullptr)
        return group.members;
    return roster->translate(group.members, *group.roster);
}

const std::shared_ptr<const Roster>& roster_of(MPI_Group group) {
    return checked<ProcessGroup>(group).roster;
}

const Members& members_of(MPI_Group group) {
    return checked<ProcessGroup>(group).members;
}

const Reference<Session>& session_of(MPI_Group group) {
    return checked<ProcessGroup>(group).session;
}

void check_list(int n, const void* list, const char* name) {
    if (n < 0) fail(MPI_ERR_ARG, "found {} entries of {}, expected 0 or more", n, name);
    if (n > 0) check_output(name, list);
}

// Positions must be in the group and must not repeat.
void check_positions(const Members& group, std::span<const int> positions, int error_class) {
    std::vector<bool> seen(std::size_t(group.size()));
    for (std::size_t i = 0; i < positions.size(); ++i) {
        const int position = positions[i];
        if (position < 0 || position >= group.size())
            fail(error_class, "ranks[{}] is {}, expected 0 to {} in a group of {}", i, position,
                 group.size() - 1, group.size());
        if (seen[std::size_t(position)])
            fail(error_class, "rank {} is listed twice (expected once)", position);
        seen[std::size_t(position)] = true;
    }
}

std::vector<int> places_in(const Members& group, int n, int ranges[][3]) {
    check_list(n, ranges, "ranges");
    std::vector<int> positions;
    for (int i = 0; i < n; ++i) {
        const auto [first, last, stride] = std::array{ranges[i][0], ranges[i][1], ranges[i][2]};
        for (const int end : {first, last})
            if (end < 0 || end >= group.size())
                fail(MPI_ERR_ARG, "ranges[{}] names rank {}, expected 0 to {} in a group of {}", i,
                     end, group.size() - 1, group.size());
        if (stride == 0) fail(MPI_ERR_ARG, "ranges[{}] has stride 0, expected a nonzero stride", i);
        if (stride > 0 ? first > last : first < last)
            fail(MPI_ERR_ARG, "ranges[{}] does not lead from {} to {} with stride {}", i, first,
                 last, stride);
        for (const int position : positions_in_range(first, last, stride))
            positions.push_back(position);
    }
    check_positions(group, positions, MPI_ERR_ARG);
    return positions;
}

template <class Combine>
int combined(const char* call, MPI_Group group1, MPI_Group group2, MPI_Group* newgroup,
             Combine&& combine) {
    return api(call, [&] {
        const ProcessGroup& first = checked<ProcessGroup>(group1);
        const ProcessGroup& second = checked<ProcessGroup>(group2);
        check_output("newgroup", newgroup);
        const auto& roster = first.roster ? first.roster : second.roster;
        Members result = combine(first.members, members_in(roster, second));
        for (const Rank rank : result.ranks())
            if (rank >= roster->size())
                fail(MPI_ERR_GROUP,
                     "found members of jobs that have not joined each other: expected groups "
                     "whose members all belong to one job");
        *newgroup =
            make_group(roster, std::move(result), first.session ? first.session : second.session);
    });
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Group_size = PMPI_Group_size
int PMPI_Group_size(MPI_Group group, int* size) {
    return api("MPI_Group_size", [&] {
        const Members& members = members_of(group);
        check_output("size", size);
        *size = members.size();
    });
}

#pragma weak MPI_Group_rank = PMPI_Group_rank
int PMPI_Group_rank(MPI_Group group, int* rank) {
    return api("MPI_Group_rank", [&] {
        const Members& members = members_of(group);
        check_output("rank", rank);
        const auto& roster = roster_of(group);
        const int position = roster ? members.index_of(roster->self) : -1;
        *rank = position < 0 ? MPI_UNDEFINED : position;
    });
}

#pragma weak MPI_Group_translate_ranks = PMPI_Group_translate_ranks
int PMPI_Group_translate_ranks(MPI_Group group1, int n, const int ranks1[], MPI_Group group2,
                               int ranks2[]) {
    return api("MPI_Group_translate_ranks", [&] {
        const Members& from = members_of(group1);
        const Members to = members_in(roster_of(group1), checked<ProcessGroup>(group2));
        check_list(n, ranks1, "ranks1");
        check_list(n, ranks2, "ranks2");
        for (int i = 0; i < n; ++i) {
            const int rank = ranks1[i];
            if (rank == MPI_PROC_NULL) {
                ranks2[i] = MPI_PROC_NULL;
                continue;
            }
            if (rank < 0 || rank >= from.size())
                fail(MPI_ERR_RANK, "ranks1[{}] is {}, expected 0 to {} in a group of {}", i, rank,
                     from.size() - 1, from.size());
            const int position = to.index_of(from[rank]);
            ranks2[i] = position < 0 ? MPI_UNDEFINED : position;
        }
    });
}

#pragma weak MPI_Group_compare = PMPI_Group_compare
int PMPI_Group_compare(MPI_Group group1, MPI_Group group2, int* result) {
    return api("MPI_Group_compare", [&] {
        const Likeness likeness = compare(
            members_of(group1), members_in(roster_of(group1), checked<ProcessGroup>(group2)));
        check_output("result", result);
        *result = likeness == Likeness::same       ? MPI_IDENT
                  : likeness == Likeness::permuted ? MPI_SIMILAR
                                                   : MPI_UNEQUAL;
    });
}

#pragma weak MPI_Comm_group = PMPI_Comm_group
int PMPI_Comm_group(MPI_Comm comm, MPI_Group* group) {
    return api("MPI_Comm_group", comm, [&](Communicator& c) {
        check_output("group", group);
        *group = make_group(c.world()->roster(), Members(c.members()), c.session);
    });
}

#pragma weak MPI_Comm_remote_group = PMPI_Comm_remote_group
int PMPI_Comm_remote_group(MPI_Comm comm, MPI_Group* group) {
    return api("MPI_Comm_remote_group", comm, [&](Communicator& c) {
        check_output("group", group);
        if (!c.inter())
            fail(MPI_ERR_COMM, "found an intra-communicator, expected an inter-communicator");
        *group = make_group(c.world()->roster(), Members(c.peers()), c.session);
    });
}

#pragma weak MPI_Group_union = PMPI_Group_union
int PMPI_Group_union(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup) {
    return combined("MPI_Group_union", group1, group2, newgroup, unite);
}

#pragma weak MPI_Group_intersection = PMPI_Group_intersection
int PMPI_Group_intersection(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup) {
    return combined("MPI_Group_intersection", group1, group2, newgroup, intersect);
}

#pragma weak MPI_Group_difference = PMPI_Group_difference
int PMPI_Group_difference(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup) {
    return combined("MPI_Group_difference", group1, group2, newgroup, subtract);
}

#pragma weak MPI_Group_incl = PMPI_Group_incl
int PMPI_Group_incl(MPI_Group group, int n, const int ranks[], MPI_Group* newgroup) {
    return api("MPI_Group_incl", [&] {
        const Members& members = members_of(group);
        check_list(n, ranks, "ranks");
        check_output("newgroup", newgroup);
        const std::span positions(ranks, std::size_t(n));
        check_positions(members, positions, MPI_ERR_RANK);
        *newgroup = make_group(roster_of(group), include(members, positions), session_of(group));
    });
}

#pragma weak MPI_Group_excl = PMPI_Group_excl
int PMPI_Group_excl(MPI_Group group, int n, const int ranks[], MPI_Group* newgroup) {
    return api("MPI_Group_excl", [&] {
        const Members& members = members_of(group);
        check_list(n, ranks, "ranks");
        check_output("newgroup", newgroup);
        const std::span positions(ranks, std::size_t(n));
        check_positions(members, positions, MPI_ERR_RANK);
        *newgroup = make_group(roster_of(group), exclude(members, positions), session_of(group));
    });
}

#pragma weak MPI_Group_range_incl = PMPI_Group_range_incl
int PMPI_Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup) {
    return api("MPI_Group_range_incl", [&] {
        const Members& members = members_of(group);
        check_output("newgroup", newgroup);
        *newgroup = make_group(roster_of(group), include(members, places_in(members, n, ranges)),
                               session_of(group));
    });
}

#pragma weak MPI_Group_range_excl = PMPI_Group_range_excl
int PMPI_Group_range_excl(MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup) {
    return api("MPI_Group_range_excl", [&] {
        const Members& members = members_of(group);
        check_output("newgroup", newgroup);
        *newgroup = make_group(roster_of(group), exclude(members, places_in(members, n, ranges)),
                               session_of(group));
    });
}

#pragma weak MPI_Group_free = PMPI_Group_free
int PMPI_Group_free(MPI_Group* group) {
    return api("MPI_Group_free", [&] {
        check_output("group", group);
        ProcessGroup& object = checked<ProcessGroup>(*group);
        if (object.constant == 0) release(object);
        *group = MPI_GROUP_NULL;
    });
}
}
