// SPDX-License-Identifier: BSD-3-Clause
// The collective operations by name, each ready to be called repeatedly with the same buffers: for
// torus-bench and for the program that is compared with the peers' (bench/peers/collectives.c).
//
// Collective: all members make the same calls in the same order, and run them. The group and the
// buffers must outlive the call. One thread at a time.
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

// The factor of busbw over algbw for an operation on n members, as nccl-tests defines it.
enum class BusFactor {
    none,          // not in nccl-tests
    one,           // 1
    others,        // (n - 1) / n
    twice_others,  // 2 (n - 1) / n
};

struct CollectiveFacts {
    std::string_view name;
    bool sized = true;     // false if no bytes move, as in a barrier
    bool blocks = false;   // the size is of one member's block; else of a vector
    bool numbers = false;  // sums doubles, so sizes are multiples of 8
    bool all_in = false;   // `in` has a block for each member, not only its own
    bool all_out = false;  // as all_in, for `out`
    BusFactor bus = BusFactor::none;
    const collectives::AlgorithmTable* algorithms = nullptr;  // null if there is only one
    std::unique_ptr<CollectiveCall> (*make)(collectives::Group&, std::string_view name,
                                            const CallArguments&) = nullptr;

    std::size_t bytes_in(std::size_t bytes, int members) const;
    std::size_t bytes_out(std::size_t bytes, int members) const;
    // The bytes of which algbw is the rate: a vector, or the blocks of all members.
    double algorithm_bytes(std::size_t bytes, int members) const;
    // The bytes of which busbw is the rate. Requires a factor.
    double bus_bytes(std::size_t bytes, int members) const;
    // Returns null for "automatic", the choice of the settings. Throws std::invalid_argument that
    // lists the algorithms.
    const collectives::AlgorithmRow* algorithm(std::string_view wanted) const;
};

// In the order of the documentation.
const std::vector<CollectiveFacts>& collective_operations();
// Returns null if there is none with that name.
const CollectiveFacts* find_collective(std::string_view name);

class CollectiveCall {
  public:
    explicit CollectiveCall(std::string_view name) : name_(name) {}
    virtual ~CollectiveCall() = default;
    // Starts the call. It ends when the schedule is complete, and may then be started again.
    virtual collectives::Schedule& start() = 0;
    // Starts the call and waits for its end. Throws std::runtime_error on failure.
    void run();

  private:
    std::string_view name_;
};

// `in` and `out` are described in collective.h; rooted operations use node 0. Throws
// std::invalid_argument for an unknown operation or algorithm.
std::unique_ptr<CollectiveCall> make_collective(collectives::Group& group,
                                                std::string_view operation,
                                                std::string_view algorithm, void* in,
                                                const void* out, std::size_t bytes);

}  // namespace torusmp::bench
