#include "collectives/schedule.h"

#include "collectives/check.h"
#include "collectives/ledger.h"

namespace torusmp::collectives {

Schedule::Schedule(Group& group) : group_(&group) {}
Schedule::~Schedule() = default;

void Schedule::begin(std::string_view name, const Call& call) {
    reset(name);
    if (nested_) return;  // what it is a part of has been checked, and advances it
    call_ = call;
    if (call_.element == 0) {
        call_.label.elements = elements_;
        call_.element = element_;
    }
    begun_ = entered_ = false;
    if (group_->checking()) {
        if (check_ == nullptr) {
            check_ = std::make_unique<CallCheck>(*group_);
            check_->nested_ = true;
        }
        check_->prepare(name, call_);
        check_->tag_ = tag_;  // its messages come before all others of this schedule
    }
    group_->runtime().add_task(*this);
}

void Schedule::reset(std::string_view name) {
    name_ = name;
    if (!nested_)  // a part gets it when it is moved
        tag_ = fixed_tag_ ? *fixed_tag_ : group_->next_tag();
    error_ = core::Error::none;
    found_ = expected_ = 0;
    failed_peer_ = core::any_source;
    taken_back_ = false;
    to_tell_ = false;
    if (!verdict_.empty()) verdict_.clear();
    lingered_ = 0;
    faults_seen_ = 0;
    complete_.store(false, std::memory_order_relaxed);
}

void Schedule::nest(Schedule& part, int number) {
    part.nested_ = true;
    part.number_ = number;
    parts_.push_back(&part);
}

bool Schedule::move_part(Schedule& part) {
    const int number_so_far = tag_ >> 2 & 31;
    part.tag_ = part.group_->part_tag(tag_, number_so_far | part.number_);
    const std::uint64_t posts = part.posts_;
    const bool finished = part.complete() || part.advance();
    posts_ += part.posts_ - posts;
    if (!finished) return false;
    if (part.failed() && part.to_tell_)
        break_off(part.error_, part.failed_peer_, part.found_, part.expected_);
    else if (part.failed())
        fail(part.error(), part.failed_peer());
    return !failed();
}

void Schedule::fail(core::Error error, Rank peer) {
    if (failed()) return;
    error_ = error;
    failed_peer_ = peer;
    // That the peer is out of reach may only follow from what happened to another.
    if (error == core::Error::unreachable)
        failed_peer_ = group_->runtime().state().lost_in(group_->members()).value_or(peer);
}

void Schedule::break_off(core::Error error, Rank peer, std::size_t found, std::size_t expected) {
    if (failed()) return;
    fail(error, peer);
    found_ = found;
    expected_ = expected;
    to_tell_ = true;
}

void Schedule::fail_receive(const core::ReceiveRequest& request) {
    const core::Status& status = request.status();
    const bool size_alone =
        status.error == core::Error::none || status.error == core::Error::truncated;
    if (!size_alone) return fail(status.error, request.peer());
    const auto error = status.error == core::Error::none ? core::Error::mismatch : status.error;
    // Frames have sizes of their own, which say nothing of the call's.
    if (fit_ == Fit::framed) return break_off(error, request.peer());
    break_off(error, request.peer(), status.bytes, request.bytes());
}

bool Schedule::advance() {
    // Posting a request may move things, and so come back here.
    if (advancing_) return false;
    advancing_ = true;
    if (!has_begun()) {
        advancing_ = false;
        return false;
    }
    look_for_faults();
    // A request may be complete as soon as it is posted, or complete others, after the schedule has
    // looked at them, and no news may come that would make it look again: so it looks once more.
    bool finished = false;
    std::uint64_t posts = 0;
    do {
        posts = posts_;
        finished = (!failed() && move()) || (failed() && (take_back(), all_complete()));
    } while (!finished && posts_ != posts);
    if (to_tell_ && !nested_) [[unlikely]]
        tell_all();
    advancing_ = false;
    if (!finished) return false;
    use_requests(0, 0);
    if (entered_) group_->ledger().leave(tag_);
    // The last access: from here on the owner may start this again or destroy it.
    complete_.store(true, std::memory_order_release);
    return true;
}

// Whether the comparison of calls, if there is one, has ended; fails the schedule if they differ.
bool Schedule::has_begun() {
    if (begun_) return true;
    if (!entered_) group_->ledger().enter(tag_, name_, call_);
    entered_ = true;
    if (group_->checking()) {
        look_for_faults();
        if (failed()) static_cast<Schedule&>(*check_).fail(error_, failed_peer_);
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
    if (found_ != expected_)
        return "rank " + std::to_string(failed_peer_) + " sent " + std::to_string(found_) +
               " bytes where " + std::to_string(expected_) +
               " were expected: the members gave different counts or types";
    if (error_ == core::Error::mismatch && check_ != nullptr) return check_->verdict();
    const std::string rank = "rank " + std::to_string(failed_peer_);
    if (error_ == core::Error::unreachable)
        return rank + " cannot be reached: " + group_->runtime().state().fault_of(failed_peer_);
    return rank + ": " + std::string(core::describe(error_));
}

// Members that never talk to each other in this collective depend on each other all the same: what
// keeps two of them apart ends it for all.
void Schedule::look_for_faults() {
    const std::uint64_t faults = group_->runtime().state().faults();
    if (faults == faults_seen_) return;
    faults_seen_ = faults;
    if (const auto lost = group_->runtime().state().lost_in(group_->members()))
        fail(core::Error::unreachable, *lost);
    if (!entered_ || nested_) return;
    if (const auto verdict = group_->ledger().take_verdict(tag_)) heed(*verdict);
}

void Schedule::heed(const Verdict& verdict) {
    if (failed()) return;
    fail(verdict.error, verdict.culprit.rank);
    verdict_ = verdict.text();
    found_ = std::size_t(verdict.found);
    expected_ = std::size_t(verdict.expected);
}

void Schedule::tell_all() {
    to_tell_ = false;
    Verdict verdict;
    verdict.error = error_;
    verdict.by_message = 1;
    verdict.culprit.rank = failed_peer_;
    verdict.other.rank = group_->runtime().rank();
    verdict.found = found_;
    verdict.expected = expected_;
    group_->ledger().accuse(tag_, verdict);
}

void Schedule::linger() {
    if (entered_ && !nested_ && !failed() && !complete())
        group_->ledger().inquire(tag_, lingered_++);
}

// Those who wait for messages of ours end by the same fault; their memory and ours must not be used
// any more by then.
void Schedule::take_back() {
    if (taken_back_) return;
    taken_back_ = true;
    for (std::size_t i = 0; i < receives_.used; ++i)
        group_->runtime().cancel(receives_.requests[i]);
    for (std::size_t i = 0; i < sends_.used; ++i) group_->runtime().cancel(sends_.requests[i]);
    for (Schedule* part : parts_)
        if (!part->complete()) part->fail(error_, failed_peer_);
}

bool Schedule::all_complete() {
    for (Schedule* part : parts_)
        if (!part->complete() && !part->advance()) return false;
    for (std::size_t i = 0; i < receives_.used; ++i)
        if (!receives_.requests[i].complete()) return false;
    for (std::size_t i = 0; i < sends_.used; ++i)
        if (!sends_.requests[i].complete()) return false;
    return true;
}

bool Schedule::move() {
    while (batch_complete()) {
        sends_.used = sends_.settled = 0;
        receives_.used = receives_.settled = 0;
        if (failed()) return false;
        if (!step()) return true;
    }
    return false;
}

template <class RequestType>
bool Schedule::settle(Batch<RequestType>& batch) {
    for (; batch.settled < batch.used; ++batch.settled)
        if (!done(batch.requests[batch.settled])) return false;
    return true;
}

bool Schedule::batch_complete() {
    return settle(receives_) && settle(sends_);
}

void Schedule::use_requests(std::size_t sends, std::size_t receives) {
    sends_.use(sends);
    receives_.use(receives);
    sends_.settled = receives_.settled = 0;
}

void Schedule::post_send_by(core::SendRequest& request, routing::Direction direction,
                            core::Buffer buffer, int stream) {
    ++posts_;
    if (const auto link = group_->link(direction))
        group_->runtime().send_by(request, buffer, *link, group_->context(), tag_of(stream));
    else
        post_send(request, buffer, group_->neighbour(direction), stream);
}

std::string Schedule::describe() const {
    std::string text(name_);
    if (!begun_ && check_ != nullptr) text += ": " + check_->describe();
    const char* before = " waits for rank ";
    for (std::size_t i = 0; i < receives_.used; ++i) {
        if (receives_.requests[i].complete()) continue;
        text += before + std::to_string(receives_.requests[i].peer());
        before = ", ";
    }
    before = "; sends to rank ";
    for (std::size_t i = 0; i < sends_.used; ++i) {
        if (sends_.requests[i].complete()) continue;
        text += before + std::to_string(sends_.requests[i].peer());
        before = ", ";
    }
    if (!entered_) return text;
    if (const std::string why = group_->ledger().describe(tag_); !why.empty()) text += "; " + why;
    return text;
}

}  // namespace torusmp::collectives
