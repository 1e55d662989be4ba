// SPDX-License-Identifier: BSD-3-Clause
// Communicators: queries, and creation from others (MPI-1.1, sections 5.4 and 5.6; names: section
// 5.8 of MPI-1.2 and later).
#include <algorithm>
#include <cstring>

#include "mpi11/attribute/attributes.h"
#include "mpi11/comm/creation.h"
#include "mpi11/environment/info.h"
#include "mpi11/error/check.h"
#include "mpi11/partitioned/message.h"
#include "mpi11/pt2pt/buffered.h"
#include "mpi11/pt2pt/request.h"
#include "mpi11/spawn/joined.h"

namespace torusmp::mpi {
namespace {

int result_of(Likeness likeness) {
    return likeness == Likeness::same       ? MPI_CONGRUENT
           : likeness == Likeness::permuted ? MPI_SIMILAR
                                            : MPI_UNEQUAL;
}

// Of two jobs, which number their processes apart.
int compared_across(const Communicator& a, const Communicator& b) {
    const auto here = [&](const std::vector<Rank>& ranks) {
        return a.world()->roster()->translate(Members(ranks), *b.world()->roster());
    };
    Likeness likeness = compare(Members(a.members()), here(b.members()));
    if (a.inter()) likeness = std::max(likeness, compare(Members(a.peers()), here(b.peers())));
    return result_of(likeness);
}

int compared(const Communicator& a, const Communicator& b) {
    if (&a == &b) return MPI_IDENT;
    if (a.inter() != b.inter()) return MPI_UNEQUAL;
    if (a.world() != b.world()) return compared_across(a, b);
    Likeness likeness = compare(Members(a.members()), Members(b.members()));
    if (a.inter()) likeness = std::max(likeness, compare(Members(a.peers()), Members(b.peers())));
    return result_of(likeness);
}

void check_inter(const Communicator& comm) {
    if (!comm.inter())
        fail(MPI_ERR_COMM, "found {}, an intra-communicator, expected an inter-communicator",
             comm.describe());
}

// The group of a new communicator: members of the communicator from which it is created.
Members checked_group(const Communicator& comm, MPI_Group group) {
    Members members = members_in(comm, group);
    const Members all(comm.members());
    for (int i = 0; i < members.size(); ++i)
        if (!all.contains(members[i]))
            fail(MPI_ERR_GROUP, "rank {} of the group is not a member of {}", i, comm.describe());
    return members;
}

void check_color(int color) {
    if (color < 0 && color != MPI_UNDEFINED)
        fail(MPI_ERR_ARG, "found color {}, expected 0 or more, or MPI_UNDEFINED", color);
}

// The color for MPI_Comm_split_type; MPI_UNDEFINED if no process gets a communicator.
int color_of_type(Communicator& comm, int type, MPI_Info info) {
    const core::Inspection& state = comm.runtime().state();
    const int host = state.host_of(comm.runtime().rank());
    switch (type) {
        case MPI_UNDEFINED:
            return MPI_UNDEFINED;
        case MPI_COMM_TYPE_SHARED:
            return host;
        case MPI_COMM_TYPE_HW_GUIDED:
        case MPI_COMM_TYPE_RESOURCE_GUIDED: {
            // Only shared memory is supported among the resources that a program may name.
            const Info::Entries entries = entries_of(info);
            const bool shared = std::any_of(entries.begin(), entries.end(), [](const auto& entry) {
                return entry.first == "mpi_hw_resource_type" &&
                       entry.second == shared_memory_resource;
            });
            return shared ? host : MPI_UNDEFINED;
        }
        case MPI_COMM_TYPE_HW_UNGUIDED: {
            // The next smaller part of the machine, if there is one.
            const auto elsewhere = [&](Rank rank) { return state.host_of(rank) != host; };
            const bool smaller = std::ranges::any_of(comm.members(), elsewhere) ||
                                 std::ranges::any_of(comm.peers(), elsewhere);
            return smaller ? host : MPI_UNDEFINED;
        }
        default:
            fail(MPI_ERR_ARG,
                 "found split type {}, expected MPI_COMM_TYPE_SHARED or another of "
                 "MPI_COMM_TYPE_..., or MPI_UNDEFINED",
                 type);
    }
}

// Operations in progress keep it alive.
void dispose(Communicator& comm, const char* call) {
    delete_attributes(comm);
    if (comm.buffer) comm.buffer->detach(call);
    comm.freed = true;
    if (library().parent == &comm) library().parent = nullptr;
    release(comm);
}

// Whether this is the last communicator of a joined job, for each of its processes: so all leave
// the job together, and none waits for a process that needs it.
bool ends_its_job(Communicator& comm, const char* call) {
    const World& world = *comm.world();
    const auto& names = world.roster()->names;
    const auto processes = std::ranges::count_if(names, [](const auto& it) { return it.job != 0; });
    if (!world.joined() || std::ptrdiff_t(all_members(comm).size()) != processes) return false;
    // The communicator holds it, and the list of joined jobs.
    std::vector<int> last(std::size_t(comm.size()));
    last[std::size_t(comm.rank())] = comm.world().use_count() == 2 ? 1 : 0;
    try {
        gather_all(comm, last.data(), sizeof(int), call);
        int all = int(std::ranges::count(last, 0) == 0);
        if (comm.inter()) all &= exchange_lists(comm, {all}, call).theirs.at(0);
        return all != 0;
    } catch (const Failure&) {
        return false;  // a process has died: the job is left at the end
    }
}

}  // namespace

void disconnect(Communicator& comm, const char* call) {
    // The program has completed its requests, as before MPI_Finalize; these are the library's.
    partitioned::give_up(comm);
    const auto done = [&] {
        return buffered_sends_done(comm) && orphans_done(comm) &&
               partitioned::announcements_done(comm);
    };
    if (!done()) comm.runtime().wait_until(done, call);
    const std::shared_ptr<World> ended = ends_its_job(comm, call) ? comm.world() : nullptr;
    dispose(comm, call);
    if (ended) leave_job(ended, call);
}

}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Comm_size = PMPI_Comm_size
int PMPI_Comm_size(MPI_Comm comm, int* size) {
    return api("MPI_Comm_size", comm, [&](Communicator& c) {
        check_output("size", size);
        *size = c.size();
    });
}

