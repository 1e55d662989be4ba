// SPDX-License-Identifier: BSD-3-Clause
// The base of scan algorithms: vectors of scratch memory, and the total of all members before this
// one.
#pragma once

#include <cstring>
#include <utility>

#include "collectives/scan/scan.h"

namespace torusmp::collectives::scan {

class Totals : public AlgorithmOf<Arguments> {
  public:
    using AlgorithmOf::AlgorithmOf;

  protected:
    // To be called in start(): the number of slots. The first total, if wanted, is this member's
    // value.
    void lay(int slots) {
        bytes_ = call_.bytes();
        slot_bytes_ = Scratch::rounded(bytes_);
        slots_ = scratch_.reserve(slot_bytes_ * std::size_t(slots + 4));
        total_ = slot(slots);
        before_ = slot(slots + 1);
        come_ = slot(slots + 2);
        spare_ = slot(slots + 3);
        any_before_ = false;
    }
    void start_total() { copy(total_, call_.buffer); }

    bool inclusive() const { return call_.kind == ScanKind::inclusive; }
    core::Buffer vector(std::byte* at) const { return {at, bytes_}; }
    std::byte* slot(int index) { return slots_ + slot_bytes_ * std::size_t(index); }
    void copy(std::byte* to, const std::byte* from) const {
        if (bytes_ > 0 && to != from) std::memcpy(to, from, bytes_);
    }
    // a = a op b
    void combine(std::byte* a, const std::byte* b) const {
        call_.operation.combine(a, a, b, call_.count, call_.operation.closure);
    }
    // Puts this total of further members in front of the total already known.
    void put_before(const std::byte* total) {
        if (any_before_)
            call_.operation.combine(spare_, total, before_, call_.count, call_.operation.closure);
        else
            copy(spare_, total);
        std::swap(spare_, before_);
        any_before_ = true;
    }

    std::size_t bytes_ = 0;
    std::byte* total_ = nullptr;   // of some members, including this one
    std::byte* before_ = nullptr;  // of the members right before this one, as far as known
    std::byte* come_ = nullptr;    // receive buffer
    std::byte* spare_ = nullptr;
    bool any_before_ = false;

  private:
    bool step() final { return bytes_ != 0 && next(); }
    // Like step(), but only called for vectors that are not empty.
    virtual bool next() = 0;

    Scratch scratch_;
    std::size_t slot_bytes_ = 0;
    std::byte* slots_ = nullptr;
};

}  // namespace torusmp::collectives::scan
