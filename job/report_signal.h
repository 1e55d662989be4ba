// SIGUSR1 makes the Runtime print what it waits for, unless the program uses the signal itself.
// Held by the Process while its Runtime lives; one at a time.
#pragma once

#include "core/api.h"

namespace torusmp::job {

class ReportSignal {
  public:
    explicit ReportSignal(core::Runtime& runtime);
    // Afterwards no thread's handler uses the Runtime any more.
    ~ReportSignal();
    ReportSignal(const ReportSignal&) = delete;
    ReportSignal& operator=(const ReportSignal&) = delete;
};

}  // namespace torusmp::job
