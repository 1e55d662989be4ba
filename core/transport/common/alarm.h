// SPDX-License-Identifier: BSD-3-Clause
// A descriptor that becomes readable at a given time, for work that is due although nothing
// arrives, wherever the caller sleeps.
//
// Owned by an Interface and used under the Runtime's lock.
#pragma once

#include "base/descriptor.h"
#include "core/transport/api/interface.h"

namespace torusmp::transport {

class Alarm {
  public:
    // Throws std::system_error if the system cannot make a timer.
    Alarm();

    int descriptor() const { return timer_.get(); }
    // Rings at that time, or earlier if it was set to an earlier time.
    void set(Clock::time_point at);
    // Whether it should have rung by now.
    bool is_due(Clock::time_point now) const { return now >= at_; }
    // Clears the descriptor after the alarm may have rung.
    void silence();

  private:
    base::Descriptor timer_;
    Clock::time_point at_ = Clock::time_point::max();
};

}  // namespace torusmp::transport
