// SPDX-License-Identifier: BSD-3-Clause
// QMP_msghandle_t: one end of a declared message, or several joined.
//
// Owned by the program, which frees it; a multiple owns its parts. One thread at a time may use a
// handle. Starting and waiting do not allocate and take no lock of this module.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/api.h"
#include "qmp/memory.h"

struct QMP_msghandle_struct {
    enum class Kind : std::uint8_t { send, receive, multiple };

    explicit QMP_msghandle_struct(Kind handle_kind) : kind(handle_kind) {}

    const Kind kind;
    bool active = false;  // started and not yet waited for
    bool part = false;    // of a multiple
    QMP_clear_to_send_t clear_to_send = QMP_CTS_DISABLED;
    QMP_status_t error = QMP_SUCCESS;

    // For a send or receive:
    torusmp::core::Buffer buffer;
    torusmp::core::SendFlow* send_flow = nullptr;
    torusmp::core::ReceiveFlow* receive_flow = nullptr;
    torusmp::core::SendRequest send;
    torusmp::core::ReceiveRequest receive;
    QMP_msgmem_struct memory;
    int peer = -1;  // node number
    int axis = -1;  // the dimension of a relative message; -1 if by number
    int direction = 0;
    bool followed = false;  // followed in its multiple by a further send to the same node

    // For a multiple:
    std::vector<std::unique_ptr<QMP_msghandle_struct>> parts;

    torusmp::core::Request& request() {
        if (kind == Kind::send) return send;
        return receive;
    }
    // "send of 64 bytes to node 3 (dimension 0, direction +1)"
    std::string describe() const;
};

namespace torusmp::qmp {

// Reports declared but not started handles, and the names of communicators, in reports of waits,
// from this call to end_reports().
void begin_reports();
void end_reports();
// The handles in flight at the end of the job: one line for each; empty if none.
std::string handles_in_flight();

}  // namespace torusmp::qmp
