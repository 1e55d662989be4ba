// SPDX-License-Identifier: BSD-3-Clause
// Copies a rank's counters and its current wait to the control page. The counters are those that
// the modules keep in any case.
//
// Used under the Runtime's lock.
#pragma once

#include "core/connection/packet_sender.h"
#include "core/match/matching.h"
#include "core/page/control_page.h"
#include "core/progress/progress.h"
#include "core/pt2pt/receives.h"
#include "core/pt2pt/sends.h"
#include "core/rma/windows.h"

namespace torusmp::core {

class Publisher {
  public:
    Publisher(Commons& commons, const Connections& connections, const Matching& matching,
              const Sends& sends, const Receives& receives, const Progress& progress,
              const rma::Windows& windows)
        : commons_(commons),
          connections_(connections),
          matching_(matching),
          sends_(sends),
          receives_(receives),
          progress_(progress),
          windows_(windows) {}

    // `waiting` is null if no call waits long.
    void publish(const Waiting* waiting);
    void set_phase(Phase phase) { phase_ = phase; }

  private:
    void describe(const Waiting& waiting, PageState& state) const;
    bool describe_request(const Request& request, PageState& state) const;
    bool describe_access(const Awaited& awaited, PageState& state) const;
    bool describe_oldest(PageState& state) const;
    void count(PageState& state) const;
    WayCounts& way_of(const Connection& connection, PageState& state) const;

    Commons& commons_;
    const Connections& connections_;
    const Matching& matching_;
    const Sends& sends_;
    const Receives& receives_;
    const Progress& progress_;
    const rma::Windows& windows_;
    Phase phase_ = Phase::joining;
};

}  // namespace torusmp::core
