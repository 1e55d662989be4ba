// SPDX-License-Identifier: BSD-3-Clause
// The tags of a group's collectives. Messages of collectives match by them, so that several can be
// under way at the same time.
//
// All members count alike, since they start collectives in one order. One thread at a time.
#pragma once

#include <cstdint>

#include "core/api.h"

namespace torusmp::collectives {

class Tags {
  public:
    // kind: from 0 to 3; tells groups apart that share a context. In the low bits of all tags.
    explicit Tags(int kind) : kind_(kind) {}

    // For the next collective.
    core::Tag next() {
        ++count_;
        return part(core::Tag(count_ & counted) << shift, 0);
    }
    // Which one that was, counted from 1.
    std::uint64_t count() const { return count_; }
    // One that a collective has for all its starts; members fix them in one order.
    core::Tag next_fixed() {
        ++fixed_count_;
        return part((fixed | core::Tag(fixed_count_ & counted)) << shift, 0);
    }
    // How many had that tag before.
    std::uint64_t fixed_before() const { return fixed_count_ >> counted_bits; }
    static bool is_fixed(core::Tag tag) { return (tag >> shift & fixed) != 0; }
    // The tag of a part, on this group, of a collective that has the tag `whole`, by the part's
    // number from 0 to 31. Parts begin when others end, in another order on each member if several
    // collectives are under way, so they cannot count. Groups made by this one share its context.
    core::Tag part(core::Tag whole, int number) const {
        return (whole & ~core::Tag{127}) | number << 2 | kind_;
    }

    // For what is said once about collectives with the tag `whole`; 0: about all that have no fixed
    // one. No part has this number.
    core::Tag beside(core::Tag whole) const { return part(whole, 31); }

    // Tags are counted above these bits, those that are fixed apart from the others.
    static constexpr int shift = 7;
    static constexpr int counted_bits = 18;
    static constexpr core::Tag counted = (1 << counted_bits) - 1;

  private:
    static constexpr core::Tag fixed = 0x40000;

    core::Tag kind_;
    std::uint64_t count_ = 0;
    std::uint64_t fixed_count_ = 0;
};

}  // namespace torusmp::collectives
