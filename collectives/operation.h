// What a reduction does with the contributions of the members.
#pragma once

#include <cstddef>

namespace torusmp::collectives {

// inout[i] = inout[i] op in[i] for i in [0, count).
using Combine = void (*)(void* inout, const void* in, std::size_t count, const void* closure);

struct Operation {
    Combine combine = nullptr;
    std::size_t element = 1;        // bytes of one element
    const void* closure = nullptr;  // handed to combine; kept by the caller until complete
    bool whole = false;             // combine must see all elements at once: never cut the vector
    bool commutative = true;        // may be taken in another order than that of the nodes
};

}  // namespace torusmp::collectives
