// SPDX-License-Identifier: BSD-3-Clause
// A collective of a group that spans several hosts with several members each: a chain of
// collectives inside the hosts and among their leaders.
#pragma once

#include "collectives/algorithm/table.h"
#include "collectives/schedule/sequence.h"

namespace torusmp::collectives {

template <class Arguments>
class OverHosts : public Sequence {
  public:
    // The leaders use `algorithm`; if it is null, the settings choose theirs.
    void prepare(std::string_view name, const Arguments& call, const AlgorithmRow* algorithm) {
        call_ = call;
        algorithm_ = algorithm;
        rewind();
        reset(name);
    }

  protected:
    OverHosts(Group& group, Hosts& hosts) : Sequence(group, 3), hosts_(hosts) {}
    ~OverHosts() = default;

    Hosts& hosts_;
    Arguments call_{};
    const AlgorithmRow* algorithm_ = nullptr;
};

}  // namespace torusmp::collectives
