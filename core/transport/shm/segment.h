// SPDX-License-Identifier: BSD-3-Clause
// The shared memory of one rank: a control page, the slot queues that peers fill, and the heap,
// from which the program gets memory.
//
// Each rank creates one anonymous memory file; peers open it through /proc/PID/fd, so no name can
// be left behind, and the kernel frees it with its last user. The file is sparse: a slot queue
// takes memory when it is first used, and needs no other setup.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/descriptor.h"
#include "core/transport/api/interface.h"
#include "core/transport/shm/shared_copy.h"

namespace torusmp::transport::shm {

// The data that a peer needs to find a segment; the Interface's address.
struct Address {
    std::uint32_t magic;
    std::uint32_t pid;
    std::uint32_t descriptor;
    std::uint32_t bell;   // write end of a pipe that wakes the owner; no_bell: it sleeps on a futex
    std::uint64_t nonce;  // drawn by the owner; distinguishes its segment from one of a reused pid
    std::uint64_t bytes;  // of the whole file
};
static_assert(sizeof(Address) == 32);

// The value of Address::bell if the owner has none.
inline constexpr std::uint32_t no_bell = ~0u;
// Values of Control::sleeping.
inline constexpr std::uint32_t sleeps_on_futex = 1;
inline constexpr std::uint32_t sleeps_on_bell = 2;

inline constexpr std::uint64_t page = 4096;
constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t to) {
    return (value + to - 1) / to * to;
}

// The size of a slot's line: a packet's header and, if it fits, its payload.
inline constexpr std::size_t line_bytes = 256;
inline constexpr std::size_t inline_bytes = line_bytes - sizeof(PacketHeader);

// One port in shared memory. Its first cache lines are written once, before any peer maps it.
struct alignas(64) Port {
    std::uint32_t port;
    std::uint32_t virtual_channels;
    std::uint64_t
        lines[max_virtual_channels];  // offset of each virtual channel's slot lines in the file
    std::uint64_t bulk_stride;        // bytes from one slot's bulk to the next
    // Bytes of virtual channel 0's bulk if payloads are placed one behind the other; 0: in blocks.
    std::uint64_t round_bytes;
    // A virtual channel's bulk follows its lines: payload that does not fit into the line.
    std::uint8_t slots[max_virtual_channels];
    // Credits that the peer on this port has returned for what we sent it.
    alignas(64) std::atomic<std::uint64_t> granted;
    // 0 if idle, 1 once the peer has connected, 2 once the owner has connected as well.
    std::atomic<std::uint32_t> active;
    // The rates at which the owner reads the payloads of this port and the peer writes them, MB/s;
    // 0: not known.
    alignas(64) std::atomic<std::uint32_t> read_rate;
    std::atomic<std::uint32_t> write_rate;
    // A copy that the owner has started.
    CopyPlan copy;
};

struct Control {
    std::uint64_t magic;
    std::uint64_t nonce;
    std::uint64_t heap_offset;
    std::uint64_t heap_bytes;
    std::uint64_t program_bytes;  // of these, at the end, for the program's large blocks
    std::uint64_t heap_address;   // in the owner's process
    std::uint64_t probe_address;  // of a word in the owner's private memory that holds `nonce`
    std::uint32_t port_count;
    std::uint32_t
        sleeper_fences;  // 1 if the owner makes every peer's stores visible before it sleeps
    // 0 if the owner is awake; otherwise the method by which it sleeps, or is about to.
    alignas(64) std::atomic<std::uint32_t> sleeping;
    // The owner's descriptor of a bell that it has made later; 0 if none. See Segment::add_bell().
    std::atomic<std::uint32_t> late_bell;
    // Incremented by every peer that connects.
    alignas(64) std::atomic<std::uint32_t> knocks;
    // Incremented by every peer that has started a copy with which the owner may help.
    std::atomic<std::uint32_t> calls;
    // 1 once a peer has begun to return the program's large blocks to the system.
    std::atomic<std::uint32_t> discarded;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

// A mapping of a whole segment; the owner's also closes the file when it is unmapped.
class Segment {
  public:
    // Creates a segment with these ports. With `with_bell`, the owner will sleep on bell() instead
    // of the futex. Each port has at least `round_bytes` bytes of bulk, in which payloads are
    // placed one behind the other; with 0, each payload is in a block. Throws std::runtime_error
    // with the reason.
    static std::unique_ptr<Segment> create(const std::vector<PortOptions>& ports,
                                           bool with_bell = false, std::uint64_t round_bytes = 0);
    // Maps a peer's segment. Throws std::runtime_error that names the process and the remedy.
    static std::unique_ptr<Segment> open(const Address& address);
    ~Segment();
    Segment(const Segment&) = delete;
    Segment& operator=(const Segment&) = delete;

    const Address& address() const { return address_; }
    Control& control() const { return *reinterpret_cast<Control*>(base_); }
    Port& port(std::size_t index) const;
    Port* find_port(std::uint32_t port) const;
    std::byte* at(std::uint64_t offset) const { return base_ + offset; }
    Bytes heap() const { return {base_ + control().heap_offset, control().heap_bytes}; }
    // Its parts: what the program requests from torusmp and what ranks share, and the program's
    // large blocks.
    Bytes library_part() const {
        return heap().first(control().heap_bytes - control().program_bytes);
    }
    Bytes program_part() const { return heap().last(control().program_bytes); }
    // The owner's descriptor that is readable when a peer has rung; -1 if it has no bell.
    int bell() const { return bell_read_.get(); }
    // Makes a bell for an owner without one; peers open it when they first ring it. Throws
    // std::runtime_error.
    void add_bell();
    void silence_bell() const;
    // Wakes the owner if it sleeps; may be called from any thread of any process and from signal
    // handlers. The data must be written before, with a fence in between.
    void wake() const noexcept;
    // Sets whether pages of the owner's heap are written to core dumps; initially no part of a
    // segment is.
    static void show_in_dumps(Bytes pages, bool shown);
    // Returns pages of the owner's heap to the system; false if it does not take them.
    bool discard(Bytes pages) const;
    // Returns the program's large blocks of an owner that has ended to the system. Without effect
    // if its process is not known to have ended.
    void discard_program_part() const;
    // Whether what was read here from such blocks before this call is what their owner wrote.
    bool has_program_part() const {
        std::atomic_thread_fence(std::memory_order_acquire);
        return control().discarded.load(std::memory_order_relaxed) == 0;
    }
    // In the child of a fork: its stores to these pages of the heap are private from now on.
    void make_private(Bytes pages) const;

  private:
    Segment(int descriptor, std::byte* base, const Address& address);

    int late_bell() const noexcept;

    int descriptor_;  // -1 in a peer's mapping
    base::Descriptor bell_read_;
    base::Descriptor bell_write_;
    // A peer's descriptor of the owner's late bell, once it was rung.
    mutable std::atomic<int> late_bell_{-1};
    std::byte* base_;
    Address address_;
    std::unique_ptr<std::uint64_t> probe_;
};

}  // namespace torusmp::transport::shm
