// SPDX-License-Identifier: BSD-3-Clause
// A member's call in the form that members send to each other: compared before a collective begins
// (check.h), and when one does not end (ledger.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "collectives/group/operation.h"
#include "core/request.h"

namespace torusmp::collectives {

// The arguments that all members of a group have to agree on in a collective.
struct Call {
    static constexpr std::uint64_t any_bytes = ~std::uint64_t{0};
    int root = -1;                    // member; -1 if there is none
    std::uint64_t bytes = any_bytes;  // any_bytes if they may differ
    std::size_t element = 0;          // bytes; 0 if not known
    Label label{};                    // the operation of a reduction and its element type

    // "MPI_SUM of integers of 4 B"
    std::string what() const;
};
// The call of a reduction.
Call call_of(int root, std::uint64_t bytes, const Operation& operation);

// A call as it crosses the wire.
struct CallRecord {
    char name[32];
    char operation[32];
    char elements[32];
    std::uint64_t bytes;
    std::uint32_t element;
    std::int32_t root;
    core::Rank rank;
    std::uint32_t unused;

    static CallRecord of(std::string_view name, const Call& call, core::Rank rank);
    // Whether both are calls of the same collective with the same arguments, as far as known.
    bool like(const CallRecord& other) const;
    // Whether they agree in everything that the messages depend on; the operation may differ.
    bool may_meet(const CallRecord& other) const;
    bool same_size(const CallRecord& other) const;
    // "rank 3 called reduce with root 1 and 8 B (MPI_SUM of integers of 4 B)"
    std::string text() const;
    // Terminates the texts, which came from another rank, so that they are safe to read.
    void close();
};
static_assert(sizeof(CallRecord) == 120);

// "rank 3 sends 80 bytes to itself and receives 40, expected the same"
std::string describe_own_block(std::string_view rank, std::uint64_t sent, std::uint64_t room);
// "rank 0 called ..., but rank 1 called ..."
std::string describe_difference(const CallRecord& a, const CallRecord& b);
// One member's call, and how to find the other's: the end of an error text for a mismatch that was
// detected by the size of a message, which does not show the sender's call.
std::string advise_check(const CallRecord& known);

}  // namespace torusmp::collectives
