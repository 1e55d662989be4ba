// SPDX-License-Identifier: BSD-3-Clause
// The data in transit between the ranks of a snapshot: messages that have a receive at their other
// end, packets that were sent and not taken, credits on their way back. A rank that waits for such
// data does not wait for another rank's program. Pure.
#pragma once

#include <vector>

#include "job/hang/words.h"

namespace torusmp::job {

class Transit {
  public:
    // `snapshot` must outlive this.
    explicit Transit(const Snapshot& snapshot);

    // Whether a link is silent or its other end is unreachable: its traffic is then unknown.
    bool unsettled() const { return unsettled_; }

    // Whether `to` has not yet taken all packets that `from` has sent. Unknown for a rank that has
    // not answered; but such a rank is not known to wait either.
    bool packets(Rank from, Rank to) const;
    // Whether part of a large message of this context has arrived.
    bool pieces(Rank from, Rank to, core::Context context) const;

    // Whether the send meets a receive that has started.
    bool meets_receive(Rank sender, const Operation& send) const;
    // Whether the receive meets a large send that has started.
    bool meets_send(Rank sender, Rank receiver, const Operation& receive) const;

    // Ranks that do not return credits because they are not in a call of the library, from relay to
    // relay. A rank in a call takes incoming packets, so its credits are on their way back.
    std::vector<Rank> holders_of(Rank rank) const;

  private:
    const RankState& state(Rank rank) const { return snapshot_[std::size_t(rank)]; }
    const Waits& waits(Rank rank) const;

    const Snapshot& snapshot_;
    bool unsettled_ = false;
};

}  // namespace torusmp::job
