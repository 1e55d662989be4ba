// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/partitioned/send.h"

namespace torusmp::mpi::partitioned {
namespace {

std::vector<routing::Direction> links_to(Rank peer, const core::Runtime& runtime) {
    std::vector<routing::Direction> links;
    const routing::Torus& torus = runtime.torus();
    for (int index = 0; index < 2 * torus.dimensions(); ++index) {
        const auto direction = routing::Direction::from_index(index);
        if (torus.neighbour(runtime.rank(), direction) == peer) links.push_back(direction);
    }
    if (links.size() < 2) links.clear();
    return links;
}

}  // namespace

Send::Send(const Memory& memory, Communicator& comm, int dest, int tag)
    : Message(comm, dest, tag),
      pieces_(memory.partitions, std::size_t(memory.count) * memory.type.size()),
      piece_(std::make_unique<Piece[]>(std::size_t(pieces_.count()))),
      ready_(std::make_unique<std::atomic<bool>[]>(std::size_t(memory.partitions))) {
    if (peer_ == MPI_PROC_NULL) return;
    const std::ptrdiff_t step = memory.count * memory.type.extent();
    for (int k = 0; k < pieces_.count(); ++k) {
        Piece& piece = piece_[std::size_t(k)];
        const int first = pieces_.first(k);
        piece.memory = buffer_of(core::displaced(memory.address, first * step),
                                 std::size_t(memory.count) * std::size_t(pieces_.end(k) - first),
                                 memory.type, piece.layout);
    }
    links_ = links_to(comm_.peer(peer_), runtime_);
    announce();
}

void Send::announce() {
    TagRanges& tags = comm_.world()->partition_tags;
    announcement_ = {.partition_bytes = pieces_.partition_bytes(),
                     .partitions = pieces_.partitions(),
                     .context = tags.context(),
                     .first_tag = tags.take(pieces_.count())};
    runtime_.send(announcing_, core::Buffer(&announcement_, sizeof announcement_),
                  comm_.peer(peer_), comm_.context(Traffic::partitions), tag_);
}

Send::~Send() {
    if (peer_ != MPI_PROC_NULL)
        comm_.world()->partition_tags.give(announcement_.first_tag, pieces_.count());
}

void Send::start() {
    for (int p = 0; p < pieces_.partitions(); ++p)
        ready_[std::size_t(p)].store(false, std::memory_order_relaxed);
    for (int k = 0; k < pieces_.count(); ++k)
        piece_[std::size_t(k)].missing.store(pieces_.end(k) - pieces_.first(k),
                                             std::memory_order_relaxed);
    first_ = 0;
    unsent_.store(pieces_.count(), std::memory_order_release);
}

void Send::ready(int partition) {
    check_partition(partition, pieces_.partitions());
    if (ready_[std::size_t(partition)].exchange(true, std::memory_order_acq_rel))
        fail(MPI_ERR_ARG, "partition {} is already marked as ready in this start of the request",
             partition);
    const int piece = pieces_.piece_of(partition);
    if (piece_[std::size_t(piece)].missing.fetch_sub(1, std::memory_order_acq_rel) == 1)
        send(piece);
}

void Send::send(int piece) {
    Piece& ready = piece_[std::size_t(piece)];
    if (peer_ != MPI_PROC_NULL) {
        const core::Tag tag = announcement_.first_tag + piece;
        if (links_.empty())
            runtime_.send(ready.request, ready.memory, comm_.peer(peer_), announcement_.context,
                          tag);
        else
            runtime_.send_by(ready.request, ready.memory,
                             links_[std::size_t(piece) % links_.size()], announcement_.context,
                             tag);
    }
    if (unsent_.fetch_sub(1, std::memory_order_acq_rel) == 1 && shared_by_threads)
        runtime_.recheck();  // another thread may wait for it
}

bool Send::complete() const {
    if (unsent_.load(std::memory_order_acquire) != 0) return false;
    int first = first_.load(std::memory_order_relaxed);
    while (first < pieces_.count() && piece_[std::size_t(first)].request.complete()) ++first;
    first_.store(first, std::memory_order_relaxed);
    return first == pieces_.count();
}

void Send::finish() {
    if (peer_ == MPI_PROC_NULL) return;
    for (int k = 0; k < pieces_.count(); ++k)
        check_sent(piece_[std::size_t(k)].request, comm_, peer_, tag_);
}

void Send::list(core::Awaited::List& list) const {
    for (int k = 0; k < pieces_.count(); ++k)
        if (const core::SendRequest& request = piece_[std::size_t(k)].request; !request.complete())
            list.ids.push_back(static_cast<const core::Request*>(&request));
}

}  // namespace torusmp::mpi::partitioned
