// SPDX-License-Identifier: BSD-3-Clause
// What ranks on other hosts print: each daemon sends so much of a stream and waits until it is
// taken, which it is not while the reader of ours is slow.
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

namespace torusmp::launch {

class RemoteOutput {
  public:
    using Tell = std::function<void(int node, SharedBytes output_taken)>;

    // `outputs` must outlive this; it has streams of that many ranks.
    RemoteOutput(Outputs& outputs, int ranks, Tell tell);

    // The bodies of DaemonFrame::output and output_ended. Throw PackingError.
    void printed(int node, Unpacker& body);
    void ended(Unpacker& body);
    // The reader of a stream is no longer slow.
    void go_on(int stream);

  private:
    void take(int rank, std::uint32_t stream, std::string_view text);
    void give_back(int node, std::uint32_t stream);

    Outputs& outputs_;
    const int ranks_;
    const Tell tell_;
    std::map<int, std::array<std::uint64_t, streams>> owed_;  // bytes, by node
};

}  // namespace torusmp::launch
