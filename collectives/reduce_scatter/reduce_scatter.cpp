// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/reduce_scatter/reduce_scatter.h"

namespace torusmp::collectives {

void ReduceScatter::start(void* result, const void* values, std::span<const std::size_t> counts,
                          const Operation& operation, const AlgorithmRow* algorithm) {
    arguments_.result = static_cast<std::byte*>(result);
    arguments_.values = static_cast<const std::byte*>(values);
    arguments_.operation = operation;
    arguments_.sizes.clear();
    arguments_.offsets.clear();
    std::size_t& bytes = arguments_.bytes = 0;
    for (const std::size_t count : counts) {
        arguments_.sizes.push_back(count * operation.element);
        arguments_.offsets.push_back(bytes);
        bytes += arguments_.sizes.back();
    }
    run("reduce-scatter", call_of(-1, bytes, operation), conditions_of(group(), bytes, operation),
        algorithm);
}

}  // namespace torusmp::collectives
