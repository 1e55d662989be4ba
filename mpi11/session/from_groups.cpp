// SPDX-License-Identifier: BSD-3-Clause
// Communicators from groups alone (MPI-4.1, sections 7.4.2 and 7.6.2). The group and the program's
// tag distinguish communicators that are made at the same time. All members choose the same of the
// jobs that have all of them (spawn/joined.h), for the call and for the new communicator.
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "mpi11/comm/agreement.h"
#include "mpi11/comm/creation.h"
#include "mpi11/environment/info.h"
#include "mpi11/session/session_call.h"
#include "mpi11/spawn/joined.h"

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

using Job = std::shared_ptr<World>;

Job checked_job(std::initializer_list<MPI_Group> groups) {
    Job job = common_job(groups);
    if (job == nullptr)
        fail(MPI_ERR_GROUP,
             "found a group of processes that are not all in one job: expected processes that "
             "started together, or that one call has joined");
    return job;
}

int checked_place(const World& job, const Members& group) {
    const Rank self = job.roster()->self;
    const int place = group.index_of(self);
    if (place < 0) fail(MPI_ERR_GROUP, "rank {} of the job is not a member of the group", self);
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

Communicator& make_from(const Job& job, const Members& group, std::string_view string_tag,
                        const char* call) {
    std::optional<Claim> claim;
    Context first = 0;
    if (checked_place(*job, group) == 0) first = claim.emplace(*job).use();
    hand_down(job->runtime(), group, 0, contexts_of_groups, tag_of("intra", string_tag, group),
              &first, sizeof first, call);
    return make_intra(job, group.ranks(), first);
}

// The leaders agree on this and send it to their members.
struct Meeting {
    int error = MPI_SUCCESS;
    std::uint64_t job = 0;  // its number
    Context first = 0;
    int remote_size = 0;
    std::vector<Rank> remote;  // machine ranks
};

// On the leaders.
Meeting meet(MPI_Group local_group, MPI_Group remote_group, int remote_leader,
             std::string_view string_tag, const char* call) {
    checked<ProcessGroup>(remote_group);
    const Job job = checked_job({local_group, remote_group});
    const Members local = members_in(*job, local_group), remote = members_in(*job, remote_group);
    check_disjoint(local, remote);
    checked_leader(remote, remote_leader, "remote_leader");
    std::optional<Claim> claim;
    const bool ours = local[0] < remote[0];
    std::vector<int> list{0};
    if (ours) list[0] = int(claim.emplace(*job).use());
    list.insert(list.end(), local.ranks().begin(), local.ranks().end());
    const std::vector<int> theirs =
        swap_lists(job->runtime(), contexts_of_groups, remote[remote_leader],
                   tag_of("inter", string_tag, Members()), list, call);
    return {.error = MPI_SUCCESS,
            .job = job->process().number(),
            .first = Context(ours ? list[0] : theirs[0]),
            .remote_size = int(theirs.size()) - 1,
            .remote = {theirs.begin() + 1, theirs.end()}};
}

Job job_of_number(std::uint64_t number) {
    const Job& own = hot.world->world();
    return number == own->process().number() ? own : joined_job(number);
}

// The group's leader knows the other group; the others wait for what it hands down, also if that is
// an error.
Communicator& make_between(MPI_Group local_group, int local_leader, MPI_Group remote_group,
                           int remote_leader, std::string_view string_tag, const char* call) {
    const Job own = checked_job({local_group});
    const Members local = members_in(*own, local_group);
    const core::Tag tag = tag_of("leader", string_tag, local);
    const auto hand_down_from_leader = [&](void* data, std::size_t bytes) {
        hand_down(own->runtime(), local, local_leader, contexts_of_groups, tag, data, bytes, call);
    };
    Meeting meeting;
    const auto hand_down_head = [&] { hand_down_from_leader(&meeting, offsetof(Meeting, remote)); };
    if (checked_place(*own, local) == local_leader) {
        try {
            meeting = meet(local_group, remote_group, remote_leader, string_tag, call);
        } catch (const Failure& failure) {
            meeting.error = failure.code();
            hand_down_head();
            throw;
        }
    }
    hand_down_head();
    if (meeting.error != MPI_SUCCESS)
        fail(meeting.error, "the leader of the group (rank {} of it) has failed", local_leader);
    meeting.remote.resize(std::size_t(meeting.remote_size));
    hand_down_from_leader(meeting.remote.data(), meeting.remote.size() * sizeof(Rank));
    const Job job = job_of_number(meeting.job);
    return make_inter(job, members_in(*job, local_group).ranks(), std::move(meeting.remote),
                      meeting.first);
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
        const ProcessGroup& members = checked<ProcessGroup>(group);
        const std::string_view tag = checked_string_tag(stringtag);
        if (members.members.size() == 0) return;
        const Job job = checked_job({group});
        *newcomm =
            finished(make_from(job, members_in(*job, group), tag, call), members, info, handler);
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
        const ProcessGroup& local = checked<ProcessGroup>(local_group);
        const std::string_view tag = checked_string_tag(stringtag);
        checked_leader(local.members, local_leader, "local_leader");
        *newintercomm = finished(
            make_between(local_group, local_leader, remote_group, remote_leader, tag, call), local,
            info, handler);
    });
}
}
