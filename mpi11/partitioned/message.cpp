// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/partitioned/message.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace torusmp::mpi::partitioned {
namespace {

// All messages whose request has not ended, and those that wait for their announcement.
class Register {
  public:
    static Register& only() {
        static Register* const made = std::make_unique<Register>().release();
        return *made;
    }
    void add(Message& message) {
        const SharedLock lock(mutex_);
        sweep();
        living_.push_back(&message);
    }
    void ended(Message& message) {
        const SharedLock lock(mutex_);
        std::erase(living_, &message);
        ended_.emplace_back(&message);
        sweep();
    }
    // A null `comm` stands for all. Does not hold the lock, because cancelling takes the Runtime's,
    // and a thread that waits with that asks announcements_done(). Meanwhile no other thread finds
    // the messages that it could destroy.
    void give_up(const Communicator* comm) {
        std::vector<std::unique_ptr<Message>> ended;
        std::vector<Message*> all;
        {
            const SharedLock lock(mutex_);
            const auto others = std::partition(ended_.begin(), ended_.end(),
                                               [&](const auto& it) { return !is_of(*it, comm); });
            std::move(others, ended_.end(), std::back_inserter(ended));
            ended_.erase(others, ended_.end());
            for (Message* const message : living_)
                if (is_of(*message, comm)) all.push_back(message);
            for (const auto& message : ended) all.push_back(message.get());
        }
        for (Message* const message : all) message->give_up();
        const SharedLock lock(mutex_);
        std::move(ended.begin(), ended.end(), std::back_inserter(ended_));
    }
    bool announcements_done(const Communicator* comm) {
        const SharedLock lock(mutex_);
        const auto open = [&](const auto& it) {
            return is_of(*it, comm) && !it->announcements_done();
        };
        return std::none_of(living_.begin(), living_.end(), open) &&
               std::none_of(ended_.begin(), ended_.end(), open);
    }
    void sweep_up() {
        const SharedLock lock(mutex_);
        sweep();
    }

  private:
    static bool is_of(const Message& message, const Communicator* comm) {
        return comm == nullptr || &message.communicator() == comm;
    }
    void sweep() {
        std::erase_if(ended_, [](const auto& message) { return message->announcements_done(); });
    }

    std::mutex mutex_;
    std::vector<Message*> living_;
    std::vector<std::unique_ptr<Message>> ended_;
};

}  // namespace

Message::Message(Communicator& comm, int peer, int tag)
    : comm_(comm), runtime_(comm.runtime()), peer_(peer), tag_(tag), hold_(comm) {
    Register::only().add(*this);
}

void Message::give_back() {
    Register::only().ended(*this);
}

void Message::check_partition(int partition, int partitions) {
    if (partition < 0 || partition >= partitions)
        fail(MPI_ERR_ARG, "found partition {}, expected 0 to {}", partition, partitions - 1);
}

void finish() {
    Register& all = Register::only();
    all.give_up(nullptr);
    runtime().wait_until([&] { return all.announcements_done(nullptr); }, "MPI_Finalize");
    all.sweep_up();
}

void give_up(const Communicator& comm) {
    Register::only().give_up(&comm);
}

bool announcements_done(const Communicator& comm) {
    return Register::only().announcements_done(&comm);
}

}  // namespace torusmp::mpi::partitioned
