// SPDX-License-Identifier: BSD-3-Clause
// Several collectives in sequence that act as one: used by groups that span several hosts and by
// pairs of groups.
//
// A base: the derived class nests its parts and starts each in its turn. The whole is one schedule,
// so several may run concurrently.
#pragma once

#include "collectives/schedule/schedule.h"

namespace torusmp::collectives {

class Sequence : public Schedule {
  protected:
    // `parts` is the largest number of parts.
    Sequence(Group& group, int parts) : Schedule(group), parts_(parts) {}
    ~Sequence() = default;

    // To be called before begin() or reset().
    void rewind() {
        part_ = 0;
        running_ = nullptr;
    }
    // Starts part `number`, counted from 0, and returns it; null if this member does not take part
    // in it.
    virtual Schedule* start_part(int number) = 0;
    bool move() override {
        while (running_ == nullptr || move_part(*running_)) {
            if (part_ == parts_) return true;
            running_ = start_part(part_++);
            if (running_ == nullptr && part_ == parts_) return true;
        }
        return false;
    }

  private:
    const int parts_;
    int part_ = 0;
    Schedule* running_ = nullptr;
};

}  // namespace torusmp::collectives
