// SPDX-License-Identifier: BSD-3-Clause
// Collective calls: the common code of their blocking, non-blocking and persistent forms.
//
// A call is prepared from its arguments, which are checked and kept as needed, then started, once
// or several times, and finished when its schedule is complete. Calls are kept in pools of their
// communicator, so that nothing is allocated from the second call of a kind on, and any number of
// them may be in progress. Members begin the collectives of a communicator in the same order, one
// thread at a time; any thread may complete them.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "collectives/schedule/schedule.h"
#include "mpi11/coll/staging.h"
#include "mpi11/error/check.h"
#include "mpi11/pt2pt/request.h"

namespace torusmp::mpi {

class SchedulePools;

// Base of all kinds of calls: a derived class names its Slot and is constructed from a
// Communicator. It implements start(), and unstage() if results have to be copied to their
// destination.
class Call : public Work {
  public:
    enum class Slot {
        barrier,
        broadcast,
        reduce,
        allreduce,
        scatter,
        gather,
        allgather,
        alltoall,
        reduce_scatter,
        scan,
        exchange,
        inter_broadcast,
        inter_allgather,
        inter_reduce,
        inter_barrier,
        count
    };

    bool complete() const final { return schedule_->complete(); }
    void finish() final {
        if (schedule_->error() != core::Error::none) [[unlikely]]
            complain();
        unstage();
    }
    const char* name() const final { return name_; }
    const core::Task* task() const final { return schedule_; }

    // The name of the MPI function; a literal.
    void set_name(const char* name) { name_ = name; }
    // Makes members match the calls of a persistent request in the order in which they created
    // them.
    void match_by_making() { schedule_->fix(); }
    void match_by_start() { schedule_->unfix(); }

  protected:
    // `comm` outlives its calls, because its pools end with it.
    Call(Communicator& comm, collectives::Schedule& schedule)
        : comm_(&comm), schedule_(&schedule) {}
    ~Call() = default;

    Communicator& comm() const { return *comm_; }
    collectives::Group& group() const { return comm_->group(); }
    virtual void unstage() {}

  private:
    [[noreturn]] void complain() const;

    Communicator* comm_;
    collectives::Schedule* schedule_;
    const char* name_ = "a collective";
};

// The calls of one communicator, by kind, and the joint group of an inter-communicator.
class SchedulePools {
  public:
    // A free call of that kind.
    template <class T>
    static T& take(Communicator& comm) {
        if (comm.schedules == nullptr) comm.schedules = std::make_shared<SchedulePools>();
        return comm.schedules->take_from<T>(comm);
    }
    template <class T>
    static void give(Communicator& comm, T& call) {
        SchedulePools& pools = *comm.schedules;
        call.match_by_start();
        const SharedLock lock(pools.mutex_);
        static_cast<Pool<T>&>(*pools.pools_[std::size_t(T::slot)]).free.push_back(&call);
    }
    // Both groups of an inter-communicator as one group, in the order of machine ranks.
    static collectives::Group& both(Communicator& comm);
    // The communicator is revoked.
    static void revoke(const SchedulePools& pools) {
        if (pools.both_ != nullptr) pools.both_->revoke();
    }

  private:
    struct AnyPool {
        virtual ~AnyPool() = default;
    };
    template <class T>
    struct Pool final : AnyPool {
        std::vector<std::unique_ptr<T>> all;
        std::vector<T*> free;
    };
    template <class T>
    T& take_from(Communicator& comm) {
        const SharedLock lock(mutex_);
        auto& slot = pools_[std::size_t(T::slot)];
        if (slot == nullptr) slot = std::make_unique<Pool<T>>();
        auto& pool = static_cast<Pool<T>&>(*slot);
        if (pool.free.empty()) {
            pool.all.push_back(std::make_unique<T>(comm));
            pool.free.reserve(pool.all.capacity());
            return *pool.all.back();
        }
        T& call = *pool.free.back();
        pool.free.pop_back();
        return call;
    }

    std::mutex mutex_;
    std::unique_ptr<collectives::Group> both_;  // outlives the calls
    std::array<std::unique_ptr<AnyPool>, std::size_t(Call::Slot::count)> pools_;
};

// A call taken from its pool and being prepared: goes back to the pool if that throws.
template <class T>
class Prepared {
  public:
    explicit Prepared(Communicator& comm) : call_(&SchedulePools::take<T>(comm)) {}
    ~Prepared() {
        if (call_ != nullptr) call_->give_back();
    }
    Prepared(const Prepared&) = delete;
    Prepared& operator=(const Prepared&) = delete;
    T* operator->() const { return call_; }
    T& get() const { return *call_; }
    T& done() { return *std::exchange(call_, nullptr); }

  private:
    T* call_;
};

// ---- the forms of a function: `prepare` creates the call from its arguments ----

template <class Prepare, class... Arguments>
int blocking(const char* name, MPI_Comm comm, Prepare&& prepare, Arguments... arguments) noexcept {
    return api_with_others(name, comm, [&](Communicator& c) {
        Call& call = prepare(c, arguments...);
        call.set_name(name);
        run(call);
    });
}

template <class Prepare, class... Arguments>
int started(const char* name, MPI_Comm comm, MPI_Request* request, Prepare&& prepare,
            Arguments... arguments) noexcept {
    return api_with_request(name, comm, request, [&](Communicator& c) {
        Call& call = prepare(c, arguments...);
        call.set_name(name);
        Request& made = make_request(call, c, false);
        call.start();
        *request = handle_of(made);
    });
}

template <class Prepare, class... Arguments>
int persistent(const char* name, MPI_Comm comm, MPI_Info, MPI_Request* request, Prepare&& prepare,
               Arguments... arguments) noexcept {
    return api_with_request(name, comm, request, [&](Communicator& c) {
        Call& call = prepare(c, arguments...);
        call.set_name(name);
        call.match_by_making();
        *request = handle_of(make_request(call, c, true));
    });
}

// ---- helpers for all kinds of calls ----

// Whether a root uses MPI_IN_PLACE.
inline bool in_place(const void* address) {
    return address == MPI_IN_PLACE;
}
// MPI_IN_PLACE is not defined between two groups.
void refuse_inter_in_place(const Communicator& comm, const void* send, const void* receive);
// Fails for send and receive buffers that must not be the same memory.
[[noreturn]] void refuse_alias(const char* other);
inline void check_alias(const void* send, const void* receive, std::size_t bytes) {
    if (send == receive && bytes > 0 && send != nullptr) [[unlikely]]
        refuse_alias("the receive buffer");
}
// The root argument between two groups: MPI_ROOT, MPI_PROC_NULL or a rank of the other group.
void check_inter_root(const Communicator& comm, int root);

}  // namespace torusmp::mpi
