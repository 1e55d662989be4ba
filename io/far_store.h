// SPDX-License-Identifier: BSD-3-Clause
// A file that this rank cannot reach, accessed through the StoreServer of a rank that can.
//
// Methods block until the server answers, which happens in any library call of its rank. Therefore
// progress must not use a FarStore: collective accesses go through aggregators instead. Any thread
// may call.
#pragma once

#include <atomic>
#include <functional>
#include <string_view>

#include "core/api.h"
#include "core/layout/layout.h"
#include "io/far_call.h"
#include "io/view.h"

namespace torusmp::io {

class FarStore : public Store {
  public:
    // Returns the name of the MPI call that the thread is in, for reports of waits.
    using CallName = std::string_view (*)();
    // The members of the file use `context` for nothing else.
    FarStore(core::Runtime& runtime, core::Context context, core::Rank server, CallName call)
        : runtime_(runtime), context_(context), server_(server), call_name_(call) {}

    // Access through a view, like the functions of io/access.h.
    Outcome write(const View& view, Offset position, const core::Buffer& buffer) {
        return move(far::Operation::write, view, position, buffer);
    }
    Outcome read(const View& view, Offset position, const core::Buffer& buffer) {
        return move(far::Operation::read, view, position, buffer);
    }

    Outcome read(std::byte* memory, std::size_t bytes, Offset at) override {
        return read(View(at), 0, {memory, bytes});
    }
    Outcome write(const std::byte* memory, std::size_t bytes, Offset at) override {
        return write(View(at), 0, {memory, bytes});
    }
    Offset size() override;
    int resize(Offset size) override { return ask(far::Operation::resize, 0, size); }
    int reserve(Offset size) override { return ask(far::Operation::reserve, 0, size); }
    int flush() override { return ask(far::Operation::flush, 0, 0); }
    int lock(Offset from, Offset bytes, bool shared) override {
        return ask(shared ? far::Operation::lock_shared : far::Operation::lock, from, bytes);
    }
    int unlock(Offset from, Offset bytes) override {
        return ask(far::Operation::unlock, from, bytes);
    }
    FarStore* far() override { return this; }

    // From now on calls fail with ECANCELED. The caller cancels the messages of the context. Called
    // under the Runtime's lock.
    void revoke() { revoked_ = true; }

  protected:
    // Returns when done() is true. Virtual, because tests drive progress themselves.
    virtual void wait(const std::function<bool()>& done, const core::Awaited& awaited) {
        runtime_.wait_until(done, call_name_(), &awaited);
    }

  private:
    Outcome move(far::Operation operation, const View& view, Offset position,
                 const core::Buffer& buffer);
    Outcome move_piece(far::Operation operation, const Runs& runs, Offset offset,
                       const core::Buffer& memory);
    far::Answer call(far::Note& note, const Runs& runs, const core::Buffer& memory);
    int ask(far::Operation operation, Offset offset, std::int64_t bytes);

    core::Runtime& runtime_;
    const core::Context context_;
    const core::Rank server_;
    const CallName call_name_;
    std::atomic<std::int64_t> calls_{0};
    bool revoked_ = false;  // changed under the Runtime's lock
};

}  // namespace torusmp::io
