// SPDX-License-Identifier: BSD-3-Clause
// What torus-run and its daemons tell each other travels as packed values. Both run the same
// version; the greeting refuses others.
#pragma once

#include "base/packing.h"

namespace torusmp::launch {

using base::Packer;
using base::PackingError;
using base::Unpacker;

}  // namespace torusmp::launch
