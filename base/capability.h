// SPDX-License-Identifier: BSD-3-Clause
// The capabilities of this process. Any thread may call.
#pragma once

namespace torusmp::base {

// CAP_IPC_LOCK and so on, see linux/capability.h.
bool has_capability(int capability);

}  // namespace torusmp::base
