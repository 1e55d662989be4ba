// SPDX-License-Identifier: BSD-3-Clause
// Moving data to and from windows (MPI-5.0, section 12.3): checks, then loads and stores where the
// target's memory is mapped, and packets elsewhere.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "mpi11/coll/operation.h"
#include "mpi11/entry.h"
#include "mpi11/error/check.h"
#include "mpi11/ft/failures.h"
#include "mpi11/rma/arithmetic.h"
#include "mpi11/rma/quick.h"
#include "mpi11/rma/transfer.h"

namespace torusmp::mpi::windows {
namespace {

using core::Buffer;
using core::rma::Action;
using core::rma::Place;

// The memory of one side of an access.
struct Memory {
    const void* address;
    MPI_Count count;
    MPI_Datatype type;
};

struct Access {
    const char* name;
    Action action;
    Memory origin;  // what is put or accumulated, or where a get stores
    Memory result;  // of fetching ones
    int target;
    MPI_Aint displacement;
    Memory there;             // the target's; no address
    MPI_Op op = MPI_OP_NULL;  // of accumulates
    MPI_Request* request = nullptr;
    const void* compare = nullptr;
};

// Memory of this process with the layout that the access needs.
Buffer memory_of(const Memory& memory, Basic element, AnyLayout& hold) {
    const Datatype& type = committed(memory.type);
    const auto count = std::size_t(memory.count);
    check_buffer(memory.address, memory.count, type);
    if (element != Basic::none && has_gap(element))
        return padded(memory.address, count, type, element, hold);
    LayoutHold kept;
    const Buffer buffer = buffer_of(memory.address, count, type, kept);
    if (kept != nullptr) hold = std::move(kept);
    return buffer;
}

// Throws Failure unless the access stays inside of the target's window.
void check_bounds(const Window& window, const Access& call, std::uint64_t& at) {
    const Window::Member& member = window.members[std::size_t(call.target)];
    const Datatype& type = committed(call.there.type);
    MPI_Aint begin = 0;
    if (__builtin_mul_overflow(call.displacement, window.dynamic() ? 1 : member.unit, &begin))
        fail(MPI_ERR_DISP, "found displacement {}, which exceeds any memory", call.displacement);
    at = std::uint64_t(begin);
    if (window.dynamic()) return;  // the target checks
    if (call.displacement < 0)
        fail(MPI_ERR_DISP, "found displacement {}, expected 0 or more", call.displacement);
    if (call.there.count == 0 || type.size() == 0) return;
    MPI_Aint rest = 0;
    if (__builtin_mul_overflow(MPI_Aint(call.there.count - 1), MPI_Aint(type.extent()), &rest))
        wrong::beyond_memory(call.there.count, type);
    MPI_Aint low = 0, high = 0;
    if (__builtin_add_overflow(begin, type.true_lb() + std::min<MPI_Aint>(rest, 0), &low) ||
        __builtin_add_overflow(begin, type.true_ub() + std::max<MPI_Aint>(rest, 0), &high) ||
        low < 0 || high > member.size)
        fail(MPI_ERR_RMA_RANGE, "found bytes {} to {} of the window of rank {}, which has {} bytes",
             low, high, call.target, member.size);
}

void check_sizes(const Buffer& here, const Place& there) {
    if (here.bytes == there.bytes) return;
    fail(MPI_ERR_TRUNCATE, "found {} bytes at the origin and {} bytes at the target", here.bytes,
         there.bytes);
}

// Finds the target's memory. Returns false if this process does not reach it.
bool find_here(const Window& window, const Access& call, const Place& place, Buffer& there) {
    const core::rma::Window& core = window.core;
    std::byte* memory = core.parts[std::size_t(call.target)].memory;
    if (memory == nullptr && call.target != core.self) return false;
    there.base = core::displaced(memory, std::ptrdiff_t(place.at));
    there.bytes = place.bytes;
    there.layout = place.layout;
    if (!window.dynamic()) return true;
    // Every piece must be attached, as for other origins.
    for (std::size_t from = 0; from < place.bytes;) {
        core::Layout::Piece piece{0, place.bytes};
        if (place.layout != nullptr) place.layout->pieces(from, place.bytes - from, {&piece, 1});
        if (core.own(place.at + std::uint64_t(piece.offset), piece.bytes) == nullptr)
            fail(MPI_ERR_RMA_RANGE, "found memory of this process that is not attached");
        from += piece.bytes;
    }
    return true;
}

void access_here(Window& window, const Access& call, const core::rma::Arithmetic& arithmetic,
                 const Buffer& origin, const Buffer& result, const Buffer& there) {
    window.core.count_direct();
    core::rma::Control& control = *window.core.parts[std::size_t(call.target)].control;
    switch (call.action) {
        case Action::put:
            return core::rma::copy(origin, there);
        case Action::get:
            return core::rma::copy(there, origin);
        case Action::compare_and_swap:
            return core::rma::compare_and_swap(control, there.bytes,
                                               static_cast<const std::byte*>(call.compare),
                                               origin.base, there.base, result.base);
        default:
            return apply(control, arithmetic, origin, there,
                         call.action == Action::get_accumulate ? &result : nullptr);
    }
}

// The kernel copies; the target is on this host and does not map the memory.
void access_reached(Window& window, const Access& call, const core::rma::Arithmetic& arithmetic,
                    const Buffer& origin, const Buffer& result, const Place& place) {
    const core::rma::Window::Part& part = window.core.parts[std::size_t(call.target)];
    const auto lock = window.comm->runtime().lock();
    window.core.count_direct();
    bool done = false;
    switch (call.action) {
        case Action::put:
            done = core::rma::put(part.reach, place, origin);
            break;
        case Action::get:
            done = core::rma::get(part.reach, place, origin);
            break;
        case Action::compare_and_swap:
            done = core::rma::compare_and_swap(*part.control, part.reach, place,
                                               static_cast<const std::byte*>(call.compare),
                                               origin.base, result.base);
            break;
        default:
            done = core::rma::apply(*part.control, part.reach, arithmetic, origin, place,
                                    call.action == Action::get_accumulate ? &result : nullptr);
    }
    if (done) return;
    const Rank peer = window.comm->peer(call.target);
    // A death may not be known yet.
    if (errno == ESRCH || window.comm->runtime().survivors().is_lost(peer))
        fail(class_of_fault(core::Error::unreachable), "rank {}: {}", call.target,
             window.comm->runtime().state().why_failed(core::Error::unreachable, peer));
    fail(MPI_ERR_RMA_RANGE, "the memory of the window of rank {} no longer exists", call.target);
}

// What every kind of access has in common. Returns the transfer if it is under way and the program
// waits for it by a request.
Transfer* move_data(Window& window, const Access& call) {
    check_epoch(window, call.target);
    const bool accumulates =
        call.action == Action::accumulate || call.action == Action::get_accumulate;
    ArithmeticOf chosen;
    if (accumulates) checked<Op>(call.op);
    // An access to nothing needs no operation that fits the type.
    if (accumulates && call.there.count > 0) chosen = arithmetic_of(call.op, call.there.type);
    const bool keeps = accumulates && call.op == MPI_NO_OP;
    if (keeps && call.action == Action::accumulate)
        fail(MPI_ERR_OP, "found MPI_NO_OP, which is valid only in calls that fetch");
    Place place;
    check_bounds(window, call, place.at);
    AnyLayout origin_hold, result_hold, place_hold;
    Memory at = call.there;
    at.address = reinterpret_cast<const void*>(place.at);
    const Datatype& there_type = committed(at.type);
    Buffer there;
    if (chosen.element != Basic::none && has_gap(chosen.element)) {
        there = padded(at.address, std::size_t(at.count), there_type, chosen.element, place_hold);
    } else {
        LayoutHold kept;
        there = buffer_of(at.address, std::size_t(at.count), there_type, kept);
        if (kept != nullptr) place_hold = std::move(kept);
    }
    place = {reinterpret_cast<std::uint64_t>(there.base), there.bytes, there.layout};
    if (place.bytes == 0) {
        const bool moves = call.origin.count > 0 && committed(call.origin.type).size() != 0;
        if (moves && !keeps)
            check_sizes(Buffer(static_cast<void*>(nullptr), committed(call.origin.type).size()),
                        place);
        return nullptr;
    }
    Buffer origin, result;
    if (!keeps) {
        origin = memory_of(call.origin, chosen.element, origin_hold);
        if (accumulates) check_element(chosen, call.origin.type, "origin");
        check_sizes(origin, place);
    }
    if (call.action == Action::get_accumulate || call.action == Action::compare_and_swap) {
        result = memory_of(call.result, chosen.element, result_hold);
        if (accumulates) check_element(chosen, call.result.type, "result");
        check_sizes(result, place);
    }
    if (window.log != nullptr) window.log->note(call.name, call.action, call.target, place);
    if (find_here(window, call, place, there)) {
        access_here(window, call, chosen.arithmetic, origin, result, there);
        return nullptr;
    }
    if (window.core.parts[std::size_t(call.target)].reach.connection != nullptr) {
        access_reached(window, call, chosen.arithmetic, origin, result, place);
        return nullptr;
    }
    Transfer& transfer = Transfer::take(window, call.action, call.target);
    transfer.call = call.name;
    transfer.requested = call.request != nullptr;
    core::rma::Operation& operation = transfer.operation;
    operation.place = place;
    operation.arithmetic = chosen.number;
    operation.element = std::uint16_t(chosen.arithmetic.element);
    if (call.action == Action::get) {
        operation.result = origin;
    } else if (call.action == Action::compare_and_swap) {
        std::memcpy(transfer.operands.data(), call.compare, place.bytes);
        std::memcpy(transfer.operands.data() + place.bytes, origin.base, place.bytes);
        operation.data = {transfer.operands.data(), 2 * place.bytes};
        operation.element = std::uint16_t(place.bytes);
        operation.result = result;
    } else {
        operation.data = origin;
        operation.result = result;
    }
    transfer.data_layout = std::move(origin_hold);
    transfer.result_layout = std::move(result_hold);
    transfer.place_layout = std::move(place_hold);
    window.comm->runtime().windows().start(operation);
    return call.request != nullptr ? &transfer : nullptr;
}

int run_call(const Access& call, MPI_Win win) {
    return window_api_with_others(call.name, win, [&](Window& window) {
        if (call.request != nullptr) *call.request = MPI_REQUEST_NULL;
        check_count(call.there.count);
        check_target(window, call.target);
        if (call.origin.count < 0) wrong::count(call.origin.count);
        if (call.result.count < 0) wrong::count(call.result.count);
        Transfer* under_way = nullptr;
        if (call.target != MPI_PROC_NULL) under_way = move_data(window, call);
        if (call.request == nullptr) return;
        Request& request = under_way != nullptr
                               ? make_request(*under_way, *window.comm, false)
                               : Request::take(Request::What::nothing, call.name, *window.comm);
        *call.request = handle_of(request);
    });
}

int run_requested(Access call, MPI_Win win, MPI_Request* request) {
    call.request = request;
    if (request == nullptr)
        return window_api_with_others(call.name, win,
                                      [&](Window&) { check_output("request", request); });
    return run_call(call, win);
}

int compare_and_swap(const Access& call, MPI_Win win) {
    return window_api_with_others(call.name, win, [&](Window& window) {
        check_target(window, call.target);
        check_swappable(call.there.type);
        check_output("origin_addr", call.origin.address);
        check_output("compare_addr", call.compare);
        check_output("result_addr", call.result.address);
        if (call.target != MPI_PROC_NULL) move_data(window, call);
    });
}

}  // namespace
}  // namespace torusmp::mpi::windows

