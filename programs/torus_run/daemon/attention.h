// SPDX-License-Identifier: BSD-3-Clause
// What both kinds of daemon listen to besides ranks and other daemons: the front, signals, children
// that end. Owned by the daemon and used by its one thread.
#pragma once

#include <sys/types.h>

#include <functional>

#include "base/descriptor.h"
#include "programs/torus_run/daemon/head_daemon.h"
#include "programs/torus_run/streams/loop.h"

namespace torusmp::launch {

class Attention {
  public:
    struct Listener {
        virtual void user_signal(int signal) = 0;
        virtual void front_gone() = 0;
        // A debugger that started torus-run knows the ranks: they may go on.
        virtual void debugger_ready() {}
        // waitpid's status, stops and continuations included.
        virtual void child_changed(pid_t pid, int status) = 0;
        virtual ~Listener() = default;
    };

    // Raises the limit of open files: each rank takes five.
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

}  // namespace torusmp::launch
