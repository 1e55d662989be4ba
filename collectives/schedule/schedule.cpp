// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/schedule/schedule.h"

#include <utility>

#include "base/assert.h"
#include "collectives/area/area.h"
#include "collectives/group/ledger.h"
#include "collectives/schedule/check.h"

namespace torusmp::collectives {

// The steps of a call that is refused.
class Schedule::Refusal final : public Steps {
  public:
    explicit Refusal(Messages& messages) : Steps(messages), messages_(messages) {}
    std::size_t sent = 0, room = 0;

  private:
    bool move() override {
        messages_.break_off(sent > room ? core::Error::truncated : core::Error::mismatch,
                            group().runtime().rank(), sent, room);
        return false;
    }
    Messages& messages_;
};

Schedule::Schedule(Group& group) : Steps(messages_), messages_(group) {}
Schedule::~Schedule() = default;

void Schedule::fix() {
    TORUSMP_ASSERT(complete() && !nested_, name_, nested_);
    fixed_tag_ = group().tags().next_fixed();
    fixed_calls_ = 0;
    Group* inside = &group();
    if (Hosts* const hosts = group().hosts()) inside = &hosts->local;
    if (inside->area() != nullptr)
        fixed_area_ = std::make_unique<Area>(*inside, inside->tags().beside(*fixed_tag_),
                                             Area::slots_of_one, group().tags().fixed_before());
}

void Schedule::forget_fixed() {
    TORUSMP_ASSERT(complete(), name_);
    fixed_tag_.reset();
    fixed_area_.reset();
}

const Schedule& Schedule::outermost() const {
    const Schedule* schedule = this;
    while (schedule->whole_ != nullptr) schedule = schedule->whole_;
    return *schedule;
}

Area* Schedule::area() const {
    if (!nested_) return fixed_tag_ ? fixed_area_.get() : group().area();
    Area* const area = outermost().messages_.area();
    return area != nullptr && &area->group() == &group() ? area : nullptr;
}

Area* Schedule::area_inside(const Hosts& hosts) const {
    if (nested_) return nullptr;
    return fixed_tag_ ? fixed_area_.get() : hosts.local.area();
}

// No other rank would wake this one when the work ends, so it is awaited here.
void Schedule::set_asleep(bool asleep) {
    if (Area* const area = messages_.area()) area->set_asleep(asleep);
    if (!asleep || !works_) return;
    await_work(false);
    group().runtime().recheck();
}

// Consecutive calls are often alike. A copy that loads several just-written words at once would
// stall, since one wide load cannot be forwarded from several stores, until the stores before it,
// to lines that other cores hold, are done.
void Schedule::keep(const Call& call) {
    const std::string_view elements = call.element == 0 ? elements_ : call.label.elements;
    const std::size_t element = call.element == 0 ? element_ : call.element;
    const auto same = [](std::string_view a, std::string_view b) {
        return a.data() == b.data() && a.size() == b.size();
    };
    if (call_.root == call.root && call_.bytes == call.bytes && call_.element == element &&
        same(call_.label.operation, call.label.operation) && same(call_.label.elements, elements))
        return;
    call_ = {call.root, call.bytes, element, {call.label.operation, elements}};
}

void Schedule::begin(std::string_view name, const Call& call, Area* area) {
    reset(name);
    if (nested_) {  // the enclosing schedule has been checked, and advances this one
        if (area != nullptr)
            messages_.use_area(area, outermost().messages_.call() + std::uint64_t(number_ - 1));
        return;
    }
    if (area != nullptr) {
        // The whole enters before its parts and leaves after them, so the order in which the parts
        // of several calls begin does not matter.
        const std::uint64_t number = fixed_tag_ ? fixed_calls_ : group().tags().count();
        messages_.use_area(area,
                           &area->group() == &group() ? number : number * Hosts::parts_inside);
        area->enter(messages_.call());
    }
    keep(call);
    begun_ = entered_ = false;
    if (group().policy().check) {
        if (check_ == nullptr) {
            check_ = std::make_unique<CallCheck>(group());
            check_->nested_ = true;
        }
        check_->prepare(name, call_);
        check_->messages_.set_tag(
            messages_.tag());  // its messages come before all others of this schedule
    }
    group().runtime().add_task(*this);
}

void Schedule::begin_refused(std::string_view name, const Call& call, std::size_t sent,
                             std::size_t room) {
    if (refusal_ == nullptr) refusal_ = std::make_unique<Refusal>(messages_);
    refusal_->sent = sent;
    refusal_->room = room;
    take(*refusal_);
    begin(name, call, area());
}

void Schedule::reset(std::string_view name) {
    TORUSMP_ASSERT(nested_ || complete(), group().runtime().rank(), name_, name, messages_.tag());
    name_ = name;
    if (!nested_)  // a part gets its tag when it is moved
        messages_.set_tag(fixed_tag_ ? (++fixed_calls_, *fixed_tag_) : group().tags().next());
    messages_.begin();
    if (!verdict_.empty()) verdict_.clear();
    lingered_ = 0;
    faults_seen_ = 0;
    looked_ = false;
    complete_.store(false, std::memory_order_relaxed);
}

void Schedule::nest(Schedule& part, int number) {
    TORUSMP_ASSERT(part.whole_ == nullptr && &part != this, number, part.number_, name_);
    TORUSMP_ASSERT(number >= 0 && number < 31, number, name_);  // 31: see Tags::beside()
    part.nested_ = true;
    part.whole_ = this;
    part.number_ = number;
    parts_.push_back(&part);
}

bool Schedule::move_part(Schedule& part) {
    TORUSMP_ASSERT(part.whole_ == this, group().runtime().rank(), part.number_, name_);
    const int number_so_far = messages_.tag() >> 2 & 31;
    part.messages_.set_tag(part.group().tags().part(messages_.tag(), number_so_far | part.number_));
    const std::uint64_t posts = part.messages_.posts();
    const bool finished = part.complete() || part.advance();
    messages_.count_posts(part.messages_.posts() - posts);
    if (!finished) return false;
    const Messages::Failure& failure = part.messages_.failure();
    if (part.failed() && failure.to_report)
        messages_.break_off(failure.error, failure.peer, failure.found, failure.expected);
    else if (part.failed())
        fail(failure.error, failure.peer);
    return !failed();
}

bool Schedule::advance() {
    // Posting a request may complete others, and so re-enter this function.
    if (advancing_) return false;
    TORUSMP_ASSERT(!complete(), group().runtime().rank(), name_, messages_.tag());
    advancing_ = true;
    if (!begun_ && !has_begun()) {
        advancing_ = false;
        return false;
    }
    // A call that begins after a fault fails immediately. Later, what has arrived is taken first: the
    // call may be complete, although a member that has done its part has died since.
    if (!std::exchange(looked_, true)) look_for_faults();
    // A request may be complete as soon as it is posted, or complete others that the schedule has
    // already checked, without a further event. So the schedule checks once more.
    bool finished = false;
    std::uint64_t posts = 0;
    const Steps* steps = nullptr;
    do {
        posts = messages_.posts();
        steps = steps_;
        finished = !failed() && steps_->move();
        if (!finished && !failed()) look_for_faults();
        if (!finished && failed()) {
            if (works_) await_work(true);
            works_ = false;
            take_back();
            finished = all_complete();
        }
    } while (!finished && (messages_.posts() != posts || steps_ != steps));
    if (messages_.failure().to_report && !nested_) [[unlikely]]
        tell_all();
    advancing_ = false;
    if (!finished) return false;
    TORUSMP_ASSERT(!failed() || messages_.all_complete(), group().runtime().rank(), name_,
                   messages_.tag());
    messages_.use_none();
    if (Area* const area = messages_.area()) {
        if (failed()) area->expect_no_others();
        if (!nested_) {
            if (failed()) area->leave_early(messages_.call());
            area->leave(messages_.call());
        }
        messages_.use_area(nullptr, 0);
    }
    if (entered_) group().ledger().leave(messages_.tag());
    // The last access: from here on the owner may restart or destroy this schedule.
    complete_.store(true, std::memory_order_release);
    return true;
}

// Whether the comparison of calls, if there is one, has ended. Fails the schedule if calls differ.
bool Schedule::has_begun() {
    if (!entered_) group().ledger().enter(messages_.tag(), name_, call_);
    entered_ = true;
    if (group().policy().check) {
        look_for_faults();
        if (failed()) check_->messages_.fail(error(), failed_peer());
        if (!check_->advance()) return false;
        if (check_->failed())
            fail(check_->error(), check_->failed_peer());
        else if (!check_->verdict().empty())
            fail(core::Error::mismatch, check_->culprit());
    }
    return begun_ = true;
}

std::string Schedule::failure() const {
    if (!verdict_.empty()) return verdict_;
    const Messages::Failure& failure = messages_.failure();
    if (failure.found != failure.expected && failure.peer == group().runtime().rank())
        return describe_own_block("this rank", failure.found, failure.expected);
    if (failure.found != failure.expected)
        return "rank " + std::to_string(failure.peer) + " sent " + std::to_string(failure.found) +
               " bytes where " + std::to_string(failure.expected) +
               " were expected: the members gave different counts, types or roots" +
               advise_check(own_record());
    if (failure.error == core::Error::mismatch && check_ != nullptr) return check_->verdict();
    if (failure.error == core::Error::truncated && failure.peer == group().runtime().rank())
        return "the block for this rank does not fit: the counts and types of both sides must "
               "describe the same number of bytes";
    if (failure.error == core::Error::revoked) return std::string(core::describe(failure.error));
    const std::string rank = "rank " + std::to_string(failure.peer);
    if (failure.error == core::Error::unreachable)
        return rank + " cannot be reached: " + group().runtime().state().fault_of(failure.peer);
    return rank + ": " + group().runtime().state().why_failed(failure.error, failure.peer);
}

// Members that exchange no messages in this collective still depend on each other: a fault that
// separates two of them ends it for all.
void Schedule::look_for_faults() {
    const std::uint64_t faults = group().runtime().state().faults();
    if (faults == faults_seen_) return;
    faults_seen_ = faults;
    if (group().revoked()) fail(core::Error::revoked, group().runtime().rank());
    if (const auto lost = group().runtime().state().lost_in(group().members()))
        fail(core::Error::unreachable, *lost);
    if (!entered_ || nested_) return;
    if (const auto verdict = group().ledger().take_verdict(messages_.tag())) heed(*verdict);
}

void Schedule::heed(const Verdict& verdict) {
    if (failed()) return;
    fail(verdict.error, verdict.culprit.rank);
    verdict_ = verdict.text();
    messages_.note_sizes(std::size_t(verdict.found), std::size_t(verdict.expected));
}

CallRecord Schedule::own_record() const {
    return CallRecord::of(name_, call_, group().runtime().rank());
}

void Schedule::tell_all() {
    messages_.mark_reported();
    const Messages::Failure& failure = messages_.failure();
    Verdict verdict;
    verdict.error = failure.error;
    verdict.by_message = 1;
    verdict.culprit.rank = failure.peer;
    verdict.other = own_record();
    verdict.found = failure.found;
    verdict.expected = failure.expected;
    group().ledger().accuse(messages_.tag(), verdict);
}

void Schedule::linger() {
    if (entered_ && !nested_ && !failed() && !complete())
        group().ledger().inquire(messages_.tag(), lingered_++);
}

// Members that wait for messages of this one fail by the same fault. By then neither their memory
// nor this member's may be in use any more.
void Schedule::take_back() {
    if (!messages_.take_back()) return;
    for (Schedule* part : parts_)
        if (!part->complete()) part->fail(error(), failed_peer());
}

bool Schedule::all_complete() {
    for (Schedule* part : parts_)
        if (!part->complete() && !part->advance()) return false;
    return messages_.all_complete();
}

void Schedule::add_peers(core::Waits::Collective& open) const {
    messages_.report(open);
    for (const Schedule* part : parts_)
        if (!part->complete()) part->add_peers(open);
}

core::Waits::Collective Schedule::open() const {
    core::Waits::Collective open{.name = std::string(name_),
                                 .context = group().context(),
                                 .tag = messages_.tag(),
                                 .root = call_.root,
                                 .bytes = call_.bytes,
                                 .what = call_.what(),
                                 .id = static_cast<const core::Task*>(this)};
    add_peers(open);
    if (!begun_ && check_ != nullptr) check_->add_peers(open);
    if (entered_) open.known = group().ledger().describe(messages_.tag());
    return open;
}

void Schedule::report(core::Waits& waits) const {
    waits.add(open());
}

std::string Schedule::describe() const {
    return core::describe(open());
}

}  // namespace torusmp::collectives