using namespace torusmp::mpi;

#define PUT(origin_address, action_)                                      \
    windows::Access {                                                     \
        .name = name, .action = torusmp::core::rma::Action::action_,      \
        .origin = {origin_address, origin_count, origin_datatype},        \
        .result = {nullptr, 0, MPI_DATATYPE_NULL}, .target = target_rank, \
        .displacement = target_disp, .there = {                           \
            nullptr,                                                      \
            target_count,                                                 \
            target_datatype                                               \
        }                                                                 \
    }

TORUSMP_ENTRIES(Put,
                (const void* origin_addr, Count origin_count, MPI_Datatype origin_datatype,
                 int target_rank, MPI_Aint target_disp, Count target_count,
                 MPI_Datatype target_datatype, MPI_Win win),
                windows::quick::put(origin_addr, origin_count, origin_datatype, target_rank,
                                    target_disp, target_count, target_datatype, win)
                    ? MPI_SUCCESS
                    : windows::run_call(PUT(origin_addr, put), win))
TORUSMP_ENTRIES(Get,
                (void* origin_addr, Count origin_count, MPI_Datatype origin_datatype,
                 int target_rank, MPI_Aint target_disp, Count target_count,
                 MPI_Datatype target_datatype, MPI_Win win),
                windows::quick::get(origin_addr, origin_count, origin_datatype, target_rank,
                                    target_disp, target_count, target_datatype, win)
                    ? MPI_SUCCESS
                    : windows::run_call(PUT(origin_addr, get), win))
