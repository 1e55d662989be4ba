#include "collectives/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace torusmp::collectives {

void CallCheck::prepare(std::string_view name, const Call& call) {
    found_ = {};
    std::copy_n(name.begin(), std::min(name.size(), sizeof found_.first.name - 1),
                found_.first.name);
    found_.first.bytes = call.bytes;
    found_.first.root = call.root;
    found_.first.rank = group().rank_of(group().node());
    dimension_ = group().dimensions();
    gathered_ = false;
    reset("comparing calls");
}

bool CallCheck::step() {
    if (gathered_) fold();
    if (--dimension_ < 0) return false;
    const int here = group().coordinate(dimension_);
    line_.assign(std::size_t(group().extent(dimension_)), found_);
    for (int c = 0; c < group().extent(dimension_); ++c) {
        if (c == here) continue;
        receive({reinterpret_cast<std::byte*>(&line_[std::size_t(c)]), sizeof(Finding)},
                group().line_rank(dimension_, c));
        send({reinterpret_cast<std::byte*>(&found_), sizeof(Finding)},
             group().line_rank(dimension_, c));
    }
    return gathered_ = true;
}

// In the order of the coordinates, so that all members of the line find the same.
void CallCheck::fold() {
    const auto like = [](const Record& a, const Record& b) {
        return std::strncmp(a.name, b.name, sizeof a.name) == 0 && a.bytes == b.bytes &&
               a.root == b.root;
    };
    found_ = line_.front();
    for (const Finding& other : line_) {
        if (found_.differ != 0) return;
        if (other.differ != 0) {
            found_ = other;
        } else if (!like(found_.first, other.first)) {
            found_.second = other.first;
            found_.differ = 1;
        }
    }
}

std::string CallCheck::text_of(const Record& record) {
    std::string text =
        fmt::format("rank {} called {}", record.rank,
                    std::string_view(record.name, ::strnlen(record.name, sizeof record.name)));
    if (record.root >= 0) text += fmt::format(" with root {}", record.root);
    if (record.bytes != Call::any_bytes)
        text += fmt::format("{} {} B", record.root >= 0 ? " and" : " with", record.bytes);
    return text;
}

std::string CallCheck::verdict() const {
    if (found_.differ == 0) return {};
    return text_of(found_.first) + ", but " + text_of(found_.second);
}

}  // namespace torusmp::collectives
