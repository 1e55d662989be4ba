// SPDX-License-Identifier: BSD-3-Clause
// What the kernel allows this process beyond what its user may do. Any thread may call.
#pragma once

namespace torusmp::base {

// CAP_IPC_LOCK and so on, see linux/capability.h.
bool has_capability(int capability);

}  // namespace torusmp::base
