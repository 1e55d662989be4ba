// SPDX-License-Identifier: BSD-3-Clause
// Broadcast, along the group's grid.
#pragma once

#include "collectives/algorithm/collective.h"

namespace torusmp::collectives {
namespace broadcast {

// The arguments of a call, as its algorithm sees them.
struct Arguments {
    std::byte* buffer = nullptr;
    std::size_t bytes = 0;
    int root = 0;
};
const AlgorithmsFor<Arguments>& algorithms();

class ByHosts;

}  // namespace broadcast

class Broadcast final : public Collective<broadcast::Arguments> {
  public:
    explicit Broadcast(Group& group);
    ~Broadcast();

    // Sends `bytes` bytes at `buffer` from the root to all members; root is a member number.
    // `algorithm` is a row of broadcast::algorithms(), or null to let the settings choose.
    void start(void* buffer, std::size_t bytes, int root, const AlgorithmRow* algorithm = nullptr);
    // Starts it as a part of another call. `call`, a literal, is the name in reports and in errors
    // of members that disagree.
    void start_for(const char* call, void* buffer, std::size_t bytes, int root);

  private:
    void begin_as(std::string_view name, const Call& call, const AlgorithmRow* algorithm);

    std::unique_ptr<broadcast::ByHosts> by_hosts_;
};

}  // namespace torusmp::collectives
