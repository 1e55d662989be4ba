// SPDX-License-Identifier: BSD-3-Clause
// All operations that have several algorithms.
#pragma once

#include <span>
#include <string_view>

#include "collectives/algorithm/table.h"

namespace torusmp::collectives {

// In the order in which they are explained.
std::span<const AlgorithmTable* const> operations();

}  // namespace torusmp::collectives
