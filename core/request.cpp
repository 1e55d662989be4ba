// SPDX-License-Identifier: BSD-3-Clause
#include "core/request.h"

#include "base/trace.h"

namespace torusmp::core {

std::string_view describe(Error error) {
    switch (error) {
        case Error::none:
            return "no error";
        case Error::truncated:
            return "the message is longer than the receive";
        case Error::cancelled:
            return "cancelled";
        case Error::unreachable:
            return "the peer cannot be reached";
        case Error::protocol:
            return "the peer broke the protocol";
        case Error::pending:
            return "a rank whose message it may wait for is dead";
        case Error::revoked:
            return "the communicator is revoked";
        case Error::mismatch:
            return "the members called different collectives";
    }
    return "unknown error";
}

namespace {

std::string_view name_of(SendRequest::Stage stage) {
    switch (stage) {
        case SendRequest::Stage::idle:
            return "idle";
        case SendRequest::Stage::eager:
            return "waits for a credit";
        case SendRequest::Stage::wait_answer:
            return "waits for its receive";
        case SendRequest::Stage::retracting:
            return "is being cancelled";
        case SendRequest::Stage::stream:
            return "goes in packets";
        case SendRequest::Stage::writing:
            return "is being written";
    }
    return "";
}

std::string_view name_of(ReceiveRequest::Stage stage) {
    switch (stage) {
        case ReceiveRequest::Stage::idle:
            return "idle";
        case ReceiveRequest::Stage::posted:
            return "posted";
        case ReceiveRequest::Stage::arriving:
            return "its bytes arrive";
        case ReceiveRequest::Stage::reading:
            return "reads the sender's memory";
        case ReceiveRequest::Stage::crossed:
            return "waits for the match that crossed it";
    }
    return "";
}

}  // namespace

// A message ends in any stage. A refused remote write goes on in packets; a message that waited for
// a credit may have to ask after all.
bool SendRequest::may_become(Stage next) const {
    switch (next) {
        case Stage::idle:
            return true;
        case Stage::eager:
            return stage_ == Stage::idle;
        case Stage::wait_answer:
            return stage_ == Stage::idle || stage_ == Stage::eager;
        case Stage::retracting:
            return stage_ == Stage::wait_answer;
        case Stage::stream:
        case Stage::writing:
            return stage_ == Stage::idle || awaits_answer();
    }
    return false;
}

bool ReceiveRequest::may_become(Stage next) const {
    switch (next) {
        case Stage::idle:
            return true;
        case Stage::arriving:
            return stage_ == Stage::idle || stage_ == Stage::crossed;
        case Stage::posted:
        case Stage::reading:
        case Stage::crossed:
            return stage_ == Stage::idle;
    }
    return false;
}

void SendRequest::become(Stage next, Rank self) {
    TORUSMP_TRACE(message, trace, self, "send {} of {} B to {}, tag {}: {} (was: {})", send_handle_,
                  buffer_.bytes, peer_, tag_, name_of(next), name_of(stage_));
    become(next);
}

void ReceiveRequest::become(Stage next, Rank self) {
    TORUSMP_TRACE(message, trace, self, "receive {} of {} B from {}, tag {}: {} (was: {})",
                  receive_handle_, buffer_.bytes, peer_, tag_, name_of(next), name_of(stage_));
    become(next);
}

}  // namespace torusmp::core
