// SPDX-License-Identifier: BSD-3-Clause
// A task that notes of other ranks give work to. Progress calls work() until all is done; the next
// note begins it again.
//
// Used under the Runtime's lock.
#pragma once

#include "core/api.h"

namespace torusmp::io {

class NotedTask : private core::Task {
  protected:
    explicit NotedTask(core::Runtime& runtime) : runtime_(runtime) {}
    ~NotedTask() = default;
    NotedTask(const NotedTask&) = delete;
    NotedTask& operator=(const NotedTask&) = delete;

    // Does what can be done. Returns true if nothing is left.
    virtual bool work() = 0;

    bool listed() const { return listed_; }
    void begin() {
        listed_ = true;
        runtime_.add_task(*this);
    }
    // For a note: a file is not touched while a packet is taken, but in the turn of progress that
    // follows.
    void begin_soon() {
        if (listed_) return;
        noting_ = true;
        begin();
        noting_ = false;
    }

    core::Runtime& runtime_;

  private:
    bool advance() final {
        if (noting_ || working_) return false;
        working_ = true;
        const bool done = work();
        working_ = false;
        if (done) listed_ = false;
        return done;
    }
    void report(core::Waits&) const final {}  // the ranks that wait report that themselves

    bool listed_ = false;   // as a task
    bool noting_ = false;   // inside begin_soon()
    bool working_ = false;  // inside work(), which may make progress itself
};

}  // namespace torusmp::io
