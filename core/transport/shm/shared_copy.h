// SPDX-License-Identifier: BSD-3-Clause
// A copy between the memories of two ranks, of which both ranks make a part: two cores copy up to
// twice as fast as one. Memory that both have mapped is copied plainly, other memory by the kernel.
//
// One rank starts the copy, takes piece after piece and copies it; the other one does the same with
// the pieces that are left, if it polls in the meantime. So the copy never waits for a rank that
// computes.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/transport/api/channel.h"

namespace torusmp::transport::shm {

// Whether a stretch lies in another one, both given by their first addresses.
inline bool lies_in(std::uint64_t begin, std::uint64_t bytes, std::uint64_t whole,
                    std::uint64_t whole_bytes) {
    return begin >= whole && bytes <= whole_bytes && begin - whole <= whole_bytes - bytes;
}
inline bool lies_in(ConstBytes memory, ConstBytes whole) {
    const auto address = [](ConstBytes it) {
        return std::uint64_t(reinterpret_cast<std::uintptr_t>(it.data()));
    };
    return lies_in(address(memory), memory.size(), address(whole), whole.size());
}

// The memories of two ranks, as one of them reaches the other's.
struct BothMemories {
    pid_t other;  // its process
    Bytes own_heap{};
    Bytes other_heap{};               // as it is mapped here
    std::uint64_t other_address = 0;  // of its heap, in that process

    // A stretch of the other's memory as it is mapped here; null if it is not in its heap.
    std::byte* mapped(std::uint64_t address, std::uint64_t bytes) const;
    // Whether the copy takes no help of the kernel at either end.
    bool is_plain(std::uint64_t own, std::uint64_t others, std::uint64_t bytes) const;
};

// What both ranks know of a copy; in the segment of the rank that starts it, one for each port.
struct alignas(64) CopyPlan {
    // The pieces that nobody has taken yet, and, in the upper half, the number of the copy. A rank
    // takes pieces by a change of this word, so the plan is that of the same copy as before.
    std::atomic<std::uint64_t> left;
    std::atomic<std::uint64_t> from, to, bytes;  // addresses in the ranks' memories
    std::atomic<std::uint64_t> piece;            // bytes of each piece but the last
    std::atomic<std::uint32_t> inward;           // 1 if the bytes go to the rank that starts it
    // Pieces that the other rank has ended, and whether the kernel refused one of them.
    alignas(64) std::atomic<std::uint32_t> ended;
    std::atomic<std::uint32_t> refused;
};

// A stretch of memory that moves.
struct Move {
    std::uint64_t from, to, bytes;
    bool inward;  // from the other process to this one

    std::uint64_t own() const { return inward ? to : from; }
    std::uint64_t others() const { return inward ? from : to; }
};

// The side of the rank that starts copies.
class SharedCopy {
  public:
    // Shorter copies do not gain from being shared: by the kernel one alone, and one of many in a
    // row; and plain ones.
    static constexpr std::size_t shortest = std::size_t{32} << 10;
    static constexpr std::size_t shortest_of_many = std::size_t{256} << 10;
    static constexpr std::size_t shortest_plain = std::size_t{512} << 10;

    SharedCopy(CopyPlan& plan, const BothMemories& memories)
        : plan_(&plan),
          memories_(memories),
          number_(std::uint32_t(plan.left.load() / number_unit)) {}

    bool busy() const { return cookie_.has_value(); }
    // Copies; `call` asks the other rank to help. If that rank has not ended its last piece after a
    // short wait, the copy is pending, and busy() until poll() returns its result. Precondition:
    // !busy().
    template <class Call>
    Transfer run(const Move& move, std::uint64_t cookie, Call&& call) {
        begin(move);
        call();
        return finish(cookie);
    }
    struct Result {
        std::uint64_t cookie;
        bool ok;
    };
    std::optional<Result> poll();

    // What a copy's number counts in CopyPlan::left.
    static constexpr std::uint64_t number_unit = std::uint64_t{1} << 32;

  private:
    void begin(const Move& move);
    Transfer finish(std::uint64_t cookie);
    bool ended_by_other() const;
    Transfer result() const;

    CopyPlan* plan_;
    BothMemories memories_;
    std::uint32_t number_;        // of the last copy
    std::uint32_t by_other_ = 0;  // pieces of the present copy that the other rank has taken
    bool refused_ = false;        // a piece of ours
    Move move_{};
    std::optional<std::uint64_t> cookie_;  // of a pending copy
};

// The other side: copies pieces of what the other rank has started, until none is left.
void help(CopyPlan& plan, const BothMemories& memories);

}  // namespace torusmp::transport::shm
