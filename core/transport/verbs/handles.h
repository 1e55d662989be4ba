// SPDX-License-Identifier: BSD-3-Clause
// Owners of the objects that libibverbs returns; their holder destroys them in its own order.
//
// Each has one holder and is used under the Runtime's lock.
#pragma once

#include <infiniband/verbs.h>

#include <memory>

namespace torusmp::transport::verbs {

template <auto destroy>
struct Destroy {
    template <class T>
    void operator()(T* object) const {
        destroy(object);
    }
};

using Context = std::unique_ptr<ibv_context, Destroy<ibv_close_device>>;
using Domain = std::unique_ptr<ibv_pd, Destroy<ibv_dealloc_pd>>;
using MemoryRegion = std::unique_ptr<ibv_mr, Destroy<ibv_dereg_mr>>;
using EventChannel = std::unique_ptr<ibv_comp_channel, Destroy<ibv_destroy_comp_channel>>;
using CompletionQueue = std::unique_ptr<ibv_cq, Destroy<ibv_destroy_cq>>;
using QueuePair = std::unique_ptr<ibv_qp, Destroy<ibv_destroy_qp>>;
using AddressHandle = std::unique_ptr<ibv_ah, Destroy<ibv_destroy_ah>>;

}  // namespace torusmp::transport::verbs
