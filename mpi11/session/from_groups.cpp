// SPDX-License-Identifier: BSD-3-Clause
// Communicators from groups alone (MPI-4.1, sections 7.4.2 and 7.6.2). The group and the program's
// tag distinguish communicators that are made at the same time.
#include <optional>
#include <string_view>
#include <vector>

#include "mpi11/comm/agreement.h"
#include "mpi11/comm/creation.h"
#include "mpi11/environment/info.h"
#include "mpi11/session/session_call.h"

namespace torusmp::mpi {
namespace {

// FNV-1a, 64 bits.
class Digest {
  public:
    void add(std::string_view text) {
        for (const char letter : text) add_byte(static_cast<unsigned char>(letter));
        add_byte(0);
    }
    void add(const Members& members) {
        for (const Rank rank : members.ranks())
            for (int shift = 0; shift < 32; shift += 8)
                add_byte(static_cast<unsigned char>(unsigned(rank) >> shift));
    }
    core::Tag tag() const { return core::Tag(value_ >> 33); }

  private:
    void add_byte(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3U; }
    std::uint64_t value_ = 0xcbf29ce484222325U;
};

core::Tag tag_of(std::string_view purpose, std::string_view string_tag, const Members& group) {
    Digest digest;
    digest.add(purpose);
    digest.add(string_tag);
    digest.add(group);
    return digest.tag();
}

std::string_view checked_string_tag(const char* string_tag) {
    check_output("stringtag", string_tag);
    const std::string_view text(string_tag);
    if (text.size() >= MPI_MAX_STRINGTAG_LEN)
        fail(MPI_ERR_ARG, "found a stringtag of {} characters, expected at most {}", text.size(),
             MPI_MAX_STRINGTAG_LEN - 1);
    return text;
}

// Groups of processes that have joined have no job in which all of them could meet without a
// communicator.
const Members& checked_members(MPI_Group handle) {
    const ProcessGroup& group = checked<ProcessGroup>(handle);
    if (group.roster != nullptr && group.roster != hot.world->world()->roster())
        fail(MPI_ERR_GROUP,
             "found a group with processes of several jobs that have joined, expected processes of "
             "one job");
    return group.members;
}

int checked_place(const Members& group) {
    const int place = group.index_of(runtime().rank());
    if (place < 0)
        fail(MPI_ERR_GROUP, "rank {} of the job is not a member of the group", runtime().rank());
    return place;
}

int checked_leader(const Members& group, int leader, const char* name) {
    if (leader < 0 || leader >= group.size())
        fail(MPI_ERR_ARG, "found {} {}, expected 0 to {}", name, leader, group.size() - 1);
    return leader;
}

void check_disjoint(const Members& local, const Members& remote) {
    for (const Rank rank : remote.ranks())
        if (local.contains(rank))
            fail(MPI_ERR_GROUP, "rank {} of the job is a member of both groups", rank);
}

// Errors in these calls go to the handler given for the new communicator.
template <class Body>
int api_with_handler(const char* call, MPI_Errhandler errhandler, Body&& body) noexcept {
    if (!hot.running) [[unlikely]]
        not_running(call);
    Reference<ErrorHandler> handler;
    try {
        handler = Reference<ErrorHandler>(checked<ErrorHandler>(errhandler));
        body(handler);
        return MPI_SUCCESS;
    } catch (const std::exception& error) {
        if (!handler) return raise(call, nullptr, error);
        return raise(call, handler, MPI_COMM_NULL, "the group", error);
    }
}

MPI_Comm finished(Communicator& comm, const ProcessGroup& group, MPI_Info info,
                  const Reference<ErrorHandler>& handler) {
    comm.session = group.session;
    comm.error_handler = handler;
    Info::Entries hints = hints_in(entries_of(info));
    if (!hints.empty()) comm.info = std::make_shared<Info>(std::move(hints));
    return handle_of(comm);
}

Communicator& make_from(const Members& group, std::string_view string_tag, const char* call) {
    checked_place(group);
    std::optional<Claim> claim;
    Context first = 0;
    if (group[0] == runtime().rank()) first = claim.emplace(*hot.world).use();
    hand_down(runtime(), group, 0, contexts_of_groups, tag_of("intra", string_tag, group), &first,
              sizeof first, call);
    return make_intra(hot.world->world(), group.ranks(), first);
}

// What the local leader learns of the other group: contexts for both, then its members.
std::vector<int> meet(const Members& local, const Members& remote, int remote_leader,
                      std::string_view string_tag, const char* call) {
    std::optional<Claim> claim;
    const bool ours = local[0] < remote[0];
    std::vector<int> list{0};
    if (ours) list[0] = int(claim.emplace(*hot.world).use());
    list.insert(list.end(), local.ranks().begin(), local.ranks().end());
    std::vector<int> theirs = swap_lists(runtime(), contexts_of_groups, remote[remote_leader],
                                         tag_of("inter", string_tag, Members()), list, call);
    if (ours) theirs[0] = list[0];
    return theirs;
}

// The group's leader knows the other group; the others wait for what it hands down, also if that is
// an error.
Communicator& make_between(const Members& local, int local_leader, MPI_Group remote_group,
                           int remote_leader, std::string_view string_tag, const char* call) {
    const core::Tag tag = tag_of("leader", string_tag, local);
    std::vector<int> theirs;
    int length = 0;  // of the list; negative for an error class
    const auto hand_down_length = [&] {
        hand_down(runtime(), local, local_leader, contexts_of_groups, tag, &length, sizeof length,
                  call);
    };
    if (checked_place(local) == local_leader) {
        try {
            const Members& remote = checked_members(remote_group);
            check_disjoint(local, remote);
            checked_leader(remote, remote_leader, "remote_leader");
            theirs = meet(local, remote, remote_leader, string_tag, call);
        } catch (const Failure& failure) {
            length = -failure.code();
            hand_down_length();
            throw;
        }
        length = int(theirs.size());
    }
    hand_down_length();
    if (length < 0)
        fail(-length, "the leader of the group (rank {} of it) has failed", local_leader);
    theirs.resize(std::size_t(length));
    hand_down(runtime(), local, local_leader, contexts_of_groups, tag, theirs.data(),
              theirs.size() * sizeof(int), call);
    const auto first = Context(theirs[0]);
    return make_inter(hot.world->world(), local.ranks(), {theirs.begin() + 1, theirs.end()}, first);
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Comm_create_from_group = PMPI_Comm_create_from_group
int PMPI_Comm_create_from_group(MPI_Group group, const char* stringtag, MPI_Info info,
                                MPI_Errhandler errhandler, MPI_Comm* newcomm) {
    constexpr const char* call = "MPI_Comm_create_from_group";
    return api_with_handler(call, errhandler, [&](const Reference<ErrorHandler>& handler) {
        check_output("newcomm", newcomm);
        *newcomm = MPI_COMM_NULL;
        checked_members(group);
        const ProcessGroup& members = checked<ProcessGroup>(group);
        const std::string_view tag = checked_string_tag(stringtag);
        if (members.members.size() == 0) return;
        *newcomm = finished(make_from(members.members, tag, call), members, info, handler);
    });
}

#pragma weak MPI_Intercomm_create_from_groups = PMPI_Intercomm_create_from_groups
int PMPI_Intercomm_create_from_groups(MPI_Group local_group, int local_leader,
                                      MPI_Group remote_group, int remote_leader,
                                      const char* stringtag, MPI_Info info,
                                      MPI_Errhandler errhandler, MPI_Comm* newintercomm) {
    constexpr const char* call = "MPI_Intercomm_create_from_groups";
    return api_with_handler(call, errhandler, [&](const Reference<ErrorHandler>& handler) {
        check_output("newintercomm", newintercomm);
        *newintercomm = MPI_COMM_NULL;
        checked_members(local_group);
        const ProcessGroup& local = checked<ProcessGroup>(local_group);
        const std::string_view tag = checked_string_tag(stringtag);
        checked_leader(local.members, local_leader, "local_leader");
        *newintercomm = finished(
            make_between(local.members, local_leader, remote_group, remote_leader, tag, call),
            local, info, handler);
    });
}
}
