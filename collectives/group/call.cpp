// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/group/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace torusmp::collectives {
namespace {

template <std::size_t size>
void put(char (&field)[size], std::string_view text) {
    std::copy_n(text.begin(), std::min(text.size(), size - 1), field);
}

// "MPI_SUM of integers of 4 B"
std::string what_is_computed(std::string_view operation, std::string_view elements,
                             std::size_t element) {
    std::string about(operation);
    if (!elements.empty()) about += fmt::format("{}{}", about.empty() ? "" : " of ", elements);
    if (element > 1) about += fmt::format("{} of {} B", about.empty() ? "elements" : "", element);
    return about;
}

}  // namespace

std::string Call::what() const {
    return what_is_computed(label.operation, label.elements, element);
}

Call call_of(int root, std::uint64_t bytes, const Operation& operation) {
    return {root, bytes, operation.element, operation.label};
}

CallRecord CallRecord::of(std::string_view name, const Call& call, core::Rank rank) {
    CallRecord record{};
    put(record.name, name);
    put(record.operation, call.label.operation);
    put(record.elements, call.label.elements);
    record.bytes = call.bytes;
    record.element = std::uint32_t(call.element);
    record.root = call.root;
    record.rank = rank;
    return record;
}

bool CallRecord::same_size(const CallRecord& other) const {
    return bytes == other.bytes || bytes == Call::any_bytes || other.bytes == Call::any_bytes;
}

bool CallRecord::may_meet(const CallRecord& other) const {
    return std::strcmp(name, other.name) == 0 && root == other.root && same_size(other);
}

bool CallRecord::like(const CallRecord& other) const {
    const bool same_elements = elements[0] == '\0' || other.elements[0] == '\0' ||
                               std::strcmp(elements, other.elements) == 0;
    return may_meet(other) && same_elements &&
           (element == 0 || other.element == 0 || element == other.element) &&
           std::strcmp(operation, other.operation) == 0;
}

std::string CallRecord::text() const {
    std::string text = fmt::format("rank {} called {}", rank, name);
    if (root >= 0) text += fmt::format(" with root {}", root);
    if (bytes != Call::any_bytes)
        text += fmt::format("{} {} B", root >= 0 ? " and" : " with", bytes);
    const std::string about = what_is_computed(operation, elements, element);
    if (!about.empty()) text += fmt::format(" ({})", about);
    return text;
}

void CallRecord::close() {
    name[sizeof name - 1] = operation[sizeof operation - 1] = elements[sizeof elements - 1] = '\0';
}

std::string describe_own_block(std::string_view rank, std::uint64_t sent, std::uint64_t room) {
    return fmt::format("{} sends {} bytes to itself and receives {}, expected the same", rank, sent,
                       room);
}

std::string advise_check(const CallRecord& known) {
    return fmt::format("; {}; collectives.check=true names both calls", known.text());
}

std::string describe_difference(const CallRecord& a, const CallRecord& b) {
    return a.text() + ", but " + b.text();
}

}  // namespace torusmp::collectives
