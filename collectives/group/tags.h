// SPDX-License-Identifier: BSD-3-Clause
// The tags of a group's collectives. Messages of collectives match by tag, so that several
// collectives can be in progress.
//
// All members count alike, since they start collectives in the same order. One thread at a time.
#pragma once

#include <cstdint>

#include "base/assert.h"
#include "core/api.h"

namespace torusmp::collectives {

class Tags {
  public:
    // `kind`, 0 to 3, distinguishes groups that share a context; it is stored in the low bits of
    // all tags.
    explicit Tags(int kind) : kind_(kind) {}

    // The tag of the next collective.
    core::Tag next() {
        ++count_;
        return part(core::Tag(count_ & counted) << shift, 0);
    }
    // The number of the collective that last took a tag, counted from 1.
    std::uint64_t count() const { return count_; }
    // A tag that a collective keeps for all its starts; members fix tags in the same order.
    core::Tag next_fixed() {
        ++fixed_count_;
        return part((fixed | core::Tag(fixed_count_ & counted)) << shift, 0);
    }
    // How many collectives had that tag before.
    std::uint64_t fixed_before() const { return fixed_count_ >> counted_bits; }
    static bool is_fixed(core::Tag tag) { return (tag >> shift & fixed) != 0; }
    // The tag of a part, on this group, of a collective with the tag `whole`; parts are numbered
    // from 0 to 31. Parts begin when others end, in another order on each member if several
    // collectives are in progress, so they cannot count. Groups created by this one share its
    // context.
    core::Tag part(core::Tag whole, int number) const {
        TORUSMP_ASSERT(number >= 0 && number <= 31, whole, number, kind_);
        return (whole & ~core::Tag{127}) | number << 2 | kind_;
    }

    // The tag of notes sent once about collectives with the tag `whole`; 0 for notes about all
    // collectives without a fixed tag. No part has this number.
    core::Tag beside(core::Tag whole) const { return part(whole, 31); }

    // Tags are counted above these bits, fixed tags separately from the others.
    static constexpr int shift = 7;
    // With a stream's number, a tag takes 31 bits.
    static constexpr int counted_bits = 17;
    static constexpr core::Tag counted = (1 << counted_bits) - 1;

    // The largest tag.
    static constexpr core::Tag most() { return (fixed | counted) << shift | 127; }

  private:
    static constexpr core::Tag fixed = 1 << counted_bits;

    core::Tag kind_;
    std::uint64_t count_ = 0;
    std::uint64_t fixed_count_ = 0;
};

}  // namespace torusmp::collectives
