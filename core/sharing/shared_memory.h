// SPDX-License-Identifier: BSD-3-Clause
// Memory that ranks of one host share: a block that one rank creates and others map.
//
// A rank may still read a block long after others have finished with it. So each rank holds it by
// an object of its own, and the memory is freed when all have released it; blocks that a dead rank
// holds remain until the Runtime of the rank that created them ends.
//
// Used under the Runtime's lock, unless a method's comment states otherwise.
#pragma once

#include <cstddef>
#include <vector>

#include "core/connection/connections.h"

namespace torusmp::core {

class SharedMemory;

// A rank's hold on a block; initially empty. The destructor releases it.
class SharedBlock {
  public:
    explicit SharedBlock(SharedMemory& owner);
    ~SharedBlock();
    SharedBlock(const SharedBlock&) = delete;
    SharedBlock& operator=(const SharedBlock&) = delete;

    // The memory begins with two cache lines of its own; its contents are undefined. Null if the
    // hold is empty or the Runtime has ended.
    std::byte* memory() const { return memory_; }
    // Returns false if the Runtime has ended.
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

    // Whether such blocks are possible at all; the same on all ranks of a host.
    bool possible() const { return connections_.interfaces().front()->can().maps; }
    // A block of a page or more begins so many bytes after the start of a page.
    static constexpr std::size_t header_bytes = 128;
    // Creates a block, held by this rank and by `others` more. Returns false if it cannot allocate
    // the memory for it.
    bool make(SharedBlock& block, std::size_t bytes, int others);
    // The block's name for one of these ranks, to be sent there in a message.
    Name name_for(const SharedBlock& block, Rank rank);
    // Maps the block that `maker` has created. Returns false if it cannot be mapped.
    bool map(SharedBlock& block, Rank maker, const Name& name);

    // The name under which the other ranks of this host reach such memory of this rank; length 0 if
    // they do not.
    Name lend(transport::Bytes memory) const;
    // The memory that `owner` has lent, as it is mapped here; null if it is not.
    const std::byte* borrow(Rank owner, const Name& name) const;
    // Whether all that was read from such memory so far is what its owner wrote. Once the owner has
    // died, the memory may be returned to the system.
    bool is_intact(Rank owner) const;

    // Whether a store into a block needs a fence before the check whether other ranks sleep. If
    // not, those ranks provide it when they go to sleep (transport::Interface).
    bool must_fence() const { return !connections_.interfaces().front()->sleepers_fence(); }
    // Wakes a sleeping rank after a store that it waits for.
    void wake(Rank rank);

    // Takes page faults in such a stretch of a block now, all at once.
    static void populate(transport::Bytes memory);
    // The rate at which the kernel copies long messages between ranks of this host, MB/s; 0: they
    // take another way.
    double copy_rate() const { return connections_.interfaces().front()->copy_rate(); }

  private:
    friend class SharedBlock;
    // The header in front of each block.
    struct Header;
    struct Made {
        transport::Bytes memory;  // including the header
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
