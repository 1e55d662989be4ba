// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes of a single rank, through a view.
//
// Bytes outside of the view are never written. Reads also read small gaps in the view and discard
// them, because a system call costs more than a small gap (data sieving).
#pragma once

#include "core/layout/layout.h"
#include "io/hints.h"
#include "io/view.h"

namespace torusmp::io {

// Move the bytes between a buffer and the data of the view from a position on. A read that reaches
// the end of the file moves the bytes before it and does not change the rest of the buffer.
Outcome write(Store& store, const View& view, Offset position, const core::Buffer& buffer);
Outcome read(Store& store, const View& view, Offset position, const core::Buffer& buffer,
             const Hints& hints);

// Locks a range of a file for the duration of a scope. An empty range is not locked.
class RangeLock {
  public:
    // Locks the bytes [from, end). error() is 0, or the errno value of the lock.
    RangeLock(RangeLocks& locks, Offset from, Offset end, bool shared)
        : locks_(locks), from_(from), bytes_(end - from) {
        if (bytes_ > 0) error_ = locks_.lock(from_, bytes_, shared);
    }
    ~RangeLock() {
        if (bytes_ > 0 && error_ == 0) locks_.unlock(from_, bytes_);
    }
    RangeLock(const RangeLock&) = delete;
    RangeLock& operator=(const RangeLock&) = delete;
    int error() const { return error_; }

  private:
    RangeLocks& locks_;
    Offset from_, bytes_;
    int error_ = 0;
};

}  // namespace torusmp::io
