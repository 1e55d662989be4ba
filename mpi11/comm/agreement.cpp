// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/comm/agreement.h"

#include "collectives/allgather/allgather.h"
#include "collectives/broadcast/broadcast.h"
#include "mpi11/error/error.h"
#include "mpi11/ft/failures.h"
#include "mpi11/pt2pt/request.h"

namespace torusmp::mpi {
namespace {

// Tags in Traffic::leaders of an inter-communicator, which the program does not use.
constexpr core::Tag exchange_tag = 0;

core::Buffer buffer(std::vector<int>& list) {
    return {reinterpret_cast<std::byte*>(list.data()), list.size() * sizeof(int)};
}

// One message each way.
void swap(core::Runtime& runtime, Context context, Rank peer, int tag, std::vector<int>& out,
          std::vector<int>& in, const char* call) {
    core::ReceiveRequest receive;
    core::SendRequest send;
    runtime.receive(receive, buffer(in), peer, context, tag);
    runtime.send(send, buffer(out), peer, context, tag);
    // Both must be complete before either may be destroyed, whatever happened to the other.
    runtime.wait(send, call);
    runtime.wait(receive, call);
    wait_for(runtime, send, call);
    wait_for(runtime, receive, call);
}

}  // namespace

void wait_for(core::Runtime& runtime, core::Request& request, const char* call) {
    runtime.wait(request, call);
    const core::Error error = request.status().error;
    if (error != core::Error::none)
        fail(class_of_fault(error), "rank {}: {}", request.peer(),
             runtime.state().why_failed(error, request.peer()));
}

void wait_for(collectives::Schedule& schedule) {
    schedule.wait();
    if (schedule.error() != core::Error::none)
        fail(class_of_fault(schedule.error()), "{}", schedule.failure());
}

void gather_all(Communicator& comm, void* table, std::size_t bytes, const char* call) {
    collectives::Allgather schedule(comm.group());
    schedule.start_for(call, table, collectives::Blocks::even(bytes), nullptr);
    wait_for(schedule);
}

void broadcast_bytes(Communicator& comm, void* data, std::size_t bytes, int root,
                     const char* call) {
    collectives::Broadcast schedule(comm.group());
    schedule.start_for(call, data, bytes, root);
    wait_for(schedule);
}

void broadcast_list(Communicator& comm, std::vector<int>& list, int root, const char* call) {
    int length = int(list.size());
    broadcast_bytes(comm, &length, sizeof length, root, call);
    list.resize(std::size_t(length));
    if (length > 0) broadcast_bytes(comm, list.data(), list.size() * sizeof(int), root, call);
}

std::vector<int> gather_lists(Communicator& comm, const std::vector<int>& own,
                              std::vector<int>& counts, const char* call) {
    counts.assign(std::size_t(comm.size()), 0);
    counts[std::size_t(comm.rank())] = int(own.size());
    gather_all(comm, counts.data(), sizeof(int), call);
    std::vector<std::size_t> sizes, offsets;
    std::size_t end = 0;
    for (const int count : counts) {
        sizes.push_back(std::size_t(count) * sizeof(int));
        offsets.push_back(end);
        end += sizes.back();
    }
    std::vector<int> all(end / sizeof(int));
    if (all.empty()) return all;
    collectives::Allgather schedule(comm.group());
    schedule.start_for(call, all.data(), collectives::Blocks::each(sizes, offsets), own.data());
    wait_for(schedule);
    return all;
}

void hand_down(core::Runtime& runtime, const Members& group, int root, Context context,
               core::Tag tag, void* data, std::size_t bytes, const char* call) {
    const int size = group.size();
    const int me = (group.index_of(runtime.rank()) - root + size) % size;
    const auto member = [&](int place) { return group[(place + root) % size]; };
    const core::Buffer whole{static_cast<std::byte*>(data), bytes};
    int mask = 1;
    for (; mask < size; mask <<= 1) {
        if ((me & mask) == 0) continue;
        core::ReceiveRequest receive;
        runtime.receive(receive, whole, member(me - mask), context, tag);
        wait_for(runtime, receive, call);
        break;
    }
    for (mask >>= 1; mask > 0; mask >>= 1) {
        if (me + mask >= size) continue;
        core::SendRequest send;
        runtime.send(send, whole, member(me + mask), context, tag);
        wait_for(runtime, send, call);
    }
}

std::vector<int> swap_lists(core::Runtime& runtime, Context context, Rank peer, int tag,
                            const std::vector<int>& ours, const char* call) {
    std::vector<int> length{int(ours.size())}, their_length{0};
    swap(runtime, context, peer, tag, length, their_length, call);
    std::vector<int> out = ours;
    std::vector<int> in;
    in.resize(std::size_t(their_length[0]));
    swap(runtime, context, peer, tag, out, in, call);
    return in;
}

BothLists exchange_lists(Communicator& inter, std::vector<int> ours, const char* call) {
    BothLists both{std::move(ours), {}};
    if (inter.rank() == 0)
        both.theirs = swap_lists(inter.runtime(), inter.context(Traffic::leaders), inter.peer(0),
                                 exchange_tag, both.ours, call);
    broadcast_list(inter, both.ours, 0, call);
    broadcast_list(inter, both.theirs, 0, call);
    return both;
}

}  // namespace torusmp::mpi
