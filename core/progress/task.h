// SPDX-License-Identifier: BSD-3-Clause
// Work that the progress engine advances, such as the schedule of a collective. The owner keeps it
// alive until advance() has returned true.
#pragma once

#include "core/waits/waits.h"

namespace torusmp::core {

class Task {
  public:
    // Called when anything has moved. Returns true when the task is finished and must be forgotten.
    virtual bool advance() = 0;
    // Adds what it waits for.
    virtual void report(Waits& waits) const = 0;
    // Whether advance() also reads memory that other ranks write, so that it must be called in
    // every turn. May change only inside advance().
    virtual bool looks() const { return false; }
    // Called for such tasks if this process goes to sleep unless the next advance() finishes, and
    // when it is awake again. The ranks that write the memory must be able to see this.
    virtual void set_asleep(bool /*asleep*/) {}
    // Called now and then while a wait of this process lasts long, to find the cause.
    virtual void linger() {}

  protected:
    ~Task() = default;
};

class AwaitedTask final : public Awaited {
  public:
    explicit AwaitedTask(const Task& task) : task_(task) {}
    void list(List& list) const override { list.ids.push_back(&task_); }

  private:
    const Task& task_;
};

}  // namespace torusmp::core
