// SPDX-License-Identifier: BSD-3-Clause
// What a rank tells about itself while it runs: its control page, memory that it shares with the
// daemon of its host. The rank publishes its state there when the daemon asks, when it has waited
// for a while, and when such a wait ends; between these nothing is written, so that the page costs
// messages nothing. Who sees that a rank does not answer, and that it does not wait, knows that it
// computes.
//
// The rank is the only writer, but for `asked`. A reader trusts nothing: it may find any bits.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "routing/torus.h"

namespace torusmp::core {

// Raised with every change of what follows.
inline constexpr std::uint32_t page_version = 1;
inline constexpr std::uint64_t page_magic = 0x6567617073757274;  // "truspage"

// What has been counted on one way out of a rank since it started. Eager messages are whole in one
// packet; those by rendezvous are written to the receiver's memory, read by the receiver, or come
// in many packets.
struct WayCounts {
    static constexpr int no_peer = -1;  // there is no such way

    std::int64_t peer = no_peer;
    std::uint64_t flags = 0;  // WayFlag
    std::array<char, 16> transport{};

    std::uint64_t packets_sent = 0, bytes_sent = 0;  // payload, relayed packets included
    std::uint64_t packets_received = 0, bytes_received = 0;
    std::uint64_t bytes_written = 0;  // remotely, by this rank in the peer's memory
    std::uint64_t bytes_read = 0;     // and from it
    std::uint64_t eager_messages = 0, eager_bytes = 0;
    std::uint64_t rendezvous_messages = 0;  // sent
    std::uint64_t streamed_bytes = 0;       // of them, in packets
    std::uint64_t relayed_packets = 0, relayed_bytes = 0;
    std::uint64_t credit_waits = 0;  // times a packet had to wait for a credit
    std::uint64_t resent = 0;        // packets and remote writes sent again after a cable's death

    friend bool operator==(const WayCounts&, const WayCounts&) = default;
};

enum WayFlag : std::uint64_t {
    way_is_link = 1,  // a cable of its own; else a connection inside the host
    way_is_down = 2,
    way_detours = 4,  // the link's cable is dead, and it goes over others
};

// The ways in each direction of the torus (Direction::index()), and one that sums up all others.
inline constexpr int page_ways = 2 * routing::max_dimensions + 1;
inline constexpr int other_ways = page_ways - 1;

enum class Phase : std::uint32_t { joining, running, left };

enum class WaitKind : std::uint32_t {
    none,        // it did not wait when it published
    receive,     // a message that has not come
    arriving,    // the rest of one that has begun to come
    send,        // the peer to receive a large message
    sending,     // a message to leave
    credit,      // a credit of a link, to send
    collective,  // others in a collective call: `detail` says which, and whom
    other        // something else: `detail` may say what
};

struct PageState {
    std::int64_t at = 0;  // ns of the steady clock: when this was published
    Phase phase = Phase::joining;
    WaitKind wait = WaitKind::none;
    std::int64_t since = 0;  // of the wait, ns of the steady clock
    std::int32_t peer = -1;  // whom it waits for; -1: nobody, or anybody
    std::int32_t tag = -1;   // -1: any, or none
    std::uint32_t context = 0;
    std::uint32_t reserved = 0;
    std::uint64_t bytes = 0;         // of the message
    std::array<char, 40> call{};     // in which it waits: "MPI_Recv"
    std::array<char, 120> detail{};  // like the strings above, 0 at the end

    std::uint64_t posted = 0;       // receives without a message
    std::uint64_t unexpected = 0;   // messages without a receive
    std::uint64_t requests = 0;     // open
    std::uint64_t collectives = 0;  // under way
    std::array<WayCounts, page_ways> ways{};
};
static_assert(std::is_trivially_copyable_v<PageState> &&
              sizeof(PageState) % sizeof(std::uint64_t) == 0);

class ControlPage {
  public:
    // Bits of `asked`: what the thread that next runs in the Runtime shall do.
    enum : unsigned { report_wanted = 1, interrupt_wanted = 2, state_wanted = 4, answer_wanted = 8 };

    ControlPage() = default;
    ControlPage(const ControlPage&) = delete;
    ControlPage& operator=(const ControlPage&) = delete;

    bool valid() const {
        return magic_ == page_magic && version_ == page_version && bytes_ == sizeof(ControlPage);
    }
    std::uint32_t version() const { return magic_ == page_magic ? version_ : 0; }

    std::atomic<unsigned>& asked() { return asked_; }

    // By the one writer.
    void publish(const PageState& state) {
        const std::uint32_t odd = sequence_.load(std::memory_order_relaxed) + 1;
        sequence_.store(odd, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_release);
        const auto copy = std::bit_cast<Words>(state);
        for (std::size_t i = 0; i < words; ++i) state_[i].store(copy[i], std::memory_order_relaxed);
        sequence_.store(odd + 1, std::memory_order_release);
    }
    // Nothing: it is being written all the time, by a process that may be broken.
    std::optional<PageState> read() const {
        for (int attempt = 0; attempt < 100; ++attempt) {
            const std::uint32_t before = sequence_.load(std::memory_order_acquire);
            Words copy;
            for (std::size_t i = 0; i < words; ++i)
                copy[i] = state_[i].load(std::memory_order_relaxed);
            std::atomic_thread_fence(std::memory_order_acquire);
            if (before % 2 != 0 || sequence_.load(std::memory_order_relaxed) != before) continue;
            return std::bit_cast<PageState>(copy);
        }
        return std::nullopt;
    }

  private:
    static constexpr std::size_t words = sizeof(PageState) / sizeof(std::uint64_t);
    using Words = std::array<std::uint64_t, words>;

    std::uint64_t magic_ = page_magic;
    std::uint32_t version_ = page_version;
    std::uint32_t bytes_ = sizeof(ControlPage);
    // A line of its own: every poll looks at it.
    alignas(64) std::atomic<unsigned> asked_{0};
    alignas(64) std::atomic<std::uint32_t> sequence_{0};
    std::array<std::atomic<std::uint64_t>, words> state_{};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// As the page and the daemon count time: the clock is the same for all processes of a host.
inline std::int64_t page_time(std::chrono::steady_clock::time_point time) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

}  // namespace torusmp::core
