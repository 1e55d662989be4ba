// SPDX-License-Identifier: BSD-3-Clause
// The answers of a server to other ranks, in place until they have left. Used under the Runtime's
// lock.
#pragma once

#include <algorithm>
#include <deque>

#include "core/api.h"

namespace torusmp::io {

template <class Answer>
class Answers {
  public:
    Answers(core::Runtime& runtime, core::Context context) : runtime_(runtime), context_(context) {}

    void send(core::Rank dest, core::Tag tag, const Answer& answer) {
        Sent& sent = sent_.emplace_back();
        sent.answer = answer;
        runtime_.send(sent.request, {static_cast<const void*>(&sent.answer), sizeof sent.answer},
                      dest, context_, tag);
    }
    // Frees the oldest ones, up to the first that has not left.
    void free_sent() {
        while (!sent_.empty() && sent_.front().request.complete()) sent_.pop_front();
    }
    bool in_flight() const {
        return std::any_of(sent_.begin(), sent_.end(),
                           [](const Sent& sent) { return !sent.request.complete(); });
    }

  private:
    struct Sent {
        core::SendRequest request;
        Answer answer;
    };
    core::Runtime& runtime_;
    const core::Context context_;
    std::deque<Sent> sent_;
};

}  // namespace torusmp::io
