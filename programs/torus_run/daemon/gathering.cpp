// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/gathering.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace torusmp::torus_run {
namespace {

const char* call_name(launch::FrameKind kind) {
    return kind == launch::FrameKind::barrier ? "the barrier at the start or the end of the job"
                                              : "MPI_Init or QMP_init_msg_passing";
}

SharedBytes concatenate(const std::vector<std::vector<std::byte>>& bytes) {
    std::size_t total = bytes.size() * sizeof(std::uint64_t);
    for (const auto& piece : bytes) total += piece.size();
    auto all = std::make_shared<std::vector<std::byte>>(total);
    std::byte* table = all->data();
    std::byte* body = table + bytes.size() * sizeof(std::uint64_t);
    for (const auto& piece : bytes) {
        const std::uint64_t length = piece.size();
        std::memcpy(table, &length, sizeof length);
        table += sizeof length;
        body = std::copy(piece.begin(), piece.end(), body);
    }
    return all;
}

}  // namespace

std::optional<std::string> Gathering::join(int rank, launch::FrameKind kind, std::uint32_t sequence,
                                           std::vector<std::byte> bytes) {
    if (joined(rank))
        return fmt::format("called {} twice before the other ranks called it once",
                           call_name(kind));
    if (sequence != sequence_)
        return fmt::format(
            "sent collective call number {} (expected number {}, as on the other "
            "ranks)",
            sequence, sequence_);
    if (open() && kind != kind_)
        return fmt::format("called {} while {}", call_name(kind), describe_waiting());
    kind_ = kind;
    joined_[std::size_t(rank)] = true;
    bytes_[std::size_t(rank)] = std::move(bytes);
    ++count_;
    return std::nullopt;
}

void Gathering::leave(int rank) {
    if (gone_[std::size_t(rank)]) return;
    gone_[std::size_t(rank)] = true;
    if (!joined(rank)) ++absent_;
}

int Gathering::first_joined() const {
    return int(std::find(joined_.begin(), joined_.end(), true) - joined_.begin());
}

std::string Gathering::describe_waiting() const {
    return fmt::format("rank {} waits in {}", first_joined(), call_name(kind_));
}

Gathering::Answer Gathering::finish() {
    const bool exchange = kind_ == launch::FrameKind::exchange;
    Answer answer{
        {std::uint32_t(exchange ? launch::FrameKind::everyone : launch::FrameKind::released),
         sequence_, 0},
        exchange ? concatenate(bytes_) : nullptr};
    ++sequence_;
    count_ = 0;
    absent_ = int(std::count(gone_.begin(), gone_.end(), true));
    std::fill(joined_.begin(), joined_.end(), false);
    for (auto& piece : bytes_) piece.clear();
    return answer;
}

}  // namespace torusmp::torus_run
