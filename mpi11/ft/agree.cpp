// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_agree and MPI_Comm_shrink: calls on agreements among the living members
// (core/survivors/agreements.h), in their blocking and non-blocking forms.
#include <memory>
#include <vector>

#include "mpi11/coll/collective_calls.h"
#include "mpi11/comm/agreement.h"
#include "mpi11/comm/creation.h"
#include "mpi11/error/check.h"
#include "mpi11/ft/failures.h"
#include "mpi11/ft/shrink.h"
#include "mpi11/pt2pt/request.h"

namespace torusmp::mpi {
namespace {

// An agreement of all members of a communicator, which works if it is revoked and has dead members.
class SurvivorsCall : public Work {
  public:
    SurvivorsCall(const char* name, Communicator& comm)
        : comm_(comm), members_(all_members(comm)), name_(name) {}
    virtual ~SurvivorsCall() = default;
    SurvivorsCall(const SurvivorsCall&) = delete;
    SurvivorsCall& operator=(const SurvivorsCall&) = delete;

    void start() override {
        agreement_.acknowledged = acknowledged_members(*comm_);
        comm_->runtime().survivors().agreements().begin(agreement_, comm_->context(), members_);
    }
    bool complete() const override { return agreement_.complete(); }
    void give_back() override { const std::unique_ptr<SurvivorsCall> end(this); }
    const char* name() const override { return name_; }
    const core::Task* task() const override { return &agreement_; }

  protected:
    Communicator& comm() const { return *comm_; }
    core::Agreement& agreement() { return agreement_; }
    const core::AgreedValue& value() const { return agreement_.value(); }
    Rank member(int place) const { return members_[std::size_t(place)]; }
    // Throws Failure if the members did not agree on a value. Afterwards this process knows of all
    // deaths on which it rests, so it can acknowledge them, also those of which the launcher's
    // report has not arrived yet.
    void check_decided() const {
        if (const auto& parted = agreement_.parted())
            fail(MPI_ERR_UNSUPPORTED_OPERATION,
                 "ranks {} and {} live but cannot reach each other since other ranks died, so the "
                 "members of {} cannot agree: end the job, and start it again from a checkpoint",
                 parted->first, parted->second, comm_->describe());
        for (int place = 0; place < value().failed.members(); ++place)
            if (value().failed.has(place)) comm_->runtime().peer_died(member(place), "it has died");
    }
    // Those of a group that the members agree not to be dead.
    std::vector<Rank> living(const std::vector<Rank>& group) const {
        std::vector<Rank> found;
        for (const Rank rank : group)
            for (int place = 0; place < int(members_.size()); ++place)
                if (member(place) == rank && !value().failed.has(place)) found.push_back(rank);
        return found;
    }

  private:
    Reference<Communicator> comm_;
    std::vector<Rank> members_;
    core::Agreement agreement_;
    const char* name_;
};

class Agree final : public SurvivorsCall {
  public:
    Agree(const char* name, Communicator& comm, int* flag)
        : SurvivorsCall(name, comm), flag_(flag) {
        agreement().flags = std::uint32_t(*flag);
    }
    // All members that decide get the same flag, and the same error.
    void finish() override {
        check_decided();
        *flag_ = int(value().flags);
        if (value().failed.within(value().acknowledged)) return;
        for (int place = 0; place < value().failed.members(); ++place)
            if (value().failed.has(place) && !value().acknowledged.has(place))
                fail(MPI_ERR_PROC_FAILED,
                     "rank {} has died, and not all members have acknowledged "
                     "this before the call",
                     member(place));
    }

  private:
    int* flag_;
};

class Vote final : public SurvivorsCall {
  public:
    Vote(const char* name, Communicator& comm, bool own, Context first, Outcome& outcome)
        : SurvivorsCall(name, comm), outcome_(outcome) {
        agreement().flags = own ? 1 : 0;
        agreement().least = first;
    }
    void finish() override {
        check_decided();
        outcome_ = {.all = value().flags == 1,
                    .died = value().failed.count() > 0,
                    .first = Context(value().least)};
    }

  private:
    Outcome& outcome_;
};

class Shrink final : public SurvivorsCall {
  public:
    Shrink(const char* name, Communicator& comm, GiveComm give)
        : SurvivorsCall(name, comm), claim_(comm), give_(std::move(give)) {
        agreement().least = claim_.first();
    }
    void finish() override {
        // Others may have agreed on these contexts.
        if (agreement().parted()) claim_.use();
        check_decided();
        const Context first = value().least;
        if (first == claim_.first()) claim_.use();
        std::vector<Rank> members = living(comm().members());
        if (!comm().inter()) {
            give_(handle_of(make_intra(comm(), std::move(members), first)));
            return;
        }
        std::vector<Rank> peers = living(comm().peers());
        if (peers.empty()) fail(MPI_ERR_PROC_FAILED, "all members of the remote group have died");
        give_(handle_of(make_inter(comm(), std::move(members), std::move(peers), first)));
    }

