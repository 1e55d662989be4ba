// SPDX-License-Identifier: BSD-3-Clause
// Requests: objects that a caller passes to the Runtime and waits for.
//
// The caller owns the object and keeps it, and its buffer, in place until complete(); nothing is
// allocated for it. A request may be reused once it is complete. It is not copyable, because queues
// link to it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "core/layout/layout.h"
#include "core/transport/api/interface.h"
#include "routing/torus.h"

namespace torusmp::core {

using routing::Rank;
using Context = std::uint32_t;
using Tag = std::int32_t;

inline constexpr Rank any_source = -1;
inline constexpr Tag any_tag = -1;  // tags of messages are 0 and above
inline constexpr Tag no_tag = -2;   // of a receive that no message can match any more

enum class Error : std::uint8_t {
    none,
    truncated,  // the message is longer than the receive; status.bytes is its length
    cancelled,
    unreachable,  // the peer died, or every path to it uses a dead link
    protocol,     // the peer broke the protocol; the connection is closed
    pending,      // a wildcard receive that stays posted, though a rank that may send is dead
    revoked,      // the group was revoked by a member
    mismatch      // members of a group called different collectives, or with different sizes
};
std::string_view describe(Error error);

struct Status {
    Rank source = any_source;
    Tag tag = any_tag;
    std::size_t bytes = 0;  // of the message
    Error error = Error::none;
};

enum class SendMode : std::uint8_t { standard, synchronous };

struct Connection;

// A source of packets that can wait in a connection's queue.
class Outgoing {
  public:
    // Sends what the connection's credits allow. Returns true when nothing is left to send.
    virtual bool emit(Connection& connection) = 0;
    // The connection is gone: nothing more of this will be sent.
    virtual void drop(Error error) = 0;

    Outgoing* queued_after_ = nullptr;  // for OutgoingQueue

  protected:
    Outgoing() = default;
    ~Outgoing() = default;
};

class Request {
  public:
    Request() = default;
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;

    bool complete() const { return complete_.load(std::memory_order_acquire); }
    const Status& status() const { return status_; }
    // Reported as complete, but still posted: see Survivors::suspend_wildcards().
    bool pending() const { return status_.error == Error::pending; }
    Rank peer() const { return peer_; }  // any_source for a wildcard receive
    std::size_t bytes() const { return buffer_.bytes; }

    // The rest is for core's modules; callers must not use it.

    // Atomic because another thread of the program may watch it; a plain load on x86.
    std::atomic<bool> complete_{true};
    Rank peer_ = any_source;
    Context context_ = 0;
    Tag tag_ = any_tag;
    Buffer buffer_{};
    Status status_{};

  protected:
    ~Request() = default;
};

class SendFlow;
class ReceiveFlow;
struct Rail;

class SendRequest : public Request, public Outgoing {
  public:
    SendRequest() = default;

    // The rest is for core's modules; callers must not use it.

    // Sends the request's packets if it had to wait in a queue.
    class Sender {
      public:
        virtual bool emit(SendRequest& request, Connection& connection) = 0;
        virtual void drop(SendRequest& request, Error error) = 0;

      protected:
        ~Sender() = default;
    };
    bool emit(Connection& connection) override { return sender_->emit(*this, connection); }
    void drop(Error error) override { sender_->drop(*this, error); }

    enum class Stage : std::uint8_t {
        idle,         // not started, or complete
        eager,        // one packet with the whole message waits for a credit
        wait_answer,  // the receiver has been asked where to put the bytes
        retracting,   // the same, and the receiver has then been asked to forget the request
        stream,       // packets with pieces of the message are leaving
        writing       // remote writes are under way
    };
    Stage stage() const { return stage_; }
    bool awaits_answer() const {
        return stage_ == Stage::wait_answer || stage_ == Stage::retracting;
    }
    // The one place where the stage changes. Precondition: the transition is allowed.
    void become(Stage next) {
        TORUSMP_ASSERT(may_become(next), peer_, tag_, stage_, next, send_handle_);
        stage_ = next;
    }
    // The same for large messages, with a line of the trace. `self` is the own rank.
    void become(Stage next, Rank self);

