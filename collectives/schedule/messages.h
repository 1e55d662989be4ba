// SPDX-License-Identifier: BSD-3-Clause
// The messages that a schedule has in flight, and the first failure among them.
//
// Requests live as long as the schedule and are reused, so that a start rarely allocates. Internal
// to Schedule and Steps.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "base/assert.h"
#include "collectives/group/group.h"

namespace torusmp::collectives {

class Messages {
  public:
    // How a message has to fit the receive that it matches. If it does not fit, the members
    // disagree about the call and the schedule breaks off.
    enum class Fit { exact, at_most, framed };

    struct Failure {
        core::Error error = core::Error::none;
        Rank peer = core::any_source;
        std::size_t found = 0;  // bytes of a message of the wrong size
        std::size_t expected = 0;
        bool to_report = false;  // the other members must be informed of the failure
    };

    explicit Messages(Group& group) : group_(&group) {}
    Messages(const Messages&) = delete;
    Messages& operator=(const Messages&) = delete;

    Group& group() const { return *group_; }
    core::Tag tag() const { return tag_; }
    void set_tag(core::Tag tag) { tag_ = tag; }
    void expect(Fit fit) { fit_ = fit; }
    // Clears the last failure.
    void begin() {
        failure_ = {};
        taken_back_ = false;
    }

    bool failed() const { return failure_.error != core::Error::none; }
    const Failure& failure() const { return failure_; }
    void fail(core::Error error, Rank peer);
    // `found` and `expected` are the sizes in bytes, if these were wrong.
    void break_off(core::Error error, Rank peer, std::size_t found = 0, std::size_t expected = 0);
    // Sizes reported by another member, or already sent to all members.
    void note_sizes(std::size_t found, std::size_t expected);
    void mark_reported() { failure_.to_report = false; }

    // The area through which the members of this call exchange data; null if they send messages.
    Area* area() const { return area_; }
    std::uint64_t call() const { return call_; }
    void use_area(Area* area, std::uint64_t call) {
        area_ = area;
        call_ = call;
        awaited_ = core::any_source;
    }
    // The member whose contents are awaited, for reports.
    void await(Rank rank) { awaited_ = rank; }

    // Requests of a batch, one after the other; or by index, if the algorithm numbers them.
    core::SendRequest& next_send() { return sends_.next(); }
    core::ReceiveRequest& next_receive() { return receives_.next(); }
    // A request of the last batch can still be read.
    core::SendRequest& send_at(std::size_t index) {
        TORUSMP_ASSERT(index < sends_.requests.size(), index, sends_.used, tag_);
        return sends_.requests[index];
    }
    core::ReceiveRequest& receive_at(std::size_t index) {
        TORUSMP_ASSERT(index < receives_.requests.size(), index, receives_.used, tag_);
        return receives_.requests[index];
    }
    void use_requests(std::size_t sends, std::size_t receives);
    void use_none() { begin_batch(); }

    void post(core::SendRequest& request, core::Buffer buffer, Rank dest, int stream) {
        ++posts_;
        group_->runtime().send(request, buffer, dest, group_->context(), tag_of(stream));
    }
    void post(core::ReceiveRequest& request, core::Buffer buffer, Rank source, int stream) {
        ++posts_;
        group_->runtime().receive(request, buffer, source, group_->context(), tag_of(stream));
    }
    // Sends to the neighbour in a direction of the group's torus, over exactly that link.
    void post_by(core::SendRequest& request, core::Buffer buffer, routing::Direction direction,
                 int stream);
    // Sends over a link of the machine.
    void post_over(core::SendRequest& request, core::Buffer buffer, routing::Direction link) {
        ++posts_;
        group_->runtime().send_by(request, buffer, link, group_->context(), tag_of(0));
    }
    // The number of posts so far, including those of parts.
    std::uint64_t posts() const { return posts_; }
    void count_posts(std::uint64_t more) { posts_ += more; }

    // Whether a request is complete; a request that ended with an error is a failure.
    bool done(const core::SendRequest& request) {
        if (!request.complete()) return false;
        if (request.status().error != core::Error::none)
            fail(request.status().error, request.peer());
        return true;
    }
    bool done(const core::ReceiveRequest& request) {
        if (!request.complete()) return false;
        if (request.status().error != core::Error::none ||
            (request.status().bytes != request.bytes() && fit_ == Fit::exact)) [[unlikely]]
            fail_receive(request);
        return true;
    }
    bool batch_complete() { return all_done(receives_) && all_done(sends_); }
    void begin_batch() {
        sends_.used = sends_.done_count = 0;
        receives_.used = receives_.done_count = 0;
    }

    // Cancels the requests in flight, once; false if already cancelled.
    bool take_back();
    bool all_complete() const;
    // Adds the members that it waits for, and those to which it sends.
    void report(core::Waits::Collective& open) const;

  private:
    // Each step reuses the first few requests.
    template <class RequestType>
    struct Batch {
        std::deque<RequestType> requests;
        std::size_t used = 0;        // in this step, or numbered by the algorithm
        std::size_t done_count = 0;  // of these, known to be complete
        RequestType& next() {
            if (used == requests.size()) requests.emplace_back();
            return requests[used++];
        }
        void use(std::size_t count) {
            while (requests.size() < count) requests.emplace_back();
            used = count;
            done_count = 0;
        }
    };

    core::Tag tag_of(int stream) const {
        TORUSMP_ASSERT(stream >= 0 && stream < max_streams, stream, tag_);
        return tag_ * max_streams + stream;
    }
    void fail_receive(const core::ReceiveRequest& request);
    template <class RequestType>
    bool all_done(Batch<RequestType>& batch) {
        TORUSMP_ASSERT(batch.done_count <= batch.used && batch.used <= batch.requests.size(),
                       batch.done_count, batch.used, tag_);
        for (; batch.done_count < batch.used; ++batch.done_count)
            if (!done(batch.requests[batch.done_count])) return false;
        return true;
    }

    Group* group_;
    core::Tag tag_ = 0;
    Fit fit_ = Fit::exact;
    Failure failure_;
    bool taken_back_ = false;
    Batch<core::SendRequest> sends_;
    Batch<core::ReceiveRequest> receives_;
    std::uint64_t posts_ = 0;
    Area* area_ = nullptr;
    std::uint64_t call_ = 0;
    Rank awaited_ = core::any_source;
};

}  // namespace torusmp::collectives
