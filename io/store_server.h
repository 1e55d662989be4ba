// SPDX-License-Identifier: BSD-3-Clause
// Serves the FarStores of other ranks from a Store of this rank. It also keeps the locks of the
// file for all members: locks of the kernel belong to a process, and this process acts for several
// ranks.
//
// Calls arrive as notes. Progress carries them out one after the other, each when its data have
// arrived. Memory: one piece of a call. One member creates the server for all, and calls
// await_end() before it destroys it.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "core/api.h"
#include "io/answers.h"
#include "io/far_call.h"
#include "io/hints.h"
#include "io/noted_task.h"

namespace torusmp::io {

class StoreServer final : public RangeLocks, public core::NoteReader, private NotedTask {
  public:
    // `store` and `hints` outlive the server. For `context` see FarStore.
    StoreServer(core::Runtime& runtime, core::Context context, Store& store, const Hints& hints);
    ~StoreServer();
    StoreServer(const StoreServer&) = delete;
    StoreServer& operator=(const StoreServer&) = delete;

    // Locks for this rank. They block.
    int lock(Offset from, Offset bytes, bool shared) override;
    int unlock(Offset from, Offset bytes) override;

    // From now on no call is carried out and no lock granted. The caller cancels the messages of
    // the context, also those of the members that wait for an answer. Called under the Runtime's
    // lock.
    void revoke();

    // Whether all calls that have come have been answered. Called under the Runtime's lock.
    bool at_rest() const { return idle() && !listed(); }
    // Returns when it is at rest. Precondition: no member makes further calls.
    void await_end();

    bool on_note(core::Rank source, core::Tag tag, transport::ConstBytes bytes) override;
    void on_end() override { ended_ = true; }

  private:
    struct Call {
        core::Rank source;
        far::Question question;
        std::vector<Run> runs;
    };
    struct Lock {
        core::Rank owner;
        Offset from, bytes;
        bool shared;
    };
    struct Wait {
        core::Rank source;
        std::int64_t number;  // of the question; negative for a lock of this rank
        Lock lock;
    };
    enum class Stage { take, list, contents, answer };

    bool work() override;
    bool step();
    bool take_next();
    bool fits(const Call& call) const;
    bool arrived(const core::ReceiveRequest& request);
    void do_access();
    void do_call();
    void answer(core::Rank source, std::int64_t number, std::int64_t value, int error);
    bool free_for(const Lock& wanted) const;
    void release(const Lock& lock);
    void grant();
    bool idle() const { return calls_.empty() && stage_ == Stage::take && !answers_.in_flight(); }

    const core::Context context_;
    Store& store_;
    const Hints& hints_;
    bool ended_ = false;
    bool revoked_ = false;  // changed under the Runtime's lock
    std::deque<Call> calls_;
    Stage stage_ = Stage::take;
    core::ReceiveRequest list_, contents_;
    core::SendRequest sent_;
    std::unique_ptr<std::byte[]> memory_;
    std::size_t size_ = 0;
    std::vector<Lock> held_;
    std::deque<Wait> waiting_;  // for locks, in the order of their requests
    std::int64_t own_locks_ = 0;
    Answers<far::Answer> answers_;
};

}  // namespace torusmp::io
