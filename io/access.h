// SPDX-License-Identifier: BSD-3-Clause
// One rank reads or writes by itself, through a view.
//
// Bytes between those of the view are never written. Small gaps between what is read are read too
// and thrown away, because a call of the kernel costs more than they do (data sieving).
#pragma once

#include "core/layout/layout.h"
#include "io/hints.h"
#include "io/view.h"

namespace torusmp::io {

// Moves the bytes of a buffer to, or from, the data of the view from a position on. A read that
// meets the end of the file moves what lies before it, and leaves the rest of the buffer alone.
Outcome write(Store& store, const View& view, Offset position, const core::Buffer& buffer);
Outcome read(Store& store, const View& view, Offset position, const core::Buffer& buffer,
             const Hints& hints);

// Holds a range of a file while the scope lasts, if there is one to hold.
class RangeLock {
  public:
    // The bytes from `from` to `end`; an error is in error().
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
