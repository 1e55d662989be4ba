// SPDX-License-Identifier: BSD-3-Clause
// One rank of a round: it accesses the windows of all others at random, and knows what each access
// must return.
//
// A window begins with words that all ranks change by atomics or under a lock. Behind them each
// origin has a region of its own, which no other rank changes, and of which it keeps a model.
// Between two flushes its accesses to a region do not overlap, so their order does not matter.
#pragma once

#include <array>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "core/job.h"
#include "core/rma/windows.h"

namespace torusmp::core::testing::windows {

using rma::Action;
using rma::Operation;
using rma::Window;

// The words at the begin of a window.
enum Word : std::size_t { fetched, summed, swapped, guarded, words };
inline constexpr std::size_t head_bytes = 8 * words;

// The sums of all accesses to the words of one target.
struct Totals {
    std::uint64_t fetches = 0, sum = 0, swaps = 0, guarded_rounds = 0;
    std::vector<bool> seen;  // what fetches returned
    bool in_section = false;  // a rank holds the exclusive lock
};

struct World {
    Job& job;
    sim::Random& random;
    std::size_t region;                        // bytes of each origin in each window
    bool dynamic;
    std::vector<std::vector<std::byte>> memory;  // of the windows, by rank
    std::vector<Totals> totals;                  // by target
    std::string failure;

    std::byte* word(Rank target, Word which) { return memory[std::size_t(target)].data() + 8 * which; }
};

class Actor {
  public:
    Actor(World& world, Rank self);
    ~Actor();

    Window window;
    rma::Control control{2};  // mapped by one rank or two

    // Starts something, or goes on with it. Called outside of the Runtime.
    void act();
    void stop() { stopping_ = true; }
    // Nothing of it is under way.
    bool idle() const;
    std::uint64_t accesses() const { return accesses_; }
    // Compares the regions of this origin with its model, when all is flushed.
    void check_regions();

  private:
    struct Access final : Operation {
        std::vector<std::byte> memory, expected;  // of data or result
        std::unique_ptr<Layout> here, there;
        Word word = words;
        std::uint64_t given = 0, wanted = 0;
        std::uint64_t old = 0;
        std::array<std::uint64_t, 2> pair{};
    };
    struct Guarded {  // a counter that is read and written under an exclusive lock
        enum class Step { idle, locking, reading, writing, unlocking } step = Step::idle;
        Rank target = 0;
        std::uint64_t value = 0;
        Operation lock, read, write, flush, unlock;
    };

    void start(Operation& operation, Action action, Rank target);
    void start_region(Rank target);
    void start_word(Rank target);
    void start_flush(Rank target);
    void step_guarded();
    void read_guarded();
    void write_guarded();
    void finish(Access& access);
    void fail(std::string text);
    std::uint64_t at(std::uint64_t offset, Rank target) const;
    bool mapped(Rank target) const { return window.parts[std::size_t(target)].memory != nullptr; }
    rma::Arithmetic arithmetic(std::uint16_t number) const;

    World& world_;
    const Rank self_;
    std::list<Access> under_way_;
    Guarded guarded_;
    struct Region {
        std::vector<std::byte> model;
        std::vector<bool> used;  // bytes, since the last flush
        std::unique_ptr<Operation> flush;
    };
    std::vector<Region> regions_;  // by target
    std::uint64_t accesses_ = 0;
    std::uint64_t swap_guess_ = 0;
    bool stopping_ = false;
};

// The operations of the test's accumulates.
inline constexpr std::uint16_t replace = 0, no_op = 1, add = 2;
bool find(std::uint16_t number, rma::Arithmetic& found);

}  // namespace torusmp::core::testing::windows
