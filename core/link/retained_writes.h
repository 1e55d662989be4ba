// SPDX-License-Identifier: BSD-3-Clause
// Remote writes that one end of a link has started and that are not known to be complete, oldest
// first. The bytes stay where they are: core keeps them until the end of the write is reported.
//
// Each write has a number, which the cable uses as its cookie. Places are reused, so that a write
// allocates nothing once there have been that many at a time.
//
// Owned by a LinkEnd.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/assert.h"
#include "core/transport/api/memory.h"

namespace torusmp::core {

struct RetainedWrite {
    transport::RemoteMemory remote{};
    std::size_t offset = 0;
    std::vector<transport::ConstBytes> local;
    std::uint64_t cookie = 0;  // core's cookie
    std::optional<std::uint64_t> notice;
    bool done = false;  // it is complete and reported to core; only its place is still kept

    std::size_t bytes() const;
    // Copies bytes [from, from + bytes) of the write to `to`.
    void copy(std::size_t from, std::size_t bytes, std::byte* to) const;
};

class RetainedWrites {
  public:
    bool empty() const { return count_ == 0; }
    std::size_t size() const { return count_; }
    // The writes in the order in which they were started.
    RetainedWrite& operator[](std::size_t at) {
        TORUSMP_ASSERT(at < count_, at, count_, first_number_);
        return places_[(first_ + at) % places_.size()];
    }
    const RetainedWrite& operator[](std::size_t at) const {
        TORUSMP_ASSERT(at < count_, at, count_, first_number_);
        return places_[(first_ + at) % places_.size()];
    }
    std::uint64_t number_of(std::size_t at) const { return first_number_ + at; }
    RetainedWrite* find(std::uint64_t number) {
        return number - first_number_ < count_ ? &(*this)[number - first_number_] : nullptr;
    }

    RetainedWrite& push();  // the place keeps its previous contents
    void pop();             // removes the oldest
    void drop_last() {
        TORUSMP_ASSERT(count_ != 0, first_number_);
        --count_;
    }
    // Removes the completed writes, wherever they are. The numbers of the others change.
    void drop_done();

  private:
    std::vector<RetainedWrite> places_;
    std::size_t first_ = 0;
    std::size_t count_ = 0;
    std::uint64_t first_number_ = 0;
};

}  // namespace torusmp::core
