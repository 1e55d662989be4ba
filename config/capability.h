// What the kernel allows this process beyond its user. Any thread may call.
#pragma once

namespace torusmp::config {

// CAP_IPC_LOCK, ... of linux/capability.h.
bool has_capability(int capability);

}  // namespace torusmp::config
