// SPDX-License-Identifier: BSD-3-Clause
// The services for front ends that go on after deaths: agreements and revocations among the members
// of groups, and the fate of requests that a death or a revocation concerns.
//
// Part of the Runtime's interface; any thread may call.
#pragma once

#include <functional>
#include <vector>

#include "core/survivors/agreements.h"
#include "core/survivors/revocations.h"

namespace torusmp::core {

class Core;

class Survivors final {
  public:
    explicit Survivors(Core& core) : core_(core) {}

    // See Agreements and Revocations.
    Agreements& agreements() const;
    Revocations& revocations() const;

    // Whether that rank is known to be dead or unreachable.
    bool is_lost(Rank rank) const;
    // Called for each rank that is lost from now on, under the Runtime's lock. One at a time.
    void set_loss_listener(std::function<void(Rank)> listener) const;

    // From now on receives from any source in that context do not wait: those that may pend (see
    // ReceiveRequest) are reported as complete with Error::pending and stay posted, others end
    // with Error::unreachable. Messages still match them.
    void suspend_wildcards(Context context) const;
    // They wait again.
    void resume_wildcards(Context context) const;
    // Cancels all receives and matched sends in these contexts that no message or receive has met.
    void cancel_all(Context first, Context count) const;

  private:
    Core& core_;
};

}  // namespace torusmp::core
