// SPDX-License-Identifier: BSD-3-Clause
// Packed values for the messages between torus-run and its daemons. Both run the same version; the
// greeting refuses others.
#pragma once

#include "base/packing.h"

namespace torusmp::torus_run {

using base::Packer;
using base::PackingError;
using base::Unpacker;

}  // namespace torusmp::torus_run
