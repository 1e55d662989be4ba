// SPDX-License-Identifier: BSD-3-Clause
// The checking mode of a group: before a collective begins, all members compare their calls.
//
// Each member sends its call to all others along the lines of the grid, so that all reach the same
// verdict and no member keeps waiting. Internal to Schedule.
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
    // The members whose calls differ, and the difference; empty if all agree.
    std::string verdict() const;
    Rank culprit() const { return found_.second.rank; }

  private:
    // A call that stands for many members, and a different one, if there is any.
    struct Finding {
        CallRecord first;
        CallRecord second;
        std::uint32_t differ;
        std::uint32_t unused;
    };
    static_assert(sizeof(Finding) == 248);

    bool step() override;
    void fold();

    Finding found_{};
    std::vector<Finding> line_;  // by coordinate
    int dimension_ = 0;
    bool gathered_ = false;
};

}  // namespace torusmp::collectives
