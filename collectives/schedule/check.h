// SPDX-License-Identifier: BSD-3-Clause
// The checking mode of a group: before a collective begins, all members compare what they called.
//
// Each tells all others along the lines of the grid, so that all come to the same verdict and none
// is left waiting for the others. Internal to Schedule.
#pragma once

#include <string>
#include <vector>

#include "collectives/schedule/schedule.h"

namespace torusmp::collectives {

class CallCheck final : public Schedule {
  public:
    explicit CallCheck(Group& group) : Schedule(group) {}
    ~CallCheck() = default;

    // To be advanced by the schedule that is being checked until it has finished.
    void prepare(std::string_view name, const Call& call);
    // Whose calls differ, and how; empty: all agree.
    std::string verdict() const;
    Rank culprit() const { return found_.second.rank; }

  private:
    // A call that stands for many members, and one that differs from it, if any does.
    struct Finding {
        CallRecord first;
        CallRecord second;
        std::uint32_t differ;
        std::uint32_t unused;
    };
    static_assert(sizeof(Finding) == 232);

    bool step() override;
    void fold();

    Finding found_{};
    std::vector<Finding> line_;  // by coordinate
    int dimension_ = 0;
    bool gathered_ = false;
};

}  // namespace torusmp::collectives
