// SPDX-License-Identifier: BSD-3-Clause
// A child program whose standard streams are pipes to this process: a probe of torus-check, or the
// agent that started one on another host. Sending and receiving text does not block.
//
// Used by the thread of the loop, which calls the handlers. When this object is dropped or
// destroyed, the program's standard input is closed and the program is killed.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/agent.h"
#include "programs/torus_run/streams/loop.h"

namespace torusmp::torus_run {

class PipedProgram {
  public:
    using Said = std::function<void(std::string_view text)>;
    // Called once, unless the program was dropped; `why` completes "the agent ...". The handler
    // must not destroy this object.
    using Ended = std::function<void(const std::string& why)>;

    // Throws AgentError.
    PipedProgram(const std::vector<std::string>& command, Loop& loop, Said said, Ended ended);
    PipedProgram(const PipedProgram&) = delete;
    PipedProgram& operator=(const PipedProgram&) = delete;
    ~PipedProgram() { drop(); }

    void send(std::string_view text);
    void drop();
    // For an owner that reaps all its children in one place. Returns false if it was another child.
    bool reaped(pid_t pid, int status);

  private:
    void write();
    void read_output();
    void read_errors();
    void ended();

    Loop& loop_;
    const Said said_;
    const Ended ended_;
    std::optional<launch::AgentProcess> process_;
    std::string unsent_, errors_;
};

}  // namespace torusmp::torus_run
