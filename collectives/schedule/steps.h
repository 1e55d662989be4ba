// SPDX-License-Identifier: BSD-3-Clause
// The code that carries out a collective: it posts messages whenever its schedule is advanced. The
// base of algorithms, and of schedules that have only one algorithm.
//
// There are two styles. Most go step by step: step() posts a batch of sends and receives, and the
// next step begins when the whole batch is complete. Those that keep many messages in flight
// override move(), which is called after every event, and number their requests themselves.
#pragma once

#include <algorithm>

#include "collectives/schedule/messages.h"

namespace torusmp::collectives {

class Steps {
  public:
    Steps(const Steps&) = delete;
    Steps& operator=(const Steps&) = delete;

    // Posts what can be posted. Returns true once everything is posted and complete.
    virtual bool move() {
        while (messages_->batch_complete()) {
            messages_->begin_batch();
            if (failed()) return false;
            if (!step()) return true;
        }
        return false;
    }

  protected:
    explicit Steps(Messages& messages) : messages_(&messages) {}
    ~Steps() = default;

    Group& group() const { return messages_->group(); }
    // Ends the schedule with an error, after cancelling its requests.
    void fail(core::Error error, Rank peer) { messages_->fail(error, peer); }
    // Ends the schedule with an error on all members: a message of that peer does not fit the call.
    void break_off(core::Error error, Rank peer) { messages_->break_off(error, peer); }
    bool failed() const { return messages_->failed(); }
    using Fit = Messages::Fit;
    void expect(Fit fit) { messages_->expect(fit); }

    // --- step by step ---
    // Posts the next batch; false if nothing is left to do. A batch may be empty.
    virtual bool step() { return false; }
    void send(core::Buffer buffer, Rank dest) {
        messages_->post(messages_->next_send(), buffer, dest, 0);
    }
    void receive(core::Buffer buffer, Rank source) {
        messages_->post(messages_->next_receive(), buffer, source, 0);
    }
    // To and from the neighbour in a direction of the group's torus, over exactly that link.
    void send_by(routing::Direction direction, core::Buffer buffer) {
        messages_->post_by(messages_->next_send(), buffer, direction, 0);
    }
    void receive_by(routing::Direction direction, core::Buffer buffer) {
        receive(buffer, group().neighbour(direction));
    }
    // Along a line of the grid: sends `own` to all other members, and receives theirs at
    // into(coordinate). Each member begins with the next one, so that they do not all send to the
    // same member first.
    template <class Into>
    void exchange_line(const Group& grid, int dimension, core::Buffer own, Into&& into) {
        const int extent = grid.extent(dimension);
        const int here = grid.coordinate(dimension);
        for (int k = 1; k < extent; ++k) {
            const int from = (here + extent - k) % extent;
            receive(into(from), grid.line_rank(dimension, from));
        }
        for (int k = 1; k < extent; ++k) send(own, grid.line_rank(dimension, (here + k) % extent));
    }
    // Over a link of the machine.
    void send_over(routing::Direction link, core::Buffer buffer) {
        messages_->post_over(messages_->next_send(), buffer, link);
    }

    // --- message by message ---
    // Reserves requests 0 to count - 1 of each kind, to be used in any order; all earlier ones must
    // be complete.
    void use_requests(std::size_t sends, std::size_t receives) {
        messages_->use_requests(sends, receives);
    }
    // Streams between the same two members match separately, by a number below max_streams.
    static constexpr int max_streams = collectives::max_streams;
    void send(std::size_t index, core::Buffer buffer, Rank dest, int stream = 0) {
        messages_->post(messages_->send_at(index), buffer, dest, stream);
    }
    void send_by(std::size_t index, routing::Direction direction, core::Buffer buffer,
                 int stream = 0) {
        messages_->post_by(messages_->send_at(index), buffer, direction, stream);
    }
    void receive(std::size_t index, core::Buffer buffer, Rank source, int stream = 0) {
        messages_->post(messages_->receive_at(index), buffer, source, stream);
    }
    void receive_by(std::size_t index, routing::Direction direction, core::Buffer buffer,
                    int stream = 0) {
        receive(index, buffer, group().neighbour(direction), stream);
    }
    // Whether a request is complete; a request that ended with an error fails the schedule.
    bool sent(std::size_t index) { return messages_->done(messages_->send_at(index)); }
    bool received(std::size_t index) { return messages_->done(messages_->receive_at(index)); }
    // The status of a receive, without acting on it; null if it has not ended.
    const core::Status* arrived(std::size_t index) const {
        const core::ReceiveRequest& request = messages_->receive_at(index);
        return request.complete() ? &request.status() : nullptr;
    }
    // Bytes of the message that a complete receive got.
    std::size_t bytes_received(std::size_t index) const {
        return messages_->receive_at(index).status().bytes;
    }

  private:
    Messages* messages_;
};

}  // namespace torusmp::collectives
