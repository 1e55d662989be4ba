// SPDX-License-Identifier: BSD-3-Clause
// Remote writes that one end of a link has begun and that are not known to be complete, oldest
// first. The bytes stay where they lie: core keeps them until it is told the end of the write.
//
// Each write has a number, by which the cable names it. Places are used again, so that a write
// allocates nothing once there have been as many at a time.
//
// Owned by a LinkEnd.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/transport/api/memory.h"

namespace torusmp::core {

struct RetainedWrite {
    transport::RemoteMemory remote{};
    std::size_t offset = 0;
    std::vector<transport::ConstBytes> local;
    std::uint64_t cookie = 0;  // core's
    std::optional<std::uint64_t> notice;
    bool done = false;  // and core knows; only the place is still kept

    std::size_t bytes() const;
    // Puts [from, from + bytes) of it there.
    void copy(std::size_t from, std::size_t bytes, std::byte* to) const;
};

class RetainedWrites {
  public:
    bool empty() const { return count_ == 0; }
    std::size_t size() const { return count_; }
    // In the order in which they were begun.
    RetainedWrite& operator[](std::size_t at) { return places_[(first_ + at) % places_.size()]; }
    const RetainedWrite& operator[](std::size_t at) const {
        return places_[(first_ + at) % places_.size()];
    }
    std::uint64_t number_of(std::size_t at) const { return first_number_ + at; }
    RetainedWrite* find(std::uint64_t number) {
        return number - first_number_ < count_ ? &(*this)[number - first_number_] : nullptr;
    }

    RetainedWrite& push();  // whatever was last in its place
    void pop();             // the oldest
    void drop_last() { --count_; }
    // Those that are done, wherever they are. The numbers of the others change.
    void drop_done();

  private:
    std::vector<RetainedWrite> places_;
    std::size_t first_ = 0;
    std::size_t count_ = 0;
    std::uint64_t first_number_ = 0;
};

}  // namespace torusmp::core
