// SPDX-License-Identifier: BSD-3-Clause
// The descriptor of verbs: RDMA over the links (RoCE v2).
#pragma once

#include "core/transport/api/descriptor.h"

namespace torusmp::transport::verbs {

extern const Descriptor descriptor;

}  // namespace torusmp::transport::verbs
