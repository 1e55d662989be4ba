// SPDX-License-Identifier: BSD-3-Clause
// Copies between the private memories of two processes by the kernel: process_vm_readv/writev.
//
// This takes one copy instead of two, but the kernel pins every page of the other side, which can
// cost more than a second copy through the cache. Both are estimated at the first large message to
// private memory, within this process, and then corrected by what real messages take: virtual
// machines move, and two cores that were near each other are far apart a minute later. If the
// kernel forbids the copy, packets carry the message, and nothing is reported.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
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

// The rate at which one end of a channel copies payloads to or from slots, in MB/s, which the other
// end may see.
class Rate {
  public:
    explicit Rate(std::atomic<std::uint32_t>& published) : published_(published) {}
    // Every so many payloads are timed, if they are long enough to tell. Null: not this one.
    Rate* due(std::size_t bytes) {
        return bytes >= timed_from && ++payloads_ % timed_every == 0 ? this : nullptr;
    }
    // Lives while a payload is copied; null for one that is not timed.
    class Sample {
      public:
        Sample(Rate* rate, std::size_t bytes);
        ~Sample();
        Sample(const Sample&) = delete;
        Sample& operator=(const Sample&) = delete;

      private:
        Rate* rate_;
        std::size_t bytes_;
        Clock::time_point begin_;
    };

  private:
    static constexpr std::size_t timed_from = 8192;
    static constexpr unsigned timed_every = 8;
    void add(double sample);

    std::atomic<std::uint32_t>& published_;
    double value_ = 0;
    unsigned payloads_ = 0;
};

// Decides for all channels of an interface.
class CrossMemory {
  public:
    // crowded: ranks outnumber cores, so the two copies of the packet path do not run side by side.
    CrossMemory(CopyMode mode, bool crowded) : mode_(mode), crowded_(crowded) {}
    // by_packets: the rate of the packet path, MB/s; 0: not known.
    bool pays(std::uint32_t by_packets);
    // What pays() said last: the copy that follows must not decide anew.
    bool chosen() const { return chosen_; }
    // The kernel has copied this much for a message.
    void copied(std::size_t bytes, Clock::duration time);

  private:
    void estimate();

    CopyMode mode_;
    bool crowded_;
    bool estimated_ = false;
    double by_kernel_ = 0;   // MB/s
    double by_packets_ = 0;  // MB/s, before the ends know better
    bool by_kernel_now_ = false;
    bool chosen_ = false;
    unsigned asked_ = 0;
};

}  // namespace torusmp::transport::shm
