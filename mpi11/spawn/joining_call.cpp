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

namespace torusmp::mpi {
namespace {

// What the root tells its members, before and after.
struct Word {
    int error = MPI_SUCCESS;
    int first_side = 0, first_index = 0, number = 0;
    std::array<char, 64> name{};
    std::array<char, 1024> text{};

    void put(std::array<char, 1024>& to, std::string_view what) {
        std::copy_n(what.data(), std::min(what.size(), to.size() - 1), to.data());
    }
    void fail_with(int code, std::string_view why) {
        error = code;
        put(text, why);
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

}  // namespace

Communicator& join_through(Communicator& comm, int root, const char* call, int error,
                           const std::function<Arrangement(const std::vector<int>&)>& arrange,
                           int* number) {
    const bool leads = comm.rank() == root;
    std::vector<int> nodes(std::size_t(comm.size()));
    nodes[std::size_t(comm.rank())] = own_node();
    gather_all(comm, nodes.data(), sizeof(int), call);
    Word word;
    Arrangement arranged;
    if (leads) {
        try {
            arranged = arrange(nodes);
            std::copy_n(arranged.name.data(), std::min(arranged.name.size(), word.name.size() - 1),
                        word.name.data());
            word.first_side = arranged.first_side;
            word.first_index = arranged.first_index;
        } catch (const Failure& failure) {
            word.fail_with(failure.code(), failure.text());
        } catch (const std::exception& failure) {
            word.fail_with(error, failure.what());
        }
    }
    if (number != nullptr) word.number = *number;
    broadcast_bytes(comm, &word, sizeof word, root, call);
    if (number != nullptr) *number = word.number;
    if (word.error != MPI_SUCCESS) throw Failure(word.error, word.text.data());

    // The root's last word reaches the others while they wait to join.
    Word last;
    collectives::Broadcast verdict(comm.group());
    if (!leads) verdict.start_for(call, &last, sizeof last, root);
    const auto given_up = [&] {
        if (leads) return arranged.given_up && arranged.given_up();
        return verdict.complete() && last.error != MPI_SUCCESS;
    };
    Communicator* made = nullptr;
    std::string trouble;
    try {
        made = &join({word.name.data(), word.first_index + comm.rank(), word.first_side},
                     std::move(arranged.meeting), given_up);
    } catch (const std::exception& failure) {
        trouble = failure.what();
    }
    if (leads) {
        if (made == nullptr) {
            const std::string why = arranged.why ? arranged.why() : std::string();
            last.fail_with(error, why.empty() ? trouble : why);
        }
        verdict.start_for(call, &last, sizeof last, root);
    }
    wait_for(verdict);
    const bool failed = made == nullptr || last.error != MPI_SUCCESS;
    try {
        agree(comm, failed ? error : int(MPI_SUCCESS),
              last.error != MPI_SUCCESS ? std::string(last.text.data()) : trouble, error, call);
    } catch (...) {
        if (made != nullptr) release(*made);
        throw;
    }
    made->error_handler = comm.error_handler;
    made->session = comm.session;
    if (arranged.succeeded) arranged.succeeded();
    return *made;
}

}  // namespace torusmp::mpi