#pragma weak MPI_Comm_rank = PMPI_Comm_rank
int PMPI_Comm_rank(MPI_Comm comm, int* rank) {
    return api("MPI_Comm_rank", comm, [&](Communicator& c) {
        check_output("rank", rank);
        *rank = c.rank();
    });
}

#pragma weak MPI_Comm_compare = PMPI_Comm_compare
int PMPI_Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int* result) {
    return api("MPI_Comm_compare", comm1, [&](Communicator& first) {
        const Communicator& second = checked<Communicator>(comm2);
        check_output("result", result);
        *result = compared(first, second);
    });
}

#pragma weak MPI_Comm_test_inter = PMPI_Comm_test_inter
int PMPI_Comm_test_inter(MPI_Comm comm, int* flag) {
    return api("MPI_Comm_test_inter", comm, [&](Communicator& c) {
        check_output("flag", flag);
        *flag = c.inter() ? 1 : 0;
    });
}

#pragma weak MPI_Comm_remote_size = PMPI_Comm_remote_size
int PMPI_Comm_remote_size(MPI_Comm comm, int* size) {
    return api("MPI_Comm_remote_size", comm, [&](Communicator& c) {
        check_output("size", size);
        check_inter(c);
        *size = c.remote_size();
    });
}

#pragma weak MPI_Comm_create = PMPI_Comm_create
int PMPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* newcomm) {
    return api_for_new("MPI_Comm_create", comm, "newcomm", newcomm, [&](Communicator& c) {
        const Members members = checked_group(c, group);
        return handle_or_null(make_of_group(c, members, "MPI_Comm_create"));
    });
}

