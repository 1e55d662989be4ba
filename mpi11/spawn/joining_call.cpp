// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/spawn/joining_call.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <string_view>

#include "collectives/broadcast/broadcast.h"
#include "mpi11/comm/agreement.h"
#include "mpi11/error/check.h"
#include "mpi11/ft/failures.h"

namespace torusmp::mpi {
namespace {

// The root sends it to its members twice: when it has arranged the meeting, and at the end.
struct Report {
    int error = MPI_SUCCESS;
    int first_side = 0, processes = 0, first_index = 0, number = 0;
    std::array<char, 64> name{};
    std::array<char, 1024> text{};

    void fail_with(int code, std::string_view why) {
        error = code;
        std::copy_n(why.data(), std::min(why.size(), text.size() - 1), text.data());
    }
};

// Throws for all members if it has failed for one.
void agree(Communicator& comm, int own, const std::string& why, int error, const char* call) {
    std::vector<int> all(std::size_t(comm.size()));
    all[std::size_t(comm.rank())] = own;
    gather_all(comm, all.data(), sizeof(int), call);
    if (own != MPI_SUCCESS) throw Failure(own, why);
    for (std::size_t rank = 0; rank < all.size(); ++rank)
        if (all[rank] != MPI_SUCCESS) fail(error, "rank {} could not join the others", rank);
}

// Whether the members cannot all come any more.
bool is_broken(Communicator& comm) {
    return is_revoked(comm) || !dead_members(comm).empty();
}

}  // namespace

Communicator& join_through(Communicator& comm, int root, const char* call, int error,
                           const Arrange& arrange, int* number) {
    const bool leads = comm.rank() == root;
    const job::Process& job = comm.world()->process();
    std::vector<int> nodes(std::size_t(comm.size()));
    nodes[std::size_t(comm.rank())] = own_node(job);
    gather_all(comm, nodes.data(), sizeof(int), call);
    Report first;
    Arrangement arranged;
    if (leads) {
        try {
            arranged = arrange(job, std::move(nodes));
            const MeetingPlace& place = arranged.place;
            std::copy_n(place.name.data(), std::min(place.name.size(), first.name.size() - 1),
                        first.name.data());
            first.first_side = place.first_side;
            first.processes = place.processes;
            first.first_index = arranged.first_index;
        } catch (const Failure& failure) {
            first.fail_with(failure.code(), failure.text());
        } catch (const std::exception& failure) {
            first.fail_with(error, failure.what());
        }
    }
    if (number != nullptr) first.number = *number;
    broadcast_bytes(comm, &first, sizeof first, root, call);
    if (number != nullptr) *number = first.number;
    if (first.error != MPI_SUCCESS) throw Failure(first.error, first.text.data());

    // The last report of the root reaches the others while they wait to join.
    Report last;
    collectives::Broadcast report(comm.group());
    if (!leads) report.start_for(call, &last, sizeof last, root);
    const auto given_up = [&] {
        if (is_broken(comm)) return true;
        if (leads) return arranged.given_up && arranged.given_up();
        return report.complete() && last.error != MPI_SUCCESS;
    };
    OwnedJoined made;
    std::string trouble;
    try {
        made.reset(&join({.name = first.name.data(),
                          .index = first.first_index + comm.rank(),
                          .first_side = first.first_side,
                          .processes = first.processes},
                         std::move(arranged.meeting), given_up));
    } catch (const std::exception& failure) {
        trouble = failure.what();
    }
    if (leads) {
        if (made == nullptr) {
            // A death explains itself.
            const std::string why =
                arranged.why && !is_broken(comm) ? arranged.why() : std::string();
            last.fail_with(error, why.empty() ? trouble : why);
        }
        report.start_for(call, &last, sizeof last, root);
    }
    wait_for(report);
    const bool failed = made == nullptr || last.error != MPI_SUCCESS;
    agree(comm, failed ? error : int(MPI_SUCCESS),
          last.error != MPI_SUCCESS ? std::string(last.text.data()) : trouble, error, call);
    made->error_handler = comm.error_handler;
    made->session = comm.session;
    if (arranged.succeeded) arranged.succeeded();
    return *made.release();
}

void give_back(Communicator& made) {
    std::shared_ptr<World> world = made.world();
    release(made);
    abandon_job(std::move(world));
}

}  // namespace torusmp::mpi
