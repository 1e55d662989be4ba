// SPDX-License-Identifier: BSD-3-Clause
// Random messages between random pairs of a job, each checked on arrival: its bytes, its length,
// and its position in the order of its pair.
//
// Sends and receives are issued in the same order but run ahead of each other at random, so that
// receives are early, late and crossing. A buffer lives no longer than its message.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "job.h"

namespace torusmp::core::testing {

struct TrafficOptions {
    std::uint64_t messages = 1000;
    std::size_t window = 0;  // under way at a time; 0: eight a rank
    bool to_self = true;
    double synchronous = 0.05;  // share of synchronous sends
    Context contexts = 3;
    // Length of the message; default: mostly small, now and then several times the eager limit.
    std::function<std::size_t(sim::Random&, std::size_t eager_limit)> length{};
};

std::size_t usual_length(sim::Random& random, std::size_t eager_limit);

class Traffic {
  public:
    Traffic(const JobOptions& job, const TrafficOptions& options);
    ~Traffic();

    Job& job() { return *job_; }

    // Issues and moves until all messages have arrived. False: nothing moves any more; stuck() says
    // what is missing, failure() what was wrong. `each`: called now and then with the number of
    // messages that have arrived.
    bool run(const std::function<void(std::uint64_t)>& each = {});
    // One step: maybe a send, maybe a receive, a turn of the job. False: nothing moves.
    bool step();

    std::uint64_t arrived() const { return retired_; }
    // Links that the messages issued so far have to cross, and packets to be relayed if every
    // message were one packet.
    std::uint64_t hops() const { return hops_; }
    std::uint64_t relayed() const { return relayed_; }
    const std::string& failure() const { return failure_; }
    std::string stuck() const;

    // The messages with a request that is not complete though its rank lives, a line each.
    std::string unfinished() const;
    // From now on a request may end as unreachable; how many did.
    std::uint64_t unreachable() const { return unreachable_; }
    void expect_faults() { faults_expected_ = true; }
    // Or because a peer broke the protocol.
    void expect_enemies() { faults_expected_ = enemies_expected_ = true; }

  private:
    struct Message;

    Message& at(std::uint64_t number) const { return *ring_[number % ring_.size()]; }
    void open(std::uint64_t number);
    void issue_send();
    void issue_receive();
    void retire();
    bool over(const Request& request, bool issued, Rank on) const;
    void check(const Message& message);
    bool expected(Error error) const {
        return (faults_expected_ && error == Error::unreachable) ||
               (enemies_expected_ && error == Error::protocol);
    }
    std::string name(const Message& message) const;

    TrafficOptions options_;
    std::size_t eager_limit_;
    sim::Random random_;
    std::vector<std::unique_ptr<Message>> ring_;
    std::vector<std::unique_ptr<Message>> graveyard_;  // of dead ranks
    std::uint64_t opened_ = 0;
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;
    std::uint64_t retired_ = 0;
    std::uint64_t hops_ = 0;
    std::uint64_t relayed_ = 0;
    std::uint64_t unreachable_ = 0;
    bool faults_expected_ = false;
    bool enemies_expected_ = false;
    std::string failure_;
    std::unique_ptr<Job> job_;  // last: gone before the requests
};

}  // namespace torusmp::core::testing
