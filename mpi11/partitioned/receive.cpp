// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/partitioned/receive.h"

#include "mpi11/ft/failures.h"

namespace torusmp::mpi::partitioned {

Receive::Receive(const Memory& memory, Communicator& comm, int source, int tag)
    : Message(comm, source, tag),
      address_(memory.address),
      partitions_(memory.partitions),
      count_(memory.count),
      type_(const_cast<Datatype&>(memory.type)),
      partition_bytes_(std::size_t(memory.count) * memory.type.size()),
      whole_(buffer_of(memory.address, std::size_t(memory.partitions) * std::size_t(memory.count),
                       memory.type, layout_)) {
    if (peer_ == MPI_PROC_NULL) return;
    runtime_.receive(announced_, core::Buffer(&announcement_, sizeof announcement_),
                     comm_.peer(peer_), comm_.context(Traffic::partitions), tag_);
}

void Receive::start() {
    first_ = 0;
    posted_.store(false, std::memory_order_relaxed);
    if (peer_ == MPI_PROC_NULL) return;
    pending_ = true;
    runtime_.add_task(*this);  // advances it immediately
}

// Posts the receives of this round, as soon as it is known what to receive.
bool Receive::advance() {
    if (!announced_.complete()) return false;
    if (!piece_ && wrong_.empty()) describe();
    if (wrong_.empty()) post();
    posted_.store(true, std::memory_order_release);
    pending_ = false;
    return true;
}

// Once, from the announcement.
void Receive::describe() {
    if (announced_.status().error != core::Error::none) {
        wrong_ = runtime_.state().why_failed(announced_.status().error, comm_.peer(peer_));
        return;
    }
    pieces_ = Pieces(announcement_.partitions, std::size_t(announcement_.partition_bytes));
    const std::size_t expected = partition_bytes_ * std::size_t(partitions_);
    if (pieces_.bytes() != expected) {
        wrong_ = fmt::format(
            "rank {} of {} sends {} partitions of {} bytes with tag {}, expected {} bytes in all "
            "({} partitions of {})",
            peer_, comm_.describe(), pieces_.partitions(), pieces_.partition_bytes(), tag_,
            expected, partitions_, partition_bytes_);
        return;
    }
    piece_ = std::make_unique<Piece[]>(std::size_t(pieces_.count()));
    for (int k = 0; k < pieces_.count(); ++k) {
        Piece& piece = piece_[std::size_t(k)];
        piece.memory = memory_of(k, piece);
    }
}

core::Buffer Receive::memory_of(int piece, Piece& to) const {
    const std::size_t from = pieces_.offset(piece), bytes = pieces_.bytes(piece);
    if (whole_.layout == nullptr) return {static_cast<void*>(whole_.base + from), bytes};
    const std::size_t element = type_->size();
    if (element != 0 && from % element == 0 && bytes % element == 0)
        return buffer_of(
            core::displaced(address_, std::ptrdiff_t(from / element) * type_->extent()),
            bytes / element, *type_, to.layout);
    to.aside.reset(new std::byte[bytes]);
    return {static_cast<void*>(to.aside.get()), bytes};
}

void Receive::post() {
    for (int k = 0; k < pieces_.count(); ++k) {
        Piece& piece = piece_[std::size_t(k)];
        piece.placed = false;
        runtime_.receive(piece.request, piece.memory, comm_.peer(peer_), announcement_.context,
                         announcement_.first_tag + k);
    }
}

bool Receive::complete() const {
    if (peer_ == MPI_PROC_NULL) return true;
    if (!posted()) return false;
    int first = first_.load(std::memory_order_relaxed);
    while (first < count() && has(first)) ++first;
    first_.store(first, std::memory_order_relaxed);
    return first == count();
}

void Receive::place(int piece) {
    Piece& arrived = piece_[std::size_t(piece)];
    if (!arrived.aside) return;
    const SharedLock lock(mutex_);
    if (std::exchange(arrived.placed, true)) return;
    whole_.unpack(pieces_.offset(piece), arrived.aside.get(), pieces_.bytes(piece));
}

bool Receive::arrived(int partition) {
    check_partition(partition, partitions_);
    if (peer_ == MPI_PROC_NULL) return true;
    if (!posted()) return false;
    if (!wrong_.empty()) return true;  // the call that completes the request reports it
    const auto [first, end] =
        pieces_.overlapping(partition_bytes_ * std::size_t(partition), partition_bytes_);
    for (int k = first; k < end; ++k)
        if (!has(k)) return false;
    for (int k = first; k < end; ++k) place(k);
    return true;
}

void Receive::finish() {
    if (peer_ == MPI_PROC_NULL) return;
    if (!wrong_.empty())
        fail(announced_.status().error != core::Error::none
                 ? class_of_fault(announced_.status().error)
                 : MPI_ERR_TRUNCATE,
             "{}", wrong_);
    for (int k = 0; k < count(); ++k) {
        check_received(piece_[std::size_t(k)].request, comm_);
        place(k);
    }
}

void Receive::report(MPI_Status* status) {
    if (peer_ == MPI_PROC_NULL) return set_proc_null(status);
    set_status(status, peer_, tag_, partition_bytes_ * std::size_t(partitions_));
}

void Receive::list(core::Awaited::List& list) const {
    if (!announced_.complete()) list.ids.push_back(static_cast<const core::Request*>(&announced_));
    if (!posted()) return;
    for (int k = 0; k < count(); ++k)
        if (!has(k))
            list.ids.push_back(static_cast<const core::Request*>(&piece_[std::size_t(k)].request));
}

bool Receive::announcements_done() const {
    if (!announced_.complete() || pending_) return false;
    for (int k = 0; k < count(); ++k)
        if (!has(k)) return false;
    return true;
}

void Receive::give_up() {
    if (!announced_.complete()) runtime_.cancel(announced_);
    for (int k = 0; k < count(); ++k)
        if (!has(k)) runtime_.cancel(piece_[std::size_t(k)].request);
}

}  // namespace torusmp::mpi::partitioned
