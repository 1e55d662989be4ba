// SPDX-License-Identifier: BSD-3-Clause
// Copies between the private memories of two processes by the kernel: process_vm_readv/writev.
//
// This takes one copy instead of two, but each call of the kernel takes some time, and it pins
// every page of the other side, which can cost more than a second copy through the cache. The time
// of either way is estimated at the first large message to private memory, within this process, and
// then corrected by what real messages take: virtual machines move, and two cores that were near
// each other are far apart a minute later. If the kernel forbids the copy, packets carry the
// message, and nothing is reported.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/rate.h"
#include "core/transport/api/interface.h"
#include "core/transport/shm/segment.h"
#include "core/transport/shm/shared_copy.h"

namespace torusmp::transport::shm {

enum class CopyMode { automatic, one_copy, packets };

// Whether the kernel permits access to that process's memory; reads one word of it.
bool reaches(const Segment& peer);

// Copies between one stretch of the other memory and at most most_pieces pieces of ours.
inline constexpr std::size_t most_pieces = 64;
Transfer copy_to(pid_t process, std::uint64_t remote, std::span<const ConstBytes> local);
Transfer copy_from(pid_t process, std::uint64_t remote, std::span<const Bytes> local);

// Decides for all channels of an interface.
class CrossMemory {
  public:
    // `oversubscribed` means that ranks outnumber cores, so the two copies of the packet path do
    // not run side by side.
    CrossMemory(CopyMode mode, bool oversubscribed)
        : mode_(mode), oversubscribed_(oversubscribed) {}
    // The packet path, on which each end copies the payloads of a message.
    struct PacketPath {
        std::size_t payload;  // bytes, of each packet but the last
        std::uint32_t read,
            write;  // rates of the two ends, MB/s; 0: not known, then packets find out
    };
    // Whether both ends may copy a message of that length, each a part; `more`: further messages
    // wait.
    bool is_shared(std::size_t bytes, bool more) const {
        return !oversubscribed_ &&
               bytes >= (more ? SharedCopy::shortest_of_many : SharedCopy::shortest);
    }
    bool pays(std::size_t bytes, const PacketPath& path);
    // The rate at which the kernel copies once it has begun, MB/s; 0: it is not asked to.
    double kernel_rate();
    // The same for a message of that length, with the time until it begins.
    double kernel_rate_of(std::size_t bytes);
    // Whether to copy at all.
    bool allowed() const { return mode_ != CopyMode::packets; }
    // The kernel has copied this much for a message.
    void copied(std::size_t bytes, Clock::duration time);
    // Copies of all channels that wait for the other end's piece.
    int pending = 0;

  private:
    void estimate();
    double rate_of(std::size_t bytes, const PacketPath& path) const;

    CopyMode mode_;
    bool oversubscribed_;
    bool estimated_ = false;
    double by_kernel_ = 0;  // MB/s, as estimated, until it is measured
    double call_time_ = 0;  // of the kernel, before it copies anything, us
    std::atomic<std::uint32_t> measured_{0};
    Rate rate_{measured_, 1};
    double by_packets_ = 0;  // MB/s, as estimated
    OtherWay kernel_;
};

}  // namespace torusmp::transport::shm