#pragma weak MPI_Comm_create_group = PMPI_Comm_create_group
int PMPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* newcomm) {
    return api_for_new("MPI_Comm_create_group", comm, "newcomm", newcomm, [&](Communicator& c) {
        if (c.inter())
            fail(MPI_ERR_COMM,
                 "found an inter-communicator, expected an "
                 "intra-communicator");
        const Members members = checked_group(c, group);
        check_send_tag(tag);
        return handle_or_null(make_by_group(c, members, tag));
    });
}

#pragma weak MPI_Comm_split = PMPI_Comm_split
int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* newcomm) {
    return api_for_new("MPI_Comm_split", comm, "newcomm", newcomm, [&](Communicator& c) {
        check_color(color);
        return handle_or_null(make_split(c, color, key, "MPI_Comm_split"));
    });
}

#pragma weak MPI_Comm_split_type = PMPI_Comm_split_type
int PMPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm* newcomm) {
    return api_for_new("MPI_Comm_split_type", comm, "newcomm", newcomm, [&](Communicator& c) {
        return handle_or_null(
            make_split(c, color_of_type(c, split_type, info), key, "MPI_Comm_split_type"));
    });
}

#pragma weak MPI_Comm_free = PMPI_Comm_free
int PMPI_Comm_free(MPI_Comm* comm) {
    return api("MPI_Comm_free", comm == nullptr ? MPI_COMM_NULL : *comm, [&](Communicator& c) {
        if (c.constant != 0) fail(MPI_ERR_COMM, "found {}, which cannot be freed", c.describe());
        dispose(c, "MPI_Comm_free");
        *comm = MPI_COMM_NULL;
    });
}

#pragma weak MPI_Comm_disconnect = PMPI_Comm_disconnect
int PMPI_Comm_disconnect(MPI_Comm* comm) {
    constexpr const char* call = "MPI_Comm_disconnect";
    return api(call, comm == nullptr ? MPI_COMM_NULL : *comm, [&](Communicator& c) {
        if (c.constant != 0)
            fail(MPI_ERR_COMM, "found {}, which cannot be disconnected", c.describe());
        disconnect(c, call);
        *comm = MPI_COMM_NULL;
    });
}

#pragma weak MPI_Comm_set_info = PMPI_Comm_set_info
int PMPI_Comm_set_info(MPI_Comm comm, MPI_Info info) {
    return api("MPI_Comm_set_info", comm, [&](Communicator& c) {
        c.info = std::make_shared<Info>(hints_in(checked<Info>(info).entries));
    });
}

#pragma weak MPI_Comm_get_info = PMPI_Comm_get_info
int PMPI_Comm_get_info(MPI_Comm comm, MPI_Info* info_used) {
    return api("MPI_Comm_get_info", comm, [&](Communicator& c) {
        check_output("info_used", info_used);
        *info_used = handle_of(make<Info>(c.info ? c.info->entries : Info::Entries()));
    });
}

#pragma weak MPI_Comm_set_name = PMPI_Comm_set_name
int PMPI_Comm_set_name(MPI_Comm comm, const char* name) {
    return api("MPI_Comm_set_name", comm, [&](Communicator& c) {
        check_output("comm_name", name);
        const auto guard = c.runtime().lock();  // reports of waits name it
        c.name.assign(name, strnlen(name, MPI_MAX_OBJECT_NAME - 1));
    });
}

#pragma weak MPI_Comm_get_name = PMPI_Comm_get_name
int PMPI_Comm_get_name(MPI_Comm comm, char* name, int* resultlen) {
    // For the null handle it is also the name (MPI-4.1, section 7.8).
    if (comm == MPI_COMM_NULL)
        return api("MPI_Comm_get_name",
                   [&] { copy_name(Communicator::null_name, "comm_name", name, resultlen); });
    return api("MPI_Comm_get_name", comm,
               [&](Communicator& c) { copy_name(c.name, "comm_name", name, resultlen); });
}
}
