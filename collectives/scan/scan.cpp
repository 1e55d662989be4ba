// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/scan/scan.h"

namespace torusmp::collectives {

void Scan::start(void* buffer, std::size_t count, const Operation& operation, ScanKind kind,
                 const AlgorithmRow* algorithm) {
    arguments_ = {static_cast<std::byte*>(buffer), count, operation, kind};
    const std::size_t bytes = arguments_.bytes();
    run("scan", call_of(-1, bytes, operation), conditions_of(group(), bytes, operation), algorithm);
}

}  // namespace torusmp::collectives
