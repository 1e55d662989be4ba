// SPDX-License-Identifier: BSD-3-Clause
// Where the bytes of an open file are: the contract between the layer io and whatever reaches them.
//
// A Store is one rank's access to one open file. Offsets and sizes are in bytes. Methods do not
// throw: they return errno values, so that progress may call them. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torusmp::io {

using Offset = std::int64_t;

// How a transfer ended: bytes from its beginning on that were moved, and an errno value (0: none).
// A read without an error that moved fewer bytes than asked for has met the end of the file.
struct Outcome {
    std::size_t bytes = 0;
    int error = 0;
};

class FarStore;

// Keeps the members of a file from each other's ranges. Methods block, and return errno values.
class RangeLocks {
  public:
    // Keeps others that lock from the range until unlock(); shared: only those that do not share.
    virtual int lock(Offset from, Offset bytes, bool shared) = 0;
    virtual int unlock(Offset from, Offset bytes) = 0;

  protected:
    ~RangeLocks() = default;
};

class Store : public RangeLocks {
  public:
    virtual ~Store() = default;

    virtual Outcome read(std::byte* memory, std::size_t bytes, Offset at) = 0;
    // Moves all bytes, or has an error.
    virtual Outcome write(const std::byte* memory, std::size_t bytes, Offset at) = 0;
    // The file's size; negative: an errno value, negated.
    virtual Offset size() = 0;
    // The rest return errno values.
    virtual int resize(Offset size) = 0;
    // Makes room for so many bytes from the beginning; the file is at least as long afterwards.
    virtual int reserve(Offset size) = 0;
    // Everything written has reached the device.
    virtual int flush() = 0;
    // Itself if it is one, whose calls cross the torus; otherwise null.
    virtual FarStore* far() { return nullptr; }
};

}  // namespace torusmp::io
