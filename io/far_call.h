// SPDX-License-Identifier: BSD-3-Clause
// The protocol between a rank that cannot reach a file (FarStore) and a rank that can and serves it
// (StoreServer).
//
// A call begins with a note, whose first part is a Question. Up to three messages follow, whose
// tags contain the number of the call: the rest of the list of runs, the data, and the Answer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/notes/notes.h"
#include "io/runs.h"

namespace torusmp::io::far {

enum class Operation : std::int32_t {
    read,
    write,
    size,
    resize,
    reserve,
    flush,
    lock,
    lock_shared,
    unlock
};

// The wire format.
struct Question {
    std::int64_t number;  // the caller numbers its calls
    Operation operation;
    std::uint32_t runs;  // of read and write; the offsets of the runs are relative to `offset`
    Offset offset;
    std::int64_t
        bytes;  // of the data (read, write) or the range (locks); otherwise the size to set
};
struct Answer {
    std::int64_t value;  // bytes moved, or the size of the file
    std::int64_t error;  // errno value; 0 if there was none
};

// The most runs in a note; the others follow in a message.
inline constexpr std::size_t runs_in_note = (core::Notes::longest - sizeof(Question)) / sizeof(Run);
// The most bytes and the most runs of one call, which bound the memory of the server. Longer
// accesses are divided into several calls.
inline constexpr std::size_t longest = std::size_t(4) << 20;
inline constexpr std::size_t most_runs = std::size_t(1) << 15;

struct Note {
    Question question;
    Run first[runs_in_note];
};
static_assert(sizeof(Note) <= core::Notes::longest);

enum class Stream : core::Tag { list = 0, contents = 1, answer = 2 };
inline constexpr core::Tag note_tag = 1;
inline core::Tag tag_of(std::int64_t number, Stream stream) {
    return core::Tag(number % (std::int64_t(1) << 28)) * 4 + core::Tag(stream);
}

}  // namespace torusmp::io::far
