// SPDX-License-Identifier: BSD-3-Clause
// The protocol between a rank (KeeperClient) and a rank of another host (OutsideKeeper) that opens
// a file for a group without a member on that host.
//
// A call is one message, a Question and the path behind it, and a note that asks to look for it: a
// rank that is still starting ignores notes but keeps messages. The answer is a message whose tag
// is the number of the call.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>

#include "core/request.h"
#include "io/hints.h"
#include "io/sight.h"

namespace torusmp::io::keeper_call {

enum class Operation : std::int32_t {
    look,    // what the host sees at the path
    open,    // opens the file, and begins to serve the group
    close,   // ends that, when all calls have been answered
    remove,  // deletes the file
};

// The wire format.
struct Question {
    std::int32_t number = 0;  // the caller numbers its calls
    Operation operation = Operation::look;
    std::int32_t flags = 0;  // of open(2)
    core::Context file = 0;  // open and close: the context in which the group accesses the file
    Hints hints{};
};
struct Answer {
    std::int64_t error;  // errno value; 0 if there was none
    Sight sight;
};

inline constexpr std::size_t longest_path = PATH_MAX;
inline constexpr core::Tag question_tag = 0, note_tag = 1;
inline core::Tag tag_of(std::int32_t number) {
    return 2 + number;
}

}  // namespace torusmp::io::keeper_call