TORUSMP_ENTRIES(Rput,
                (const void* origin_addr, Count origin_count, MPI_Datatype origin_datatype,
                 int target_rank, MPI_Aint target_disp, Count target_count,
                 MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request),
                windows::run_requested(PUT(origin_addr, put), win, request))
TORUSMP_ENTRIES(Rget,
                (void* origin_addr, Count origin_count, MPI_Datatype origin_datatype,
                 int target_rank, MPI_Aint target_disp, Count target_count,
                 MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request),
                windows::run_requested(PUT(origin_addr, get), win, request))
#undef PUT

#define ACCUMULATE                                                                               \
    windows::Access {                                                                            \
        .name = name, .action = torusmp::core::rma::Action::accumulate,                          \
        .origin = {origin_addr, origin_count, origin_datatype},                                  \
        .result = {nullptr, 0, MPI_DATATYPE_NULL}, .target = target_rank,                        \
        .displacement = target_disp, .there = {nullptr, target_count, target_datatype}, .op = op \
    }

TORUSMP_ENTRIES(Accumulate,
                (const void* origin_addr, Count origin_count, MPI_Datatype origin_datatype,
                 int target_rank, MPI_Aint target_disp, Count target_count,
                 MPI_Datatype target_datatype, MPI_Op op, MPI_Win win),
                origin_datatype == target_datatype && origin_count == target_count &&
                        windows::quick::accumulate(origin_addr, nullptr, target_rank, target_disp,
                                                   target_count, target_datatype, op, win)
                    ? MPI_SUCCESS
                    : windows::run_call(ACCUMULATE, win))
