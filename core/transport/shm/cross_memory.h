// SPDX-License-Identifier: BSD-3-Clause
// Copies between the private memories of two processes by the kernel: process_vm_readv/writev.
//
// This takes one copy instead of two, but the kernel pins every page of the other side, which can
// cost more than a second copy through the cache. Whether it pays is measured once, at the first
// large message to private memory; if the kernel forbids it, packets carry the message, and nothing
// is reported.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/transport/api/interface.h"
#include "core/transport/shm/segment.h"

namespace torusmp::transport::shm {

enum class CopyMode { automatic, one_copy, packets };

// Whether the kernel permits access to that process's memory; reads one word of it.
bool reaches(const Segment& peer);

// Copies between one stretch of the other memory and at most most_pieces pieces of ours.
inline constexpr std::size_t most_pieces = 64;
Transfer copy_to(pid_t process, std::uint64_t remote, std::span<const ConstBytes> local);
Transfer copy_from(pid_t process, std::uint64_t remote, std::span<const Bytes> local);

// Decides once, for all channels of an interface.
class CrossMemory {
  public:
    // crowded: ranks outnumber cores, so the two copies of the packet path do not run side by side.
    CrossMemory(CopyMode mode, bool crowded) : mode_(mode), crowded_(crowded) {}
    bool pays();

  private:
    CopyMode mode_;
    bool crowded_;
    std::optional<bool> measured_;
};

}  // namespace torusmp::transport::shm
