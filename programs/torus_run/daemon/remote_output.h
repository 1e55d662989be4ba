// SPDX-License-Identifier: BSD-3-Clause
// The output of ranks on other hosts: each daemon sends a bounded amount of a stream and waits
// until it is confirmed, which is delayed while the reader of torus-run's own stream is slow.
//
// Owned by the head and used by its one thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>

#include "programs/torus_run/daemon/rank_streams.h"
#include "programs/torus_run/streams/messages.h"
#include "programs/torus_run/streams/output.h"
#include "programs/torus_run/streams/packing.h"

namespace torusmp::torus_run {

class RemoteOutput {
  public:
    using Acknowledge = std::function<void(int node, SharedBytes output_taken)>;

    // `outputs` must outlive this object, and have the streams of that many ranks.
    RemoteOutput(Outputs& outputs, int ranks, Acknowledge acknowledge);

    // The bodies of DaemonFrame::output and output_ended. Throw PackingError.
    void printed(int node, Unpacker& body);
    void ended(Unpacker& body);
    // Resumes a stream whose reader has caught up.
    void resume(int stream);

  private:
    void take(int rank, std::uint32_t stream, std::string_view text);
    void give_back(int node, std::uint32_t stream);

    Outputs& outputs_;
    const int ranks_;
    const Acknowledge acknowledge_;
    std::map<int, std::array<std::uint64_t, streams>> owed_;  // bytes, by node
};

}  // namespace torusmp::torus_run
