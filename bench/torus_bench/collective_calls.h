// SPDX-License-Identifier: BSD-3-Clause
// The collective operations by name, each ready to be called many times with the same buffers: for
// torus-bench and for the program that stands beside the peers' (bench/peers/collectives.c).
//
// Collective: all members make the same calls in the same order, and run them. A call uses the
// group and the buffers it was made with, which outlive it. One thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/algorithm/table.h"
#include "collectives/group/group.h"
#include "collectives/schedule/schedule.h"

namespace torusmp::bench {

class CollectiveCall;
struct CallArguments;

struct CollectiveFacts {
    std::string_view name;
    bool sized = true;     // false: no bytes move, as in a barrier
    bool blocks = false;   // the size is that of one member's block; else of a vector
    bool numbers = false;  // sums of doubles: sizes are multiples of 8
    bool all_in = false;   // where blocks: `in` has one of each member, else its own alone
    bool all_out = false;  // `out` likewise
    const collectives::AlgorithmTable* algorithms = nullptr;  // null: there is no choice
    std::unique_ptr<CollectiveCall> (*make)(collectives::Group&, std::string_view name,
                                            const CallArguments&) = nullptr;

    std::size_t bytes_in(std::size_t bytes, int members) const;
    std::size_t bytes_out(std::size_t bytes, int members) const;
    // Null: "automatic", as the settings say. Throws std::invalid_argument that says which there
    // are.
    const collectives::AlgorithmRow* algorithm(std::string_view wanted) const;
};

// In the order in which they are explained.
const std::vector<CollectiveFacts>& collective_operations();
// Null: there is none of that name.
const CollectiveFacts* find_collective(std::string_view name);

class CollectiveCall {
  public:
    explicit CollectiveCall(std::string_view name) : name_(name) {}
    virtual ~CollectiveCall() = default;
    // Starts it; it is over when the schedule is complete, and the call may then start again.
    virtual collectives::Schedule& start() = 0;
    // Starts it and waits for its end. Throws std::runtime_error where it failed.
    void run();

  private:
    std::string_view name_;
};

// `in` and `out` as collective.h describes them, rooted operations at node 0. Throws
// std::invalid_argument for an operation or an algorithm that does not exist.
std::unique_ptr<CollectiveCall> make_collective(collectives::Group& group,
                                                std::string_view operation,
                                                std::string_view algorithm, void* in,
                                                const void* out, std::size_t bytes);

}  // namespace torusmp::bench
