// SPDX-License-Identifier: BSD-3-Clause
// Message handles: declaring, starting, waiting.
#include "qmp/message.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/declared/flow.h"
#include "qmp/communicator.h"

using Handle = QMP_msghandle_struct;
using Kind = Handle::Kind;

std::string Handle::describe() const {
    if (kind == Kind::multiple) return fmt::format("multiple of {} messages", parts.size());
    const bool sends = kind == Kind::send;
    std::string text = fmt::format("{} of {} bytes {} node {}", sends ? "send" : "receive",
                                   memory.bytes, sends ? "to" : "from", peer);
    if (axis >= 0)
        text += fmt::format(" (dimension {}, direction {})", axis, direction > 0 ? "+1" : "-1");
    return text;
}

namespace torusmp::qmp {
namespace {

// The kinds of messages that never match each other: messages between two nodes by number; and
// messages along each dimension, by the direction in which they travel.
std::uint32_t flow_kind(int axis, bool travels_up) {
    return axis < 0 ? 0 : 1 + 2 * std::uint32_t(axis) + (travels_up ? 1 : 0);
}

void add(Handle* handle) {
    Library& lib = library();
    const std::lock_guard lock(lib.mutex);
    lib.handles.insert(handle);
}

void remove(Handle* handle) {
    Library& lib = library();
    const std::lock_guard lock(lib.mutex);
    lib.handles.erase(handle);
}

// ---- declaring ----

std::unique_ptr<Handle> make(Kind kind, QMP_msgmem_t memory, int peer, const char* call) {
    if (memory == nullptr) fail(call, "found null message memory");
    auto handle = std::make_unique<Handle>(kind);
    handle->memory = *memory;
    handle->buffer = handle->memory.buffer();
    handle->peer = peer;
    return handle;
}

Handle* declare_message(Kind kind, QMP_comm_struct& comm, QMP_msgmem_t memory, int peer, int axis,
                        int direction, const char* call) {
    if (peer < 0 || peer >= comm.group.size())
        fail(call, fmt::format("found node {}, expected 0 to {}", peer, comm.group.size() - 1));
    auto handle = make(kind, memory, peer, call);
    handle->axis = axis;
    handle->direction = direction;
    const core::Rank rank = comm.group.rank_of(peer);
    const bool travels_up = (direction > 0) == (kind == Kind::send);
    const std::uint32_t flow = flow_kind(axis, travels_up);
    if (kind == Kind::send)
        handle->send_flow = &runtime().flows().open_send(rank, comm.group.context(), flow);
    else
        handle->receive_flow = &runtime().flows().open_receive(rank, comm.group.context(), flow);
    add(handle.get());
    return handle.release();
}

Handle* declare_relative(Kind kind, QMP_comm_struct& comm, QMP_msgmem_t memory, int axis, int dir,
                         const char* call) {
    const Topology& topology = topology_of(&comm, call);
    if (axis < 0 || axis >= topology.dimensions())
        fail(call,
             fmt::format("found dimension {}, expected 0 to {}", axis, topology.dimensions() - 1));
    const bool up = dir > 0;
    return declare_message(kind, comm, memory, topology.neighbour(axis, up), axis, up ? 1 : -1,
                           call);
}

void check_joinable(QMP_msghandle_t const* handles, int num, const char* call) {
    for (int i = 0; i < num; ++i) {
        const Handle* handle = handles[i];
        if (handle == nullptr) fail(call, fmt::format("found a null handle at position {}", i));
        if (handle->part)
            fail(call, fmt::format("the handle at position {} is already part of a multiple", i));
        if (handle->active)
            fail(call, fmt::format("the {} at position {} is in flight: wait for it first",
                                   handle->describe(), i));
        if (std::find(handles, handles + i, handle) != handles + i)
            fail(call, fmt::format("the handle at position {} is in the list twice", i));
    }
}

Handle* join(QMP_msghandle_t const* handles, int num, const char* call) {
    running(call);
    if (num < 0) fail(call, fmt::format("found {} handles, expected 0 or more", num));
    if (num > 0 && handles == nullptr) fail(call, "found a null array of handles");
    check_joinable(handles, num, call);
    auto joined = std::make_unique<Handle>(Kind::multiple);
    for (int i = 0; i < num; ++i) {
        std::unique_ptr<Handle> owned(handles[i]);
        remove(owned.get());
        if (owned->kind == Kind::multiple)
            std::move(owned->parts.begin(), owned->parts.end(), std::back_inserter(joined->parts));
        else
            joined->parts.push_back(std::move(owned));
    }
    for (auto part = joined->parts.begin(); part != joined->parts.end(); ++part) {
        (*part)->part = true;
        (*part)->followed =
            (*part)->kind == Kind::send &&
            std::any_of(part + 1, joined->parts.end(), [&](auto& it) {
                return it->kind == Kind::send && it->send_flow->dest == (*part)->send_flow->dest;
            });
    }
    add(joined.get());
    return joined.release();
}

void move_to(Handle& handle, void* address) {
    handle.memory.base = static_cast<std::byte*>(address);
    handle.buffer = handle.memory.buffer();
}

Handle& idle(QMP_msghandle_t handle, const char* call) {
    running(call);
    if (handle == nullptr) fail(call, "found a null handle");
    if (handle->active)
        fail(call, fmt::format("the {} is in flight: wait for it first", handle->describe()));
    for (const auto& part : handle->parts)
        if (part->active)
            fail(call, fmt::format("the {} is in flight: wait for it first", part->describe()));
    return *handle;
}

void release(QMP_msghandle_t handle, const char* call) {
    if (handle == nullptr) return;
    if (handle->part)
        fail(call, fmt::format("the {} is part of a multiple: free the multiple instead",
                               handle->describe()));
    if (library().initialized) idle(handle, call);
    remove(handle);
    const std::unique_ptr<Handle> owned(handle);
}

// ---- starting and waiting ----

[[noreturn]] [[gnu::cold]] void fail_start(const Handle& handle, const char* call) {
    if (handle.active)
        fail(call, fmt::format("the {} is already started: wait for it first", handle.describe()));
    fail(call, fmt::format("the {} has no memory (null)", handle.describe()));
}

inline void start_one(Handle& handle, const char* call) {
    if (handle.active || (handle.memory.base == nullptr && handle.memory.bytes > 0)) [[unlikely]]
        fail_start(handle, call);
    handle.active = true;
    handle.error = QMP_SUCCESS;
    if (handle.kind == Kind::send)
        runtime().flows().start(*handle.send_flow, handle.send, handle.buffer, handle.followed);
    else
        runtime().flows().start(*handle.receive_flow, handle.receive, handle.buffer);
    if (handle.clear_to_send == QMP_CTS_READY) handle.clear_to_send = QMP_CTS_NOT_READY;
}

// Ends the job; if the job continues after a death, returns the error to the caller instead.
[[gnu::cold]] void fail_message(Handle& handle, const core::Status& status, const char* call) {
    if (status.error == core::Error::truncated)
        fail(call, fmt::format("node {} sent {} bytes, longer than the {} of this node",
                               handle.peer, status.bytes, handle.describe()));
    const core::Rank peer =
        handle.kind == Kind::send ? handle.send.peer() : handle.receive.peer();
    const std::string what = fmt::format("the {} failed: {}", handle.describe(),
                                         runtime().state().why_failed(status.error, peer));
    const bool lost = status.error == core::Error::unreachable;
    if (!library().process->keeps_going()) lost ? fall_with_others(call, what) : fail(call, what);
    handle.error = complain(QMP_ERROR, call, what);
}

// Records that an exchange is complete.
inline void record_completion(Handle& handle, const char* call) {
    handle.active = false;
    const core::Status& status = handle.request().status();
    if (status.error != core::Error::none) [[unlikely]]
        fail_message(handle, status, call);
}

inline void wait_one(Handle& handle, const char* call) {
    if (!handle.active) return;
    core::Request& request = handle.request();
    if (!request.complete()) runtime().wait(request, call);
    record_completion(handle, call);
}

void start(Handle& handle, const char* call) {
    if (handle.kind != Kind::multiple) return start_one(handle, call);
    if (handle.active) fail_start(handle, call);
    handle.active = true;
    for (const auto& part : handle.parts) start_one(*part, call);
}

void wait(Handle& handle, const char* call) {
    if (handle.kind != Kind::multiple) return wait_one(handle, call);
    if (!handle.active) return;
    handle.error = QMP_SUCCESS;
    for (const auto& part : handle.parts) {
        wait_one(*part, call);
        if (part->error != QMP_SUCCESS) [[unlikely]]
            handle.error = part->error;
    }
    handle.active = false;
}

bool complete(Handle& handle, const char* call) {
    if (!handle.active) return true;
    if (handle.kind != Kind::multiple) {
        const core::Request& request = handle.request();
        if (!request.complete()) runtime().progress_for(call, core::AwaitedRequest(request));
        if (!request.complete()) return false;
        record_completion(handle, call);
        return true;
    }
    bool all = true;
    for (const auto& part : handle.parts) all = complete(*part, call) && all;
    if (all) handle.active = false;
    return all;
}

inline Handle& existing(QMP_msghandle_t handle, const char* call) {
    if (hot.runtime.load(std::memory_order_relaxed) == nullptr) [[unlikely]]
        running(call);
    if (handle == nullptr) [[unlikely]]
        fail(call, "found a null handle");
    return *handle;
}

}  // namespace

}  // namespace torusmp::qmp

