// SPDX-License-Identifier: BSD-3-Clause
// Event sources that both kinds of daemon handle besides ranks and other daemons: the front,
// signals, and child processes that end. Owned by the daemon and used by its one thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>

#include "base/descriptor.h"
#include "programs/torus_run/daemon/head_daemon.h"
#include "programs/torus_run/streams/loop.h"

namespace torusmp::torus_run {

class Attention {
  public:
    struct Listener {
        virtual void user_signal(int signal) = 0;
        virtual void front_gone() = 0;
        // The debugger that started torus-run has read the process table: the ranks may continue.
        virtual void debugger_ready() {}
        // `status` is waitpid's, stops and continuations included. `memory` is the peak resident
        // size of the child or of any of its own children, in bytes.
        virtual void child_changed(pid_t pid, int status, std::uint64_t memory) = 0;
        virtual ~Listener() = default;
    };

    // Raises the limit of open files: each rank needs five.
    Attention(Loop& loop, const DaemonContext& context, Listener& listener);

    // One step of the loop. Deaths come first: what peers report about a dead rank must not hide
    // the cause of its death.
    void step(int milliseconds);
    int null() const { return null_.get(); }

  private:
    void hear_front();
    void hear_signals();
    void reap();

    Loop& loop_;
    const int front_;
    Listener& listener_;
    base::Descriptor signals_, null_;
};

}  // namespace torusmp::torus_run
