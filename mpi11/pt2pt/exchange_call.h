// SPDX-License-Identifier: BSD-3-Clause
// A call that consists of messages with known partners, posted together: the neighbours of a
// topology, or the members of another group. Derived datatypes are sent directly, without a copy
// here.
#pragma once

#include "collectives/schedule/exchange.h"
#include "mpi11/coll/collective.h"

namespace torusmp::mpi {

class ExchangeCall final : public Call {
  public:
    static constexpr Slot slot = Slot::exchange;
    // On an inter-communicator over both groups.
    explicit ExchangeCall(Communicator& comm)
        : Call(comm, schedule_),
          schedule_(comm.inter() ? SchedulePools::both(comm) : comm.group()) {}

    // `what`, a literal, is compared between the members' calls.
    void prepare(const char* what, const collectives::Call& compared = {}) {
        schedule_.clear();
        holds_.clear();
        what_ = what;
        compared_ = compared;
    }
    void send(const void* address, MPI_Count count, const Datatype& type, Rank to) {
        schedule_.add_send(buffer_of(address, count, type), to);
    }
    void send_over(const void* address, MPI_Count count, const Datatype& type,
                   routing::Direction link) {
        schedule_.add_send(buffer_of(address, count, type), link);
    }
    void receive(const void* address, MPI_Count count, const Datatype& type, Rank from) {
        schedule_.add_receive(buffer_of(address, count, type), from);
    }
    void start() override { schedule_.start(what_, compared_); }
    void give_back() override {
        holds_.clear();
        SchedulePools::give(comm(), *this);
    }

  private:
    core::Buffer buffer_of(const void* address, MPI_Count count, const Datatype& type) {
        LayoutHold hold;
        const core::Buffer buffer = mpi::buffer_of(address, std::size_t(count), type, hold);
        if (hold != nullptr) holds_.push_back(std::move(hold));
        return buffer;
    }
    std::vector<LayoutHold> holds_;
    const char* what_ = "exchange";
    collectives::Call compared_;
    collectives::Exchange schedule_;
};

}  // namespace torusmp::mpi
