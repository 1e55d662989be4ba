#include "collectives/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace torusmp::collectives {
namespace {

template <std::size_t size>
void put(char (&field)[size], std::string_view text) {
    std::copy_n(text.begin(), std::min(text.size(), size - 1), field);
}

}  // namespace

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

bool CallRecord::differs_in_size(const CallRecord& other) const {
    const bool same_elements = elements[0] == '\0' || other.elements[0] == '\0' ||
                               std::strcmp(elements, other.elements) == 0;
    return bytes != other.bytes && root == other.root && same_elements &&
           (element == 0 || other.element == 0 || element == other.element) &&
           std::strcmp(name, other.name) == 0 && std::strcmp(operation, other.operation) == 0;
}

bool CallRecord::like(const CallRecord& other) const {
    CallRecord same_size = *this;
    same_size.bytes = ~other.bytes;
    return bytes == other.bytes && same_size.differs_in_size(other);
}

std::string CallRecord::text() const {
    std::string text = fmt::format("rank {} called {}", rank, name);
    if (root >= 0) text += fmt::format(" with root {}", root);
    if (bytes != Call::any_bytes)
        text += fmt::format("{} {} B", root >= 0 ? " and" : " with", bytes);
    if (operation[0] != '\0') text += fmt::format(", {}", operation);
    if (elements[0] != '\0') text += fmt::format(" of {}", elements);
    if (element > 1) text += fmt::format(" of {} B", element);
    return text;
}

void CallRecord::close() {
    name[sizeof name - 1] = operation[sizeof operation - 1] = elements[sizeof elements - 1] = '\0';
}

std::string describe_difference(const CallRecord& a, const CallRecord& b) {
    return a.text() + ", but " + b.text();
}

}  // namespace torusmp::collectives
