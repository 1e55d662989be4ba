// SPDX-License-Identifier: BSD-3-Clause
// QMP_mem_t and QMP_msgmem_t. Owned by the program, which frees them.
#pragma once

#include <memory>

#include "core/layout/layout.h"
#include "qmp/qmp.h"

struct QMP_mem_struct {
    void* memory = nullptr;  // returned to the program, aligned as requested
    void* block = nullptr;   // allocated by the Runtime
};

// The layout of a message. Handles copy it, so that it may be freed before them; the shape is
// shared.
struct QMP_msgmem_struct {
    std::byte* base = nullptr;
    std::size_t bytes = 0;
    std::shared_ptr<const torusmp::core::Layout> shape;  // null if one block

    torusmp::core::Buffer buffer() const {
        return shape ? torusmp::core::Buffer(base, *shape) : torusmp::core::Buffer(base, bytes);
    }
};
