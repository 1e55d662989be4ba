// SPDX-License-Identifier: BSD-3-Clause
#include "io/ring.h"

#include <cerrno>
#include <utility>

#include "base/assert.h"

#if TORUSMP_HAS_URING
#include <liburing.h>
#endif

namespace torusmp::io {

#if TORUSMP_HAS_URING

namespace {

constexpr unsigned most_transfers = 16;
// More in one call would make the transfer short.
constexpr std::size_t longest_transfer = std::size_t(1) << 30;

}  // namespace

struct Ring::Kernel {
    int descriptor;  // of the file
    io_uring ring{};
    int under_way = 0;
    bool failed = false;
};

std::unique_ptr<Ring> Ring::make(int descriptor) {
    auto kernel = std::make_unique<Kernel>(Kernel{.descriptor = descriptor});
    if (io_uring_queue_init(most_transfers, &kernel->ring, 0) != 0) return nullptr;
    std::unique_ptr<Ring> ring(new Ring(std::move(kernel)));
    // This flag and the operations below are of the same kernel, 5.6.
    const bool complete = (ring->kernel_->ring.features & IORING_FEAT_RW_CUR_POS) != 0;
    return complete ? std::move(ring) : nullptr;
}

Ring::Ring(std::unique_ptr<Kernel> kernel) : kernel_(std::move(kernel)) {}

Ring::~Ring() {
    while (kernel_->under_way != 0) take_ended(true);
    io_uring_queue_exit(&kernel_->ring);
}

bool Ring::begin(Transfer& transfer) {
    if (kernel_->failed || kernel_->under_way == int(most_transfers) ||
        transfer.bytes > longest_transfer)
        return false;
    transfer.outcome = {};
    transfer.over = false;
    if (!submit(transfer)) return false;
    ++kernel_->under_way;
    return true;
}

// Submits what is left of the transfer.
bool Ring::submit(Transfer& transfer) {
    io_uring_sqe* const entry = io_uring_get_sqe(&kernel_->ring);
    TORUSMP_ASSERT(entry != nullptr, kernel_->under_way);
    std::byte* const memory = transfer.memory + transfer.outcome.bytes;
    const auto bytes = unsigned(transfer.bytes - transfer.outcome.bytes);
    const auto at = std::uint64_t(transfer.at) + transfer.outcome.bytes;
    if (transfer.write)
        io_uring_prep_write(entry, kernel_->descriptor, memory, bytes, at);
    else
        io_uring_prep_read(entry, kernel_->descriptor, memory, bytes, at);
    io_uring_sqe_set_data(entry, &transfer);
    int submitted = 0;
    do submitted = io_uring_submit(&kernel_->ring);
    while (submitted == -EINTR || submitted == -EAGAIN || submitted == -EBUSY);
    kernel_->failed = submitted != 1;
    return !kernel_->failed;
}

void Ring::take_ended(bool wait) {
    wait = wait && kernel_->under_way != 0;
    io_uring_cqe* entry = nullptr;
    while ((wait ? io_uring_wait_cqe(&kernel_->ring, &entry)
                 : io_uring_peek_cqe(&kernel_->ring, &entry)) != -EAGAIN) {
        if (entry == nullptr) continue;  // a signal has interrupted the wait
        auto& transfer = *static_cast<Transfer*>(io_uring_cqe_get_data(entry));
        const int result = entry->res;
        io_uring_cqe_seen(&kernel_->ring, std::exchange(entry, nullptr));
        take(transfer, result);
        wait = wait && !transfer.over;
    }
}

// The kernel may move only a part, or be interrupted: then the rest follows.
void Ring::take(Transfer& transfer, int result) {
    if (result > 0) transfer.outcome.bytes += std::size_t(result);
    const bool interrupted = result == -EINTR || result == -EAGAIN;
    if (result < 0 && !interrupted) transfer.outcome.error = -result;
    if (result == 0 && transfer.write) transfer.outcome.error = EIO;
    const bool ended =
        transfer.outcome.error != 0 || result == 0 || transfer.outcome.bytes == transfer.bytes;
    if (!ended && submit(transfer)) return;
    if (!ended) transfer.outcome.error = EIO;
    transfer.over = true;
    --kernel_->under_way;
    TORUSMP_ASSERT(kernel_->under_way >= 0, kernel_->under_way);
}

#else

struct Ring::Kernel {};

std::unique_ptr<Ring> Ring::make(int) {
    return nullptr;
}

Ring::~Ring() = default;

bool Ring::begin(Transfer&) {
    return false;
}

void Ring::take_ended(bool) {}

#endif

}  // namespace torusmp::io
