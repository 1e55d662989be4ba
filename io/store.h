// SPDX-License-Identifier: BSD-3-Clause
// The contract between the layer io and the ways to reach the bytes of a file.
//
// A Store is one rank's access to one open file. Offsets and sizes are in bytes. Methods do not
// throw, so that progress may call them: they return errno values, 0 for success. One thread at a
// time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torusmp::io {

using Offset = std::int64_t;

// The result of a transfer: the number of bytes moved, from its beginning on, and an errno value. A
// read that moved fewer bytes than requested without an error has reached the end of the file.
struct Outcome {
    std::size_t bytes = 0;
    int error = 0;
};

// A transfer that may go on while the rank does other work. Its owner keeps it and its memory in
// place until it is over.
struct Transfer {
    bool write;
    std::byte* memory;
    std::size_t bytes;
    Offset at;
    Outcome outcome{};
    bool over = false;
};

class FarStore;

// Locks of ranges of a file, which exclude other members. Methods block.
class RangeLocks {
  public:
    // Waits until no other lock overlaps the range, then locks it until unlock(). Shared locks
    // exclude only exclusive ones.
    virtual int lock(Offset from, Offset bytes, bool shared) = 0;
    virtual int unlock(Offset from, Offset bytes) = 0;

  protected:
    ~RangeLocks() = default;
};

class Store : public RangeLocks {
  public:
    virtual ~Store() = default;

    virtual Outcome read(std::byte* memory, std::size_t bytes, Offset at) = 0;
    // Moves all bytes, unless there is an error.
    virtual Outcome write(const std::byte* memory, std::size_t bytes, Offset at) = 0;
    // Begins a transfer. It is over at once where the store cannot do better.
    virtual void begin(Transfer& transfer) {
        transfer.outcome = transfer.write ? write(transfer.memory, transfer.bytes, transfer.at)
                                          : read(transfer.memory, transfer.bytes, transfer.at);
        transfer.over = true;
    }
    // Marks the transfers that have ended as over. If `wait` is true and some have begun and are
    // not over, returns only when one is.
    virtual void take_ended(bool /*wait*/) {}
    // The size of the file, or a negated errno value.
    virtual Offset size() = 0;
    virtual int resize(Offset size) = 0;
    // Allocates storage for the first `size` bytes. A shorter file becomes that long.
    virtual int reserve(Offset size) = 0;
    // Returns when everything written has reached the device.
    virtual int flush() = 0;
    // This store if it is a FarStore, whose calls cross the torus; otherwise null.
    virtual FarStore* far() { return nullptr; }
};

}  // namespace torusmp::io
