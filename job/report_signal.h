// SPDX-License-Identifier: BSD-3-Clause
// SIGUSR1 makes the Runtime print what it waits for, and torus-run's question makes it answer,
// unless the program handles these signals itself. Held by the Process while its Runtime lives; one
// at a time.
#pragma once

#include "core/api.h"

namespace torusmp::job {

class ReportSignal {
  public:
    explicit ReportSignal(core::Runtime& runtime);
    // After this, no thread's handler uses the Runtime.
    ~ReportSignal();
    ReportSignal(const ReportSignal&) = delete;
    ReportSignal& operator=(const ReportSignal&) = delete;
};

}  // namespace torusmp::job
