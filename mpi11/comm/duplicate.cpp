// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/comm/duplicate.h"

#include <deque>

#include "collectives/broadcast/broadcast.h"
#include "mpi11/attribute/attributes.h"
#include "mpi11/comm/agreement.h"
#include "mpi11/comm/creation.h"
#include "mpi11/error/check.h"

namespace torusmp::mpi {
namespace {

constexpr core::Tag duplicate_tag = 1;  // exchange_lists() uses another tag

// The claimant sends the contexts to all others. All allocation and posting is done when the call
// is made, so members agree on the order of calls whatever else is in progress.
class Duplicate final : public Work {
  public:
    Duplicate(Communicator& from, Info::Entries info, GiveComm give)
        : from_(from), info_(std::move(info)), give_(std::move(give)) {}
    ~Duplicate() = default;

    void copy_attributes() {
        try {
            attributes_ = mpi::copy_attributes(*from_);
        } catch (...) {
            refused_ = std::current_exception();  // the others continue, so this one takes part too
        }
    }
    void start() override {
        const bool claimant = from_->rank() == 0 && (!from_->inter() || ours_counts(*from_));
        if (claimant) first_ = Claim(*from_).use();
        if (from_->inter())
            exchange_context(claimant);
        else
            broadcast_.emplace(from_->group()).start_for(name(), &first_, sizeof first_, 0);
    }
    bool complete() const override {
        if (broadcast_) return broadcast_->complete();
        for (const auto& send : sends_)
            if (!send.complete()) return false;
        return receive_.complete();
    }
    void finish() override {
        if (broadcast_) wait_for(*broadcast_);
        for (auto& send : sends_) wait_for(from_->runtime(), send, name());
        wait_for(from_->runtime(), receive_, name());
        if (refused_) std::rethrow_exception(refused_);
        Communicator& comm = from_->inter()
                                 ? make_inter(*from_, from_->members(), from_->peers(), first_)
                                 : make_intra(*from_, from_->members(), first_);
        comm.attributes = std::move(attributes_);
        comm.topology = from_->topology;
        if (!info_.empty()) comm.info = std::make_shared<Info>(std::move(info_));
        give_(handle_of(comm));
    }
    void give_back() override { const std::unique_ptr<Duplicate> end(this); }
    const char* name() const override { return "MPI_Comm_dup"; }

  private:
    // Between the groups of an inter-communicator.
    void exchange_context(bool claimant) {
        const core::Buffer buffer{reinterpret_cast<std::byte*>(&first_), sizeof first_};
        const Context context = from_->context(Traffic::leaders);
        if (!claimant) {
            const Rank leader = ours_counts(*from_) ? from_->members()[0] : from_->peers()[0];
            from_->runtime().receive(receive_, buffer, leader, context, duplicate_tag);
            return;
        }
        for (const auto* const side : {&from_->members(), &from_->peers()})
            for (const Rank rank : *side)
                if (rank != from_->runtime().rank())
                    from_->runtime().send(sends_.emplace_back(), buffer, rank, context,
                                          duplicate_tag);
    }

    Reference<Communicator> from_;
    Info::Entries info_;
    const GiveComm give_;
    std::shared_ptr<Attributes> attributes_;
    std::exception_ptr refused_;
    Context first_ = 0;
    std::optional<collectives::Broadcast> broadcast_;  // of an intra-communicator
    std::deque<core::SendRequest> sends_;
    core::ReceiveRequest receive_;
};

// Copies attributes immediately; throws Failure if one refuses, on this process alone.
Work& make_duplicate(Communicator& from, Info::Entries info, GiveComm give) {
    auto work = std::make_unique<Duplicate>(from, std::move(info), std::move(give));
    work->copy_attributes();
    return *work.release();
}

int duplicate(const char* call, MPI_Comm comm, const MPI_Info* info, MPI_Comm* newcomm) {
    return api_for_new(call, comm, "newcomm", newcomm, [&](Communicator& c) {
        MPI_Comm made = MPI_COMM_NULL;
        run(make_duplicate(c, info != nullptr ? hints_in(entries_of(*info)) : Info::Entries(),
                           [&](MPI_Comm copy) { made = copy; }));
        return made;
    });
}

// For C, where the new handle is stored at an address.
int duplicate_into(MPI_Comm* newcomm, const char* call, MPI_Comm comm, const MPI_Info* info,
                   MPI_Request* request) {
    if (newcomm == nullptr)
        return api(call, comm, [&](Communicator&) { check_output("newcomm", newcomm); });
    *newcomm = MPI_COMM_NULL;
    return duplicate_later(call, comm, info,
                           GiveComm([newcomm](MPI_Comm copy) { *newcomm = copy; }), request);
}

}  // namespace

int duplicate_later(const char* call, MPI_Comm comm, const MPI_Info* info, GiveComm give,
                    MPI_Request* request) {
    return api_with_request(call, comm, request, [&](Communicator& c) {
        Work& work = make_duplicate(
            c, info != nullptr ? hints_in(entries_of(*info)) : Info::Entries(), std::move(give));
        Request& made = make_request(work, c, false);
        work.start();
        *request = handle_of(made);
    });
}

}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Comm_dup = PMPI_Comm_dup
int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm* newcomm) {
    return duplicate("MPI_Comm_dup", comm, nullptr, newcomm);
}

#pragma weak MPI_Comm_dup_with_info = PMPI_Comm_dup_with_info
int PMPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm) {
    return duplicate("MPI_Comm_dup_with_info", comm, &info, newcomm);
}

#pragma weak MPI_Comm_idup = PMPI_Comm_idup
int PMPI_Comm_idup(MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request) {
    return duplicate_into(newcomm, "MPI_Comm_idup", comm, nullptr, request);
}

#pragma weak MPI_Comm_idup_with_info = PMPI_Comm_idup_with_info
int PMPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm,
                             MPI_Request* request) {
    return duplicate_into(newcomm, "MPI_Comm_idup_with_info", comm, &info, request);
}
}