using namespace torusmp::qmp;

extern "C" {

// ---- declaring ----

QMP_msghandle_t QMP_comm_declare_receive_from(QMP_comm_t comm, QMP_msgmem_t m, int rem_node_rank,
                                              int priority) {
    const char* const call = __func__;
    _QMP_UNUSED_ARGUMENT(priority);
    return guarded(call, [&] {
        return declare_message(Kind::receive, checked(comm, call), m, rem_node_rank, -1, 0, call);
    });
}
QMP_msghandle_t QMP_declare_receive_from(QMP_msgmem_t m, int rem_node_rank, int priority) {
    const char* const call = __func__;
    _QMP_UNUSED_ARGUMENT(priority);
    return guarded(call, [&] {
        return declare_message(Kind::receive, default_comm(call), m, rem_node_rank, -1, 0, call);
    });
}
QMP_msghandle_t QMP_comm_declare_send_to(QMP_comm_t comm, QMP_msgmem_t m, int rem_node_rank,
                                         int priority) {
    const char* const call = __func__;
    _QMP_UNUSED_ARGUMENT(priority);
    return guarded(call, [&] {
        return declare_message(Kind::send, checked(comm, call), m, rem_node_rank, -1, 0, call);
    });
}
QMP_msghandle_t QMP_declare_send_to(QMP_msgmem_t m, int rem_node_rank, int priority) {
    const char* const call = __func__;
    _QMP_UNUSED_ARGUMENT(priority);
    return guarded(call, [&] {
        return declare_message(Kind::send, default_comm(call), m, rem_node_rank, -1, 0, call);
    });
}
QMP_msghandle_t QMP_comm_declare_receive_relative(QMP_comm_t comm, QMP_msgmem_t m, int axis,
                                                  int dir, int priority) {
    const char* const call = __func__;
    _QMP_UNUSED_ARGUMENT(priority);
    return guarded(call, [&] {
        return declare_relative(Kind::receive, checked(comm, call), m, axis, dir, call);
    });
}
QMP_msghandle_t QMP_declare_receive_relative(QMP_msgmem_t m, int axis, int dir, int priority) {
    const char* const call = __func__;
    _QMP_UNUSED_ARGUMENT(priority);
    return guarded(call, [&] {
        return declare_relative(Kind::receive, default_comm(call), m, axis, dir, call);
    });
}
QMP_msghandle_t QMP_comm_declare_send_relative(QMP_comm_t comm, QMP_msgmem_t m, int axis, int dir,
                                               int priority) {
    const char* const call = __func__;
    _QMP_UNUSED_ARGUMENT(priority);
    return guarded(call, [&] {
        return declare_relative(Kind::send, checked(comm, call), m, axis, dir, call);
    });
}
QMP_msghandle_t QMP_declare_send_relative(QMP_msgmem_t m, int axis, int dir, int priority) {
    const char* const call = __func__;
    _QMP_UNUSED_ARGUMENT(priority);
    return guarded(
        call, [&] { return declare_relative(Kind::send, default_comm(call), m, axis, dir, call); });
}

QMP_msghandle_t QMP_declare_multiple(QMP_msghandle_t msgh[], int num) {
    const char* const call = __func__;
    return guarded(call, [&] { return join(msgh, num, call); });
}
QMP_msghandle_t QMP_declare_send_recv_pairs(QMP_msghandle_t msgh[], int num) {
    const char* const call = __func__;
    return guarded(call, [&] { return join(msgh, num, call); });
}

QMP_status_t QMP_change_address(QMP_msghandle_t msg, void* addr) {
    const char* const call = __func__;
    return guarded(call, [&] {
        Handle& handle = idle(msg, call);
        if (handle.kind == Kind::multiple)
            fail(call,
                 "found a multiple, expected a send or a receive: see "
                 "QMP_change_address_multiple");
        if (handle.part)
            fail(call, fmt::format("the {} is part of a multiple: see QMP_change_address_multiple",
                                   handle.describe()));
        move_to(handle, addr);
        return QMP_SUCCESS;
    });
}
QMP_status_t QMP_change_address_multiple(QMP_msghandle_t msg, void* addr[], int naddr) {
    const char* const call = __func__;
    return guarded(call, [&] {
        Handle& handle = idle(msg, call);
        if (handle.kind != Kind::multiple) fail(call, "found a single handle, expected a multiple");
        if (naddr < 0 || std::size_t(naddr) != handle.parts.size())
            fail(call, fmt::format("found {} addresses, expected {}, one for each message", naddr,
                                   handle.parts.size()));
        for (std::size_t i = 0; i < handle.parts.size(); ++i) move_to(*handle.parts[i], addr[i]);
        return QMP_SUCCESS;
    });
}

void QMP_free_msghandle(QMP_msghandle_t h) {
    const char* const call = __func__;
    guarded(call, [&] { release(h, call); });
}

QMP_status_t QMP_clear_to_send(QMP_msghandle_t mh, QMP_clear_to_send_t cts) {
    const char* const call = __func__;
    return guarded(call, [&] {
        Handle& handle = idle(mh, call);
        const int found = number_of(cts);
        if (found < QMP_CTS_DISABLED || found > QMP_CTS_READY)
            return complain(QMP_INVALID_ARG, call,
                            fmt::format("found {}, expected QMP_CTS_...", found));
        handle.clear_to_send = cts;
        return QMP_SUCCESS;
    });
}

// ---- starting and waiting: no guard; the only exception is out of memory in core ----

QMP_status_t QMP_start(QMP_msghandle_t h) {
    Handle& handle = existing(h, __func__);
    const CallTimer timer;
    start(handle, __func__);
    return QMP_SUCCESS;
}

QMP_status_t QMP_wait(QMP_msghandle_t h) {
    Handle& handle = existing(h, __func__);
    const CallTimer timer;
    wait(handle, __func__);
    return handle.error;
}

QMP_status_t QMP_wait_all(QMP_msghandle_t h[], int num) {
    running(__func__);
    if (num < 0 || (num > 0 && h == nullptr))
        return complain(QMP_INVALID_ARG, __func__, "found a null array or a negative count");
    const CallTimer timer;
    for (int i = 0; i < num; ++i) existing(h[i], __func__);
    QMP_status_t status = QMP_SUCCESS;
    for (int i = 0; i < num; ++i) {
        wait(*h[i], __func__);
        if (h[i]->error != QMP_SUCCESS) status = h[i]->error;
    }
    return status;
}

QMP_bool_t QMP_is_complete(QMP_msghandle_t h) {
    Handle& handle = existing(h, __func__);
    const CallTimer timer;
    return complete(handle, __func__) ? QMP_TRUE : QMP_FALSE;
}

// ---- errors ----

QMP_status_t QMP_get_error_number(QMP_msghandle_t mh) {
    return mh == nullptr ? library().last_error.load() : mh->error;
}
const char* QMP_get_error_string(QMP_msghandle_t mh) {
    return QMP_error_string(QMP_get_error_number(mh));
}
}
