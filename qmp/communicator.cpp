// SPDX-License-Identifier: BSD-3-Clause
// Communicators: the three predefined ones, splitting, and queries.
#include "qmp/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace torusmp::qmp {
namespace {

// The contribution of each node to a split. The entries of other nodes are zero, so that a sum
// gathers them.
struct Claim {
    std::int64_t color;
    std::int64_t key;
    std::int64_t next_context;
};

void add_claims(void* result, const void* a, const void* b, std::size_t count, const void*) {
    auto* const sum = static_cast<std::int64_t*>(result);
    const auto* const left = static_cast<const std::int64_t*>(a);
    const auto* const right = static_cast<const std::int64_t*>(b);
    for (std::size_t i = 0; i < 3 * count; ++i) sum[i] = left[i] + right[i];
}

// By node; empty if a rank died.
std::vector<Claim> gather_claims(QMP_comm_struct& comm, Claim mine, std::string_view call) {
    std::vector<Claim> claims(std::size_t(comm.group.size()), Claim{0, 0, 0});
    claims[std::size_t(comm.group.member())] = mine;
    comm.allreduce.start(claims.data(), claims.size(), {add_claims, sizeof(Claim)});
    if (finish(comm.allreduce, call) != QMP_SUCCESS) claims.clear();
    return claims;
}

}  // namespace

QMP_comm_struct& checked(QMP_comm_t comm, std::string_view call) {
    running(call);
    if (comm == nullptr) fail(call, "found a null communicator");
    return *comm;
}

QMP_comm_struct& default_comm(std::string_view call) {
    return *running(call).default_comm;
}

QMP_status_t finish(collectives::Schedule& schedule, std::string_view call) {
    schedule.wait(call);
    if (schedule.error() == core::Error::none) return QMP_SUCCESS;
    if (schedule.error() != core::Error::unreachable) fail(call, schedule.failure());
    if (!library().process->keeps_going()) fall_with_others(call, schedule.failure());
    return complain(QMP_ERROR, call, schedule.failure());
}

QMP_comm_t split(QMP_comm_struct& comm, int color, int key, std::string_view call) {
    Library& lib = running(call);
    const auto claims = gather_claims(comm, {color, key, lib.next_context}, call);
    if (claims.empty()) return nullptr;

    // A context that no member has used. Communicators of different colors share it: they have no
    // node in common, so a message of one cannot match a receive of the other.
    core::Context context = 0;
    std::set<std::int64_t> colors;
    std::vector<int> nodes;
    for (int node = 0; node < comm.group.size(); ++node) {
        const Claim& claim = claims[std::size_t(node)];
        context = std::max(context, core::Context(claim.next_context));
        if (claim.color >= 0) colors.insert(claim.color);
        if (claim.color == color) nodes.push_back(node);
    }
    lib.next_context = context + 1;
    if (color < 0) return nullptr;

    std::stable_sort(nodes.begin(), nodes.end(), [&](int a, int b) {
        return claims[std::size_t(a)].key < claims[std::size_t(b)].key;
    });
    std::vector<int> members;
    for (const int node : nodes) members.push_back(comm.group.rank_of(node));
    auto made = std::make_unique<QMP_comm_struct>(runtime(), std::move(members), context,
                                                  lib.process->collective_policy());
    made->colors = int(colors.size());
    made->color = color;
    made->key = key;
    lib.communicators.push_back(std::move(made));
    return lib.communicators.back().get();
}

namespace {

QMP_status_t set(QMP_comm_t& place, QMP_comm_t comm, const char* call) {
    if (comm == nullptr) return complain(QMP_INVALID_ARG, call, "found a null communicator");
    place = comm;
    return QMP_SUCCESS;
}

QMP_status_t release(QMP_comm_t comm, const char* call) {
    Library& lib = running(call);
    if (comm == nullptr) return complain(QMP_INVALID_ARG, call, "found a null communicator");
    if (comm == lib.allocated || comm == lib.job || comm == lib.default_comm)
        return complain(QMP_INVALID_ARG, call,
                        "found the allocated, job or default communicator, expected one that "
                        "QMP_comm_split made and that does not replace these");
    const auto found =
        std::find_if(lib.communicators.begin(), lib.communicators.end(),
                     [comm](const auto& candidate) { return candidate.get() == comm; });
    if (found == lib.communicators.end())
        return complain(QMP_INVALID_ARG, call, "not a communicator, or already freed");
    lib.communicators.erase(found);
    return QMP_SUCCESS;
}

// Contexts of the MPI communicators: above those of QMP, as many for each as MPI uses.
constexpr core::Context qmp_contexts = 0x40000000;
constexpr core::Context hidden_contexts = 0x80000000;
constexpr core::Context contexts_each = job::mpi_contexts;

QMP_status_t hidden(QMP_comm_t comm, void** result, const char* call) {
    QMP_comm_struct& from = checked(comm, call);
    if (result == nullptr) return complain(QMP_INVALID_ARG, call, "found a null pointer");
    *result = nullptr;
    if (job::mpi_functions.make == nullptr) {
        library().last_error = QMP_NOTSUPPORTED;
        return QMP_NOTSUPPORTED;  // linked without MPI
    }
    if (from.mpi_comm == nullptr)
        from.mpi_comm = job::mpi_functions.make(
            from.group.members(),
            hidden_contexts + contexts_each * (from.group.context() - qmp_contexts));
    *result = &from.mpi_comm;
    return QMP_SUCCESS;
}

}  // namespace
}  // namespace torusmp::qmp

