// SPDX-License-Identifier: BSD-3-Clause
// Accesses to the memory of another process of this host that this one does not map: the kernel
// copies, and the process is not involved.
//
// The functions return false if the kernel refuses, because the process is gone (errno is ESRCH) or
// its memory. Used under the Runtime's lock.
#pragma once

#include "core/rma/control.h"
#include "core/rma/operation.h"
#include "core/transport/api/memory.h"

namespace torusmp::core::rma {

struct Reach {
    Connection* connection = nullptr;  // null if not reached
    transport::RemoteMemory memory{};
};

bool put(const Reach& there, const Place& place, const Buffer& from);
bool get(const Reach& there, const Place& place, const Buffer& to);
// As apply() and compare_and_swap() of control.h.
bool apply(Control& control, const Reach& there, const Arithmetic& arithmetic, const Buffer& origin,
           const Place& place, const Buffer* result);
bool compare_and_swap(Control& control, const Reach& there, const Place& place,
                      const std::byte* expected, const std::byte* desired, std::byte* result);

}  // namespace torusmp::core::rma