TORUSMP_ENTRIES(Raccumulate,
                (const void* origin_addr, Count origin_count, MPI_Datatype origin_datatype,
                 int target_rank, MPI_Aint target_disp, Count target_count,
                 MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request* request),
                windows::run_requested(ACCUMULATE, win, request))
#undef ACCUMULATE

#define GET_ACCUMULATE                                                                           \
    windows::Access {                                                                            \
        .name = name, .action = torusmp::core::rma::Action::get_accumulate,                      \
        .origin = {origin_addr, origin_count, origin_datatype},                                  \
        .result = {result_addr, result_count, result_datatype}, .target = target_rank,           \
        .displacement = target_disp, .there = {nullptr, target_count, target_datatype}, .op = op \
    }

TORUSMP_ENTRIES(Get_accumulate,
                (const void* origin_addr, Count origin_count, MPI_Datatype origin_datatype,
                 void* result_addr, Count result_count, MPI_Datatype result_datatype,
                 int target_rank, MPI_Aint target_disp, Count target_count,
                 MPI_Datatype target_datatype, MPI_Op op, MPI_Win win),
                windows::run_call(GET_ACCUMULATE, win))
TORUSMP_ENTRIES(Rget_accumulate,
                (const void* origin_addr, Count origin_count, MPI_Datatype origin_datatype,
                 void* result_addr, Count result_count, MPI_Datatype result_datatype,
                 int target_rank, MPI_Aint target_disp, Count target_count,
                 MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request* request),
                windows::run_requested(GET_ACCUMULATE, win, request))
#undef GET_ACCUMULATE

extern "C" {

#pragma weak MPI_Fetch_and_op = PMPI_Fetch_and_op
int PMPI_Fetch_and_op(const void* origin_addr, void* result_addr, MPI_Datatype datatype,
                      int target_rank, MPI_Aint target_disp, MPI_Op op, MPI_Win win) {
    if (result_addr != nullptr && windows::quick::accumulate(origin_addr, result_addr, target_rank,
                                                             target_disp, 1, datatype, op, win))
        return MPI_SUCCESS;
    return windows::run_call({.name = "MPI_Fetch_and_op",
                              .action = torusmp::core::rma::Action::get_accumulate,
                              .origin = {origin_addr, 1, datatype},
                              .result = {result_addr, 1, datatype},
                              .target = target_rank,
                              .displacement = target_disp,
                              .there = {nullptr, 1, datatype},
                              .op = op},
                             win);
}

#pragma weak MPI_Compare_and_swap = PMPI_Compare_and_swap
int PMPI_Compare_and_swap(const void* origin_addr, const void* compare_addr, void* result_addr,
                          MPI_Datatype datatype, int target_rank, MPI_Aint target_disp,
                          MPI_Win win) {
    if (windows::quick::compare_and_swap(origin_addr, compare_addr, result_addr, datatype,
                                         target_rank, target_disp, win))
        return MPI_SUCCESS;
    return windows::compare_and_swap({.name = "MPI_Compare_and_swap",
                                      .action = torusmp::core::rma::Action::compare_and_swap,
                                      .origin = {origin_addr, 1, datatype},
                                      .result = {result_addr, 1, datatype},
                                      .target = target_rank,
                                      .displacement = target_disp,
                                      .there = {nullptr, 1, datatype},
                                      .compare = compare_addr},
                                     win);
}
}
