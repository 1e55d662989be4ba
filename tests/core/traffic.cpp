// SPDX-License-Identifier: BSD-3-Clause
#include "traffic.h"

#include <fmt/format.h>

#include <algorithm>

namespace torusmp::core::testing {

struct Traffic::Message {
    std::uint64_t number = 0;
    Rank from = 0;
    Rank to = 0;
    Context context = 0;
    bool synchronous = false;
    std::size_t bytes = 0;
    bool sent = false;
    bool posted = false;
    std::unique_ptr<std::byte[]> out;  // of the exact length, so that tools see overruns
    std::unique_ptr<std::byte[]> in;
    SendRequest send;
    ReceiveRequest receive;
};

std::size_t usual_length(sim::Random& random, std::size_t eager_limit) {
    const std::uint64_t kind = random.below(100);
    if (kind < 10) return 0;
    if (kind < 80) return std::size_t(random.below(64));
    if (kind < 95) return std::size_t(random.below(eager_limit));
    if (kind < 98) return eager_limit - 1 + std::size_t(random.below(3));
    return std::size_t(random.below(6 * eager_limit));
}

Traffic::Traffic(const JobOptions& job, const TrafficOptions& options)
    : options_(options),
      eager_limit_(job.eager_limit),
      random_(job.seed ^ 0x7261666669u),
      job_(std::make_unique<Job>(job)) {
    if (!options_.length) options_.length = usual_length;
    if (options_.window == 0) options_.window = std::size_t(job_->size()) * 8;
    for (std::size_t i = 0; i < options_.window; ++i) ring_.push_back(std::make_unique<Message>());
}

Traffic::~Traffic() = default;

void Traffic::open(std::uint64_t number) {
    Message& message = at(number);
    message.number = number;
    const auto ranks = std::uint64_t(job_->size());
    message.from = Rank(random_.below(ranks));
    do {
        message.to = Rank(random_.below(ranks));
    } while (!options_.to_self && ranks > 1 && message.to == message.from);
    message.context = Context(random_.below(options_.contexts));
    message.synchronous = random_.chance(options_.synchronous);
    message.bytes = options_.length(random_, eager_limit_);
    message.sent = message.posted = false;
    const auto distance = std::uint64_t(job_->torus().distance(message.from, message.to));
    hops_ += distance;
    relayed_ += distance > 0 ? distance - 1 : 0;
    ++opened_;
}

void Traffic::issue_send() {
    if (sent_ == opened_) open(sent_);
    Message& message = at(sent_++);
    if (!job_->alive(message.from)) return;
    message.sent = true;
    message.out.reset(new std::byte[message.bytes]);
    fill(message.out.get(), message.bytes, message.number);
    (*job_)[message.from].send(message.send,
                               Buffer(static_cast<const void*>(message.out.get()), message.bytes),
                               message.to, message.context, 7,
                               message.synchronous ? SendMode::synchronous : SendMode::standard);
}

void Traffic::issue_receive() {
    if (received_ == opened_) open(received_);
    Message& message = at(received_++);
    if (!job_->alive(message.to)) return;
    message.posted = true;
    message.in.reset(new std::byte[message.bytes]);
    (*job_)[message.to].receive(message.receive, Buffer(message.in.get(), message.bytes),
                                message.from, message.context, 7);
}

std::string Traffic::name(const Message& message) const {
    return fmt::format("message {} ({} -> {}, context {}, {} bytes{}, {} hops)", message.number,
                       message.from, message.to, message.context, message.bytes,
                       message.synchronous ? ", synchronous" : "",
                       job_->torus().distance(message.from, message.to));
}

void Traffic::check(const Message& message) {
    const auto bad = [&](const std::string& what) {
        if (failure_.empty()) failure_ = name(message) + ": " + what;
    };
    const Status& out = message.send.status();
    const Status& in = message.receive.status();
    if (message.sent && out.error != Error::none) {
        if (expected(out.error))
            ++unreachable_;
        else
            bad(fmt::format("the send ended with error '{}'", describe(out.error)));
    }
    if (!message.posted) return;
    if (in.error != Error::none) {
        if (expected(in.error))
            ++unreachable_;
        else
            bad(fmt::format("the receive ended with error '{}'", describe(in.error)));
        if (message.receive.peer() != message.from) bad("the error does not name the sender");
        return;
    }
    if (in.bytes != message.bytes)
        bad(fmt::format("{} bytes arrived", in.bytes));
    else if (in.source != message.from || in.tag != 7)
        bad(fmt::format("arrived as from {} with tag {}", in.source, in.tag));
    else if (!filled(message.in.get(), message.bytes, message.number))
        bad("wrong bytes arrived");
}

bool Traffic::over(const Request& request, bool issued, Rank on) const {
    return !issued || request.complete() || !job_->alive(on);
}

void Traffic::retire() {
    while (retired_ < std::min(sent_, received_)) {
        Message& message = at(retired_);
        if (!over(message.send, message.sent, message.from) ||
            !over(message.receive, message.posted, message.to))
            return;
        // The requests of a dead rank stay open for ever and cannot be used again.
        const bool reusable = message.send.complete() && message.receive.complete();
        if (reusable) {
            check(message);
            message.in.reset();
            message.out.reset();
        } else {
            if (message.sent && message.send.complete() && job_->alive(message.from) &&
                message.send.status().error != Error::none)
                ++unreachable_;
            graveyard_.push_back(std::move(ring_[retired_ % ring_.size()]));
            ring_[retired_ % ring_.size()] = std::make_unique<Message>();
        }
        ++retired_;
    }
}

bool Traffic::step() {
    const std::uint64_t limit = std::min(options_.messages, retired_ + ring_.size());
    bool issued = false;
    if (sent_ < limit && random_.below(2) == 0) {
        issue_send();
        issued = true;
    }
    if (received_ < limit && random_.below(2) == 0) {
        issue_receive();
        issued = true;
    }
    const bool moved = job_->turn();
    retire();
    return moved || issued || sent_ < limit || received_ < limit;
}

bool Traffic::run(const std::function<void(std::uint64_t)>& each) {
    std::uint64_t turns = 0;
    while (retired_ < options_.messages && failure_.empty()) {
        if (!step()) return false;
        if (each && (++turns & 0xffff) == 0) each(retired_);
    }
    return failure_.empty();
}

std::string Traffic::unfinished() const {
    std::string text;
    for (std::uint64_t n = retired_; n < std::min(sent_, received_); ++n) {
        const Message& message = at(n);
        if (over(message.send, message.sent, message.from) &&
            over(message.receive, message.posted, message.to))
            continue;
        text += fmt::format("{}: send {}, receive {}\n", name(message),
                            message.send.complete() ? "complete" : "open",
                            message.receive.complete() ? "complete" : "open");
    }
    return text;
}

std::string Traffic::stuck() const {
    return fmt::format("{} of {} messages arrived, {} sent, {} receives posted; {}\n{}{}", retired_,
                       options_.messages, sent_, received_, failure_, unfinished(), job_->report());
}

}  // namespace torusmp::core::testing
