// SPDX-License-Identifier: BSD-3-Clause
// What a member calls, in the form in which members tell each other: compared before a collective
// begins (check.h), and when one does not end (ledger.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "collectives/group/operation.h"
#include "core/request.h"

namespace torusmp::collectives {

// What all members of a group have to agree on in a collective.
struct Call {
    static constexpr std::uint64_t any_bytes = ~std::uint64_t{0};
    int root = -1;                    // member; -1: there is none
    std::uint64_t bytes = any_bytes;  // any_bytes: they may differ
    std::size_t element = 0;          // bytes; 0: not known
    Label label{};                    // what a reduction computes, and of what

    // "MPI_SUM of integers of 4 B"
    std::string what() const;
};
// The call of a reduction.
Call call_of(int root, std::uint64_t bytes, const Operation& operation);

// A call as it crosses the wire.
struct CallRecord {
    char name[24];
    char operation[32];
    char elements[32];
    std::uint64_t bytes;
    std::uint32_t element;
    std::int32_t root;
    core::Rank rank;
    std::uint32_t unused;

    static CallRecord of(std::string_view name, const Call& call, core::Rank rank);
    // Whether both are calls of the same collective with the same arguments, as far as is known.
    bool like(const CallRecord& other) const;
    // Whether they agree in all that the messages depend on; what is computed may differ.
    bool may_meet(const CallRecord& other) const;
    bool same_size(const CallRecord& other) const;
    // "rank 3 called reduce with root 1 and 8 B (MPI_SUM of integers of 4 B)"
    std::string text() const;
    // Terminates the texts, which came from outside, so that they are safe to read.
    void close();
};
static_assert(sizeof(CallRecord) == 112);

// "rank 0 called ..., but rank 1 called ..."
std::string describe_difference(const CallRecord& a, const CallRecord& b);

}  // namespace torusmp::collectives
