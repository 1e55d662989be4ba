// SPDX-License-Identifier: BSD-3-Clause
// What a rank that does not reach a file and the rank that does say to each other.
//
// A call is a note, which begins with a Question; then messages between the two, whose tags are
// made of the call's number: what is left of the list of stretches, the data, and the answer.
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

// As they cross the wire.
struct Question {
    std::int64_t number;  // of the caller's calls
    Operation operation;
    std::uint32_t runs;  // of a read or write: stretches of the file, after `offset`
    Offset offset;
    std::int64_t bytes;  // of data; of a lock: its range; otherwise a size
};
struct Answer {
    std::int64_t value;  // bytes that were moved, or the size
    std::int64_t error;  // errno value
};

// Stretches that a note holds; the others follow in a message.
inline constexpr std::size_t runs_in_note = (core::Notes::longest - sizeof(Question)) / sizeof(Run);
// The most of one call; longer accesses are several. Bounds the memory of the rank that serves.
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