using namespace torusmp::qmp;

extern "C" {

QMP_comm_t QMP_comm_get_allocated(void) {
    return running(__func__).allocated;
}
QMP_comm_t QMP_comm_get_job(void) {
    return running(__func__).job;
}
QMP_comm_t QMP_comm_get_default(void) {
    return running(__func__).default_comm;
}

QMP_status_t QMP_comm_set_allocated(QMP_comm_t comm) {
    return set(running(__func__).allocated, comm, __func__);
}
QMP_status_t QMP_comm_set_job(QMP_comm_t comm) {
    return set(running(__func__).job, comm, __func__);
}
QMP_status_t QMP_comm_set_default(QMP_comm_t comm) {
    return set(running(__func__).default_comm, comm, __func__);
}

QMP_status_t QMP_comm_split(QMP_comm_t comm, int color, int key, QMP_comm_t* newcomm) {
    const char* const call = __func__;
    return guarded(call, [&] {
        QMP_comm_struct& from = checked(comm, call);
        if (newcomm == nullptr) return complain(QMP_INVALID_ARG, call, "found a null pointer");
        *newcomm = split(from, color, key, call);
        return QMP_SUCCESS;
    });
}

QMP_status_t QMP_comm_free(QMP_comm_t comm) {
    const char* const call = __func__;
    return guarded(call, [&] { return release(comm, call); });
}

int QMP_comm_get_number_of_colors(QMP_comm_t comm) {
    return checked(comm, __func__).colors;
}
int QMP_comm_get_color(QMP_comm_t comm) {
    return checked(comm, __func__).color;
}
int QMP_comm_get_key(QMP_comm_t comm) {
    return checked(comm, __func__).key;
}

QMP_status_t QMP_get_hidden_comm(QMP_comm_t comm, void** hiddencomm) {
    const char* const call = __func__;
    return guarded(call, [&] { return hidden(comm, hiddencomm, call); });
}
// Not in qmp.h; programs that use MPI declare it themselves.
QMP_API_ QMP_status_t QMP_get_mpi_comm(QMP_comm_t comm, void** mpicomm);
QMP_status_t QMP_get_mpi_comm(QMP_comm_t comm, void** mpicomm) {
    const char* const call = __func__;
    return guarded(call, [&] { return hidden(comm, mpicomm, call); });
}

int QMP_comm_get_number_of_nodes(QMP_comm_t comm) {
    return checked(comm, __func__).group.size();
}
int QMP_get_number_of_nodes(void) {
    return default_comm(__func__).group.size();
}
int QMP_comm_get_node_number(QMP_comm_t comm) {
    return checked(comm, __func__).group.member();
}
int QMP_get_node_number(void) {
    return default_comm(__func__).group.member();
}
QMP_bool_t QMP_comm_is_primary_node(QMP_comm_t comm) {
    return checked(comm, __func__).group.member() == 0 ? QMP_TRUE : QMP_FALSE;
}
QMP_bool_t QMP_is_primary_node(void) {
    return default_comm(__func__).group.member() == 0 ? QMP_TRUE : QMP_FALSE;
}

int QMP_get_number_of_jobs(void) {
    return running(__func__).job->colors;
}
int QMP_get_job_number(void) {
    return running(__func__).job->color;
}

QMP_ictype_t QMP_get_msg_passing_type(void) {
    return running(__func__).type;
}

int QMP_io_node(int node) {
    running(__func__);
    return node;
}
int QMP_master_io_node(void) {
    running(__func__);
    return 0;
}
}
