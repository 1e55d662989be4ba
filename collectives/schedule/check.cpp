// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/schedule/check.h"

namespace torusmp::collectives {

void CallCheck::prepare(std::string_view name, const Call& call) {
    found_ = {};
    found_.first = CallRecord::of(name, call, group().rank_of(group().member()));
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

// In the order of the coordinates, so that all members of the line reach the same finding.
void CallCheck::fold() {
    for (Finding& finding : line_) {
        finding.first.close();
        finding.second.close();
    }
    found_ = line_.front();
    for (const Finding& other : line_) {
        if (found_.differ != 0) return;
        if (other.differ != 0) {
            found_ = other;
        } else if (!found_.first.like(other.first)) {
            found_.second = other.first;
            found_.differ = 1;
        }
    }
}

std::string CallCheck::verdict() const {
    if (found_.differ == 0) return {};
    return describe_difference(found_.first, found_.second);
}

}  // namespace torusmp::collectives
