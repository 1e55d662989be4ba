// SPDX-License-Identifier: BSD-3-Clause
// Short names for the types used throughout this folder, and helpers for them.
#pragma once

#include "core/waits/waits.h"
#include "job/hang/snapshot.h"

namespace torusmp::job {

using core::any_source;
using core::any_tag;
using Operation = core::Waits::Operation;
using Collective = core::Waits::Collective;

inline bool is_receive(const Operation& it) {
    return it.kind == Operation::Kind::receive || it.kind == Operation::Kind::probe;
}
inline bool is_idle(const Operation& it) {
    return it.kind == Operation::Kind::idle_receive || it.kind == Operation::Kind::idle_send;
}
inline bool tags_meet(core::Tag wanted, core::Tag sent) {
    return wanted == any_tag || wanted == sent;
}

}  // namespace torusmp::job
