// SPDX-License-Identifier: BSD-3-Clause
// Memory that ranks of one host share: a block that one rank makes and others map.
//
// A rank may still read a block when others have long forgotten it. So each holds it by an object
// of its own, and the memory is freed when all have let it go; what a dead rank holds stays until
// the Runtime of the rank that made it ends.
//
// Used under the Runtime's lock, except where a method says so.
#pragma once

#include <cstddef>
#include <vector>

#include "core/connection/connections.h"

namespace torusmp::core {

class SharedMemory;

// A rank's hold on a block; empty at first. Lets it go when destroyed.
class SharedBlock {
  public:
    explicit SharedBlock(SharedMemory& owner);
    ~SharedBlock();
    SharedBlock(const SharedBlock&) = delete;
    SharedBlock& operator=(const SharedBlock&) = delete;

    // Begins with two cache lines of its own, contents undefined. Null: empty, or the Runtime has
    // ended.
    std::byte* memory() const { return memory_; }
    // False: the Runtime has ended.
    bool usable() const { return owner_ != nullptr; }

  private:
    friend class SharedMemory;
    SharedMemory* owner_;
    std::byte* memory_ = nullptr;
};

class SharedMemory {
  public:
    using Name = transport::RemoteMemory;

    explicit SharedMemory(Connections& connections) : connections_(connections) {}
    ~SharedMemory();
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;

    // Whether there can be such blocks at all; the same on all ranks of a host.
    bool possible() const { return connections_.interfaces().front()->can().maps; }
    // A block of ours, held by this rank and by `others` more. False: there is no memory for it.
    bool make(SharedBlock& block, std::size_t bytes, int others);
    // Its name for one of them, which a message brings there.
    Name name_for(const SharedBlock& block, Rank rank);
    // Maps the block that `maker` has made. False: it cannot be.
    bool map(SharedBlock& block, Rank maker, const Name& name);

    // What is stored in a block must be visible before a look at whether others sleep. False: they
    // see to that themselves when they go to sleep (transport::Interface).
    bool must_fence() const { return !connections_.interfaces().front()->sleepers_fence(); }
    // Wakes a rank that sleeps, after a store for which it waits.
    void wake(Rank rank);

  private:
    friend class SharedBlock;
    // Stands in front of each block.
    struct Header;
    struct Made {
        transport::Bytes memory;  // with the header
        std::vector<Name> names;
    };
    static Header& header_of(std::byte* memory);
    void let_go(const SharedBlock& block);
    void free_abandoned();

    Connections& connections_;
    std::vector<SharedBlock*> held_;
    std::vector<Made> made_;
};

}  // namespace torusmp::core
