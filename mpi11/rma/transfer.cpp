// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/rma/transfer.h"

#include <deque>

#include "mpi11/error/check.h"
#include "mpi11/ft/failures.h"

namespace torusmp::mpi {
namespace {

struct TransferPool {
    std::mutex mutex;
    std::deque<Transfer> all;
    std::vector<Transfer*> free;

    static TransferPool& only() {
        static TransferPool* const pool = std::make_unique<TransferPool>().release();
        return *pool;
    }
};

}  // namespace

Transfer& Transfer::take(Window& window, core::rma::Action action, int target) {
    TransferPool& pool = TransferPool::only();
    const SharedLock lock(pool.mutex);
    if (pool.free.empty()) {
        pool.free.push_back(&pool.all.emplace_back());
        pool.free.reserve(pool.all.size());  // give_back() must not allocate
    }
    Transfer& transfer = *pool.free.back();
    pool.free.pop_back();
    transfer.requested = false;
    transfer.window = &window;
    core::rma::Operation& operation = transfer.operation;
    operation.action = action;
    operation.target = target;
    operation.window_ = &window.core;
    operation.arithmetic = 0;
    operation.element = 1;
    operation.data = operation.result = core::Buffer();
    operation.place = {};
    return transfer;
}

void Transfer::give_back() {
    data_layout.reset();
    result_layout.reset();
    place_layout.reset();
    TransferPool& pool = TransferPool::only();
    const SharedLock lock(pool.mutex);
    pool.free.push_back(this);
}

void Transfer::finish() {
    const core::Error error = operation.status().error;
    if (error != core::Error::none)
        fail(class_of_fault(error), "rank {}: {}", operation.target,
             window->comm->runtime().state().why_failed(error, operation.peer()));
    if (operation.refused())
        fail(
            MPI_ERR_RMA_RANGE,
            "an access to rank {} was outside of the memory that it has attached; it had no effect",
            operation.target);
}

}  // namespace torusmp::mpi
