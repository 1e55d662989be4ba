// SPDX-License-Identifier: BSD-3-Clause
// A rank's control page: memory shared with the daemon of its host, in which the rank publishes its
// state. It does so when the daemon asks, when it has waited for a while, and when such a wait
// ends; in between it writes nothing, so the page costs messages nothing. A rank that does not
// answer and has not published a wait is computing.
//
// The rank is the only writer, except of `asked`. A reader trusts nothing: it may find any bits.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "routing/torus.h"

namespace torusmp::core {

// Raised with every change to the layout below.
inline constexpr std::uint32_t page_version = 4;
inline constexpr std::uint64_t page_magic = 0x6567617073757274;  // "truspage"

// Counters of one path out of a rank since it started. Eager messages travel whole in one packet;
// rendezvous messages are written to the receiver's memory, read by the receiver, or sent in many
// packets.
struct WayCounts {
    static constexpr int no_peer = -1;  // the path does not exist

    std::int64_t peer = no_peer;
    std::uint64_t flags = 0;  // WayFlag
    std::array<char, 16> transport{};

    std::uint64_t packets_sent = 0, bytes_sent = 0;  // payload, relayed packets included
    std::uint64_t packets_received = 0, bytes_received = 0;
    std::uint64_t bytes_written = 0;  // by remote writes of this rank to the peer's memory
    std::uint64_t bytes_read = 0;     // by remote reads from it
    std::uint64_t eager_messages = 0, eager_bytes = 0;
    std::uint64_t rendezvous_messages = 0;  // sent
    std::uint64_t streamed_bytes = 0;       // of the rendezvous messages, the bytes sent in packets
    std::uint64_t relayed_packets = 0, relayed_bytes = 0;
    std::uint64_t credit_waits = 0;  // times a packet had to wait for a credit
    std::uint64_t resent = 0;        // packets and remote writes sent again after a cable's death

    friend bool operator==(const WayCounts&, const WayCounts&) = default;
};

enum WayFlag : std::uint64_t {
    way_is_link = 1,  // a cable of its own; otherwise a connection inside the host
    way_is_down = 2,
    way_detours = 4,  // the link's cable is dead, and it goes over other cables
};

// The packets that a transport has received over a link and counted itself, see
// transport::Channel::Arrivals.
struct LinkArrivals {
    std::uint32_t device = 0;  // index of the network device; 0 if nothing is counted
    std::uint32_t session = 0;
    std::uint64_t packets = 0, lost = 0;
};

// Accesses to windows since the rank started, and what is open.
struct WindowCounts {
    std::uint64_t direct = 0;      // of this rank, to memory that it maps or that the kernel copies
    std::uint64_t sent = 0;        // of this rank, in packets or messages
    std::uint64_t served = 0;      // of other ranks, that arrived here
    std::uint64_t open = 0;        // accesses, flushes and locks of this rank that are not complete
    std::uint64_t lock_waits = 0;  // requests for locks that wait at this rank

    friend bool operator==(const WindowCounts&, const WindowCounts&) = default;
};

// The paths in each direction of the torus (Direction::index()), and one for the sum of all others.
inline constexpr int page_ways = 2 * routing::max_dimensions + 1;
inline constexpr int other_ways = page_ways - 1;

enum class Phase : std::uint32_t { joining, running, left };

enum class WaitKind : std::uint32_t {
    none,        // was not waiting when it published
    receive,     // a message that has not arrived
    arriving,    // the rest of a message that has begun to arrive
    send,        // the peer's receive of a large message
    sending,     // a message that has to leave
    credit,      // a link credit needed to send
    collective,  // other ranks in a collective call: `detail` names the call and the ranks
    access,      // the target of an access to a window; for a lock, its holder, named in `detail`
    other        // something else: `detail` may describe it
};

struct PageState {
    std::int64_t at = 0;  // time of publication, ns of the steady clock
    Phase phase = Phase::joining;
    WaitKind wait = WaitKind::none;
    std::int64_t since = 0;  // start of the wait, ns of the steady clock
    std::int32_t peer = -1;  // the awaited peer; -1 if none, or any
    std::int32_t tag = -1;   // -1 for any or none
    std::uint32_t context = 0;
    std::uint32_t reserved = 0;
    std::uint64_t bytes = 0;         // size of the message
    std::array<char, 40> call{};     // the waiting call, such as "MPI_Recv"
    std::array<char, 120> detail{};  // terminated by 0, like the strings above

