// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/environment/library.h"

namespace torusmp::mpi {

Library& library() {
    // Held through a pointer that is never destroyed.
    static Library* const only = std::make_unique<Library>().release();
    return *only;
}

}  // namespace torusmp::mpi
