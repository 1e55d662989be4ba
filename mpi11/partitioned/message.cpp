// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/partitioned/message.h"

#include <mutex>
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
    void finish() {
        for (Message* const message : living_) message->give_up();
        for (const auto& message : ended_) message->give_up();
        const auto settled = [&] {
            for (Message* const message : living_)
                if (!message->settled()) return false;
            for (const auto& message : ended_)
                if (!message->settled()) return false;
            return true;
        };
        runtime().wait_until(settled, "MPI_Finalize");
        sweep();
    }

  private:
    void sweep() {
        std::erase_if(ended_, [](const auto& message) { return message->settled(); });
    }

    std::mutex mutex_;
    std::vector<Message*> living_;
    std::vector<std::unique_ptr<Message>> ended_;
};

}  // namespace

Message::Message(Communicator& comm, int peer, int tag)
    : comm_(comm), peer_(peer), tag_(tag), hold_(comm) {
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
    Register::only().finish();
}

}  // namespace torusmp::mpi::partitioned