  private:
    Claim claim_;
    GiveComm give_;
};

void begin(Communicator& comm, Work& work, MPI_Request* request) {
    Request& made = make_request(work, comm, false);
    work.start();
    *request = handle_of(made);
}

GiveComm give_to(MPI_Comm* newcomm) {
    return [newcomm](MPI_Comm made) { *newcomm = made; };
}

}  // namespace

Outcome vote(Communicator& comm, bool own, Context first, const char* call) {
    Outcome outcome;
    run(*std::make_unique<Vote>(call, comm, own, first, outcome).release());
    return outcome;
}

Meeting meet(Communicator& comm, bool may_lose, const char* call) {
    if (comm.size() == 1) return {};
    // Members may find a revocation here; then none of them has left the barrier, because the
    // member that revoked it does not enter.
    if (!may_lose && !is_revoked(comm)) {
        try {
            run(barrier(comm));
            return {};
        } catch (const Failure&) {
            if (!is_revoked(comm)) throw;
        }
    }
    return {.voted = true, .with_all = vote(comm, true, 0, call).all};
}

void stay_away(Communicator& comm, const std::exception& why) {
    const auto* const failure = dynamic_cast<const Failure*>(&why);
    const int error = failure == nullptr ? MPI_ERR_OTHER : class_of(failure->code());
    const bool of_a_death =
        error == MPI_ERR_PROC_FAILED || error == MPI_ERR_PROC_ABORTED || error == MPI_ERR_REVOKED;
    // Other errors are the same on all members.
    if (comm.size() == 1 || !of_a_death) return;
    revoke(comm);
    comm.runtime().survivors().agreements().abstain(comm.context(), comm.members());
}

Communicator& shrunk(Communicator& comm, const char* call) {
    MPI_Comm made = MPI_COMM_NULL;
    run(*std::make_unique<Shrink>(call, comm, give_to(&made)).release());
    return checked_even_revoked<Communicator>(made);  // a faster member may have revoked it already
}

int shrink_later(const char* call, MPI_Comm comm, GiveComm give, MPI_Request* request) {
    return api(call, comm, [&](Communicator& c) {
        check_output("request", request);
        begin(c, *std::make_unique<Shrink>(call, c, std::move(give)).release(), request);
    });
}

}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Comm_agree = PMPI_Comm_agree
int PMPI_Comm_agree(MPI_Comm comm, int* flag) {
    constexpr const char* call = "MPI_Comm_agree";
    return api(call, comm, [&](Communicator& c) {
        check_output("flag", flag);
        run(*std::make_unique<Agree>(call, c, flag).release());
    });
}

#pragma weak MPI_Comm_iagree = PMPI_Comm_iagree
int PMPI_Comm_iagree(MPI_Comm comm, int* flag, MPI_Request* request) {
    constexpr const char* call = "MPI_Comm_iagree";
    if (request != nullptr) *request = MPI_REQUEST_NULL;
    return api(call, comm, [&](Communicator& c) {
        check_output("flag", flag);
        check_output("request", request);
        begin(c, *std::make_unique<Agree>(call, c, flag).release(), request);
    });
}

#pragma weak MPI_Comm_shrink = PMPI_Comm_shrink
int PMPI_Comm_shrink(MPI_Comm comm, MPI_Comm* newcomm) {
    constexpr const char* call = "MPI_Comm_shrink";
    return api(call, comm, [&](Communicator& c) {
        check_output("newcomm", newcomm);
        *newcomm = MPI_COMM_NULL;
        run(*std::make_unique<Shrink>(call, c, give_to(newcomm)).release());
    });
}

#pragma weak MPI_Comm_ishrink = PMPI_Comm_ishrink
int PMPI_Comm_ishrink(MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request) {
    constexpr const char* call = "MPI_Comm_ishrink";
    if (request != nullptr) *request = MPI_REQUEST_NULL;
    if (newcomm == nullptr)
        return api(call, comm, [&](Communicator&) { check_output("newcomm", newcomm); });
    *newcomm = MPI_COMM_NULL;
    return shrink_later(call, comm, give_to(newcomm), request);
}
}
