// SPDX-License-Identifier: BSD-3-Clause
// How a daemon that runs gets another connection to the head: an agent starts torus-run on its host
// once more, which hands over its standard input and output and stays until they are not needed any
// more. They meet at a socket that has the name of the job and the node, and is open to the same
// user only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "base/descriptor.h"
#include "programs/torus_run/streams/loop.h"

namespace torusmp::launch {

std::string daemon_name(std::uint64_t key, int node);

// The end of the daemon that runs. Used by its one thread.
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
    base::Descriptor guest_;  // who has handed them over last; ends when this is closed
};

// `version`: of the ways by which it comes; one that is older than the last is turned away.
// The end of the other: returns when the daemon does not use the descriptors any more. Throws
// std::runtime_error if there is no such daemon on this host.
void join_daemon(const std::string& name, std::uint64_t version);

}  // namespace torusmp::launch
