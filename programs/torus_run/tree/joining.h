// SPDX-License-Identifier: BSD-3-Clause
// Gives a running daemon another connection to the head: an agent starts torus-run on its host
// again, which hands over its standard input and output and stays until they are not needed any
// more. The two meet at a socket named after the job and the node, which only the same user may
// open.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "base/descriptor.h"
#include "programs/torus_run/streams/loop.h"

namespace torusmp::torus_run {

std::string daemon_name(std::uint64_t key, int node);

// The running daemon's end. Used by its one thread.
class JoinPoint {
  public:
    using Joined = std::function<void(base::Descriptor input, base::Descriptor output)>;

    // Throws std::runtime_error.
    JoinPoint(const std::string& name, Loop& loop, Joined joined);
    JoinPoint(const JoinPoint&) = delete;
    JoinPoint& operator=(const JoinPoint&) = delete;
    ~JoinPoint();

  private:
    void accept_one();

    Loop& loop_;
    const Joined joined_;
    base::Descriptor socket_;
    std::uint64_t version_ = 0;
    // the process that handed over the current descriptors; it ends when this is closed
    base::Descriptor guest_;
};

// Called at the other end; returns when the daemon has closed the descriptors. `version` is the
// tree's version; older versions than the last one are rejected. Throws std::runtime_error if there
// is no such daemon on this host.
void join_daemon(const std::string& name, std::uint64_t version);

}  // namespace torusmp::torus_run
