// What the kernel allows this process beyond its user. Any thread may call.
#pragma once

namespace torusmp::base {

// CAP_IPC_LOCK, ... of linux/capability.h.
bool has_capability(int capability);

}  // namespace torusmp::base
