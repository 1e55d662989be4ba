// SPDX-License-Identifier: BSD-3-Clause
// A collective as a small state machine that the progress engine advances, so that many run
// concurrently and a blocking collective is start + wait.
//
// The caller owns a schedule, keeps it and its buffers in place until complete(), and may then
// start it again, which rarely allocates: requests and scratch memory stay. A schedule belongs to
// one Group; all members start the same collectives in the same order, except for fixed ones. Its
// steps (steps.h), its own or those of an algorithm, decide what it posts.
//
// A fault between any two members ends the schedule on all of them: each member cancels its
// requests and ends with an error that names the rank. A disagreement about the call has the same
// effect; ledger.h describes how it is detected.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "collectives/group/call.h"
#include "collectives/schedule/scratch.h"
#include "collectives/schedule/steps.h"

namespace torusmp::collectives {

class Area;
class CallCheck;
struct Verdict;

class Schedule : public core::Task, protected Steps {
  public:
    bool complete() const { return complete_.load(std::memory_order_acquire); }
    // The type of the elements of the next calls, if known, and their size: compared in the
    // checking mode. `what` is a literal.
    void set_elements(std::string_view what, std::size_t bytes) {
        elements_ = what;
        element_ = bytes;
    }
    // Blocks until complete. Reports call the wait `call`, or by the name of the collective if
    // `call` is empty.
    void wait(std::string_view call = {}) {
        if (complete()) return;
        const core::AwaitedTask awaited(*this);
        group().runtime().wait_until([this] { return complete(); }, call.empty() ? name_ : call,
                                     &awaited);
    }
    // fix() gives this schedule a tag of its own: its starts then match those of the schedules that
    // the other members fixed as their n-th, in whatever order each member starts them. unfix()
    // reverts this. Neither may be called while it runs.
    void fix();
    void unfix() {
        if (fixed_tag_) [[unlikely]]
            forget_fixed();
    }

    // The first failure and its peer, valid after completion. The result is then undefined.
    core::Error error() const { return messages_.failure().error; }
    Rank failed_peer() const { return messages_.failure().peer; }
    // The error and the peer as text.
    std::string failure() const;
    // Whether it failed because members gave different sizes.
    bool sizes_differ() const {
        const Messages::Failure& failure = messages_.failure();
        return failure.error == core::Error::truncated || failure.found != failure.expected;
    }

    bool advance() final;
    void report(core::Waits& waits) const final;
    // The messages or members that it waits for, as text.
    std::string describe() const;
    void linger() final;
    bool looks() const final { return messages_.area() != nullptr || works_; }
    void set_asleep(bool asleep) final;

  protected:
    explicit Schedule(Group& group);
    ~Schedule();

    // Like begin(), for a call whose own arguments contradict each other: this member's block for
    // itself has `sent` bytes where `room` are expected. Nothing is posted, and the call fails on
    // all members, so that the next one is one call of all.
    void begin_refused(std::string_view name, const Call& call, std::size_t sent, std::size_t room);
    // Hands the schedule to the progress engine. `name` is a literal. `area` is the area that the
    // call goes through, or null.
    void begin(std::string_view name, const Call& call = {}, Area* area = nullptr);
    // Like begin(), but the caller advances it.
    void reset(std::string_view name);
    // Sets the steps to run until the next call of take(): those of an algorithm, which works on
    // messages(), or the schedule's own.
    void take(Steps& steps) { steps_ = &steps; }
    Messages& messages() { return messages_; }
    // The area that calls of this schedule may go through; null if there is none. A part goes
    // through the area of its host, which the whole has entered.
    Area* area() const;
    // The area for the parts of a call over hosts.
    Area* area_inside(const Hosts& hosts) const;
    // From now on this schedule starts and advances `part`. `number`, 1 to 7, distinguishes the
    // parts on one group; parts that have parts of their own leave these bits 0, so 8, 16 or 24; 0
    // if the part does the work of this schedule itself.
    void nest(Schedule& part, int number);
    // Advances a part; true if it has completed successfully.
    bool move_part(Schedule& part);

    // Steps that wait for something besides messages, such as a transfer of a file, say so whenever
    // they are advanced: then they are advanced in every turn.
    void set_working(bool working) { works_ = working; }
    // Returns when some of that has ended, or when all has.
    virtual void await_work(bool /*all*/) {}

  private:
    class Refusal;

    void forget_fixed();
    const Schedule& outermost() const;
    core::Waits::Collective open() const;
    void add_peers(core::Waits::Collective& open) const;
    void keep(const Call& call);
    bool has_begun();
    void look_for_faults();
    void heed(const Verdict& verdict);
    CallRecord own_record() const;
    void tell_all();
    void take_back();
    bool all_complete();

    Messages messages_;
    Steps* steps_ = this;
    std::unique_ptr<Refusal> refusal_;  // null if no call was refused yet
    std::string_view name_ = "collective";
    std::optional<core::Tag> fixed_tag_;
    std::unique_ptr<Area> fixed_area_;  // for calls with that tag
    std::uint64_t fixed_calls_ = 0;
    std::vector<Schedule*> parts_;
    bool nested_ = false;
    const Schedule* whole_ = nullptr;  // the schedule that this is a part of
    int number_ = 0;                   // as a part
    Call call_{};
    std::string_view elements_;
    std::size_t element_ = 0;
    std::unique_ptr<CallCheck> check_;  // if the group checks calls
    bool begun_ = true;                 // calls are compared, if the group checks them
    bool entered_ = false;              // in the ledger
    int lingered_ = 0;
    std::string verdict_;  // the verdict of another member that ended it, as text
    bool advancing_ = false;
    bool looked_ = false;  // for faults, since it was started
    bool works_ = false;
    std::uint64_t faults_seen_ = 0;
    std::atomic<bool> complete_{true};
};

}  // namespace torusmp::collectives
