// SPDX-License-Identifier: BSD-3-Clause
// Short names for what ranks wait for, for the sources of this folder.
#pragma once

#include "core/waits/waits.h"
#include "job/hang/snapshot.h"

namespace torusmp::job {

using core::any_source;
using core::any_tag;
using Operation = core::Waits::Operation;
using Collective = core::Waits::Collective;

}  // namespace torusmp::job