    std::uint64_t posted = 0;       // receives without a message
    std::uint64_t unexpected = 0;   // messages without a receive
    std::uint64_t requests = 0;     // open ones
    std::uint64_t collectives = 0;  // running ones
    WindowCounts windows;
    std::array<WayCounts, page_ways> ways{};
    std::array<LinkArrivals, other_ways> arrivals{};  // by direction
};
static_assert(std::is_trivially_copyable_v<PageState> &&
              sizeof(PageState) % sizeof(std::uint64_t) == 0);

class ControlPage {
  public:
    // The bits of `asked` request work of the next thread that runs in the Runtime.
    enum : unsigned {
        report_wanted = 1,
        interrupt_wanted = 2,
        state_wanted = 4,
        answer_wanted = 8
    };

    ControlPage() = default;
    ControlPage(const ControlPage&) = delete;
    ControlPage& operator=(const ControlPage&) = delete;

    bool valid() const {
        return magic_ == page_magic && version_ == page_version && bytes_ == sizeof(ControlPage);
    }
    std::uint32_t version() const { return magic_ == page_magic ? version_ : 0; }

    std::atomic<unsigned>& asked() { return asked_; }

    // Called by the only writer.
    void publish(const PageState& state) {
        const std::uint32_t odd = sequence_.load(std::memory_order_relaxed) + 1;
        sequence_.store(odd, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_release);
        const auto copy = std::bit_cast<Words>(state);
        for (std::size_t i = 0; i < words; ++i) state_[i].store(copy[i], std::memory_order_relaxed);
        sequence_.store(odd + 1, std::memory_order_release);
    }
    // What the rank is doing outside of memory, such as "writing /scratch/x"; empty if nothing. A
    // process that maps the page still finds it when the rank has died. `number` is not 0, and
    // identifies the text. One thread at a time copies the text, and only if it differs from the
    // last one.
    bool last_deed_was(std::uint64_t number) const {
        return deed_number_.load(std::memory_order_relaxed) == number;
    }
    void copy_deed(std::uint64_t number, std::string_view text) {
        std::array<char, longest_deed + 1> padded{};
        std::copy_n(text.begin(), std::min(text.size(), longest_deed), padded.begin());
        const auto copy = std::bit_cast<Deed>(padded);
        for (std::size_t i = 0; i < deed_.size(); ++i)
            deed_[i].store(copy[i], std::memory_order_relaxed);
        deed_number_.store(number, std::memory_order_relaxed);
    }
    void begin_deed() { in_deed_.store(1, std::memory_order_relaxed); }
    void end_deed() { in_deed_.store(0, std::memory_order_relaxed); }
    std::string deed() const {
        if (in_deed_.load(std::memory_order_relaxed) == 0) return {};
        Deed copy;
        for (std::size_t i = 0; i < copy.size(); ++i)
            copy[i] = deed_[i].load(std::memory_order_relaxed);
        const auto text = std::bit_cast<std::array<char, longest_deed + 1>>(copy);
        return {text.data(),
                std::size_t(std::find(text.begin(), text.end() - 1, '\0') - text.begin())};
    }
    // Returns nullopt if the page changes all the time: its process may be broken.
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
    static constexpr std::size_t longest_deed = 127;
    using Deed = std::array<std::uint64_t, (longest_deed + 1) / sizeof(std::uint64_t)>;

    std::uint64_t magic_ = page_magic;
    std::uint32_t version_ = page_version;
    std::uint32_t bytes_ = sizeof(ControlPage);
    // Has a cache line of its own, because every poll reads it.
    alignas(64) std::atomic<unsigned> asked_{0};
    alignas(64) std::atomic<std::uint32_t> sequence_{0};
    std::array<std::atomic<std::uint64_t>, words> state_{};
    std::array<std::atomic<std::uint64_t>, std::tuple_size_v<Deed>> deed_{};
    std::atomic<std::uint64_t> deed_number_{0}, in_deed_{0};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Converts to the page's and the daemon's time: all processes of a host share the clock.
inline std::int64_t page_time(std::chrono::steady_clock::time_point time) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

}  // namespace torusmp::core