  private:
    bool may_become(Stage next) const;
    Stage stage_ = Stage::idle;

  public:
    Sender* sender_ = nullptr;    // while it is in a queue
    SendFlow* flow_ = nullptr;    // null if matched by context and tag
    Connection* link_ = nullptr;  // which of several cables it takes; null for any
    SendRequest* next_waiting_ = nullptr;
    std::uint32_t sequence_ = 0;
    std::uint32_t ordinal_ = 0;         // position in the flow
    std::uint32_t send_handle_ = 0;     // our id while the peer may refer to this request
    std::uint32_t receive_handle_ = 0;  // the receiver's id of the memory we write to
    std::size_t position_ = 0;          // bytes streamed so far
    Rail* rails_ = nullptr;             // of a stream that is spread over several links
    std::uint8_t parts_ = 0;            // remote writes that carry the message, one per link
    std::uint32_t parts_left_ = 0;      // its writes that are still pending
    // Large, so these are not cleared for messages that do not use them.
    transport::RemoteMemory target_;   // the receiver's memory, if it can be named, of a stream
    transport::RemoteMemory exposed_;  // readable by the receiver while exposed_at_ is set
    transport::Interface* exposed_at_ = nullptr;
    // Bit mask of the parts that were complete as soon as they were started.
    std::uint16_t parts_out_ = 0;
    bool part_failed_ = false;
};

class ReceiveRequest : public Request {
  public:
    // If `pends` is true, the source is a wildcard and its context is suspended, the receive is
    // reported as complete with Error::pending, and stays posted; see
    // Survivors::suspend_wildcards().
    explicit ReceiveRequest(bool pends = false) : pends_(pends) {}

    // The rest is for core's modules; callers must not use it.

    // No longer reported as complete with Error::pending.
    void reopen() {
        status_.error = Error::none;
        complete_.store(false, std::memory_order_release);
    }
    void set_pends(bool pends) { pends_ = pends; }
    bool pends_;

    enum class Stage : std::uint8_t {
        idle,      // not started, complete, or about to take a message that is here
        posted,    // waits in a queue for its message
        arriving,  // the bytes of its message arrive in packets or by remote writes
        reading,   // a remote read into its memory is under way
        crossed    // our RTR and the sender's RTS crossed, so `matched` will arrive
    };
    Stage stage() const { return stage_; }
    bool posted() const { return stage_ == Stage::posted; }
    // The one place where the stage changes. Precondition: the transition is allowed.
    void become(Stage next) {
        TORUSMP_ASSERT(may_become(next), peer_, tag_, stage_, next, receive_handle_);
        stage_ = next;
    }
    // The same for large messages, with a line of the trace. `self` is the own rank.
    void become(Stage next, Rank self);

    ReceiveFlow* flow_ = nullptr;  // null if matched by context, source and tag
    transport::Interface* exposed_at_ = nullptr;
    std::uint32_t receive_handle_ = 0;  // id of our memory while the sender may write to it
    std::uint32_t send_handle_ = 0;     // the sender's id of the message we read
    bool announced_ = false;            // the sender has received an announcement of it

  private:
    bool may_become(Stage next) const;
    Stage stage_ = Stage::idle;

  public:
    std::uint8_t parts_ = 0;  // number of links over which the message is written
    std::uint8_t parts_landed_ = 0;
    std::size_t expected_ = 0;  // bytes of the message that is arriving
    std::size_t landed_ = 0;    // bytes that have arrived

    // The rest is set before it is used: small messages do not need most of it.
    ReceiveRequest* next_;  // in a posted queue, or a flow's started list
    ReceiveRequest* previous_;
    std::uint64_t ordinal_;  // order of posting
    std::uint32_t hash_;     // hash of its key, while it is in a posted queue
    transport::RemoteMemory
        exposed_;  // valid while exposed_at_ is set, when a peer may write to it
};

}  // namespace torusmp::core
