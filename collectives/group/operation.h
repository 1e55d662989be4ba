// SPDX-License-Identifier: BSD-3-Clause
// The operation that a reduction applies to the contributions of the members.
#pragma once

#include <cstddef>
#include <string_view>

namespace torusmp::collectives {

// result[i] = a[i] op b[i] for i in [0, count). The result may be in the memory of a or of b.
using Combine = void (*)(void* result, const void* a, const void* b, std::size_t count,
                         const void* closure);

// The operation as text, for comparison and reports. Both are literals, the same on all members;
// empty if there is nothing to compare.
struct Label {
    std::string_view operation{};
    std::string_view elements{};
};

struct Operation {
    Combine combine = nullptr;
    std::size_t element = 1;        // bytes of one element
    const void* closure = nullptr;  // passed to combine; kept by the caller until complete
    bool whole = false;             // combine needs all elements in one call: the vector must not
                                    // be cut
    bool commutative = true;        // operands may be combined out of member order
    Label label{};
};

// Adds the contributions of a line of members in the order of their coordinates. That of coordinate
// `here` is at `own`, which may be `result`; the others are in slots by coordinate, which are
// overwritten. Each contribution has `count` elements. Precondition: the element size is not 0.
void fold_line(const Operation& operation, std::byte* result, const std::byte* own, int here,
               std::byte* slots, std::size_t slot_bytes, int extent, std::size_t count);

}  // namespace torusmp::collectives
