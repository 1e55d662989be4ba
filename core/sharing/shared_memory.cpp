// SPDX-License-Identifier: BSD-3-Clause
#include "core/sharing/shared_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <new>

#include "base/assert.h"

namespace torusmp::core {

struct alignas(SharedMemory::header_bytes) SharedMemory::Header {
    std::atomic<std::uint32_t> holders;
};

SharedBlock::SharedBlock(SharedMemory& owner) : owner_(&owner) {
    owner.held_.push_back(this);
}

SharedBlock::~SharedBlock() {
    if (owner_ != nullptr) owner_->let_go(*this);
}

SharedMemory::~SharedMemory() {
    for (SharedBlock* block : held_) {
        block->owner_ = nullptr;
        block->memory_ = nullptr;
    }
}

SharedMemory::Header& SharedMemory::header_of(std::byte* memory) {
    return *reinterpret_cast<Header*>(memory - sizeof(Header));
}

bool SharedMemory::make(SharedBlock& block, std::size_t bytes, int others) {
    free_abandoned();
    transport::Interface& interface = *connections_.interfaces().front();
    static_assert(sizeof(Header) == header_bytes);
    const std::size_t size = sizeof(Header) + bytes;
    auto* const start = static_cast<std::byte*>(interface.allocate(size, alignof(Header)));
    if (start == nullptr) return false;
    Made made{{start, size}, {interface.register_memory({start, size}, nullptr)}};
    const bool is_shared = interface.is_mapped(made.names.front());
    made_.push_back(std::move(made));
    ::new (start) Header{is_shared ? std::uint32_t(1 + others) : 0};
    if (is_shared)
        block.memory_ = start + sizeof(Header);
    else
        free_abandoned();  // it is private memory, since shared memory is used up
    return is_shared;
}

SharedMemory::Name SharedMemory::name_for(const SharedBlock& block, Rank rank) {
    const auto made = std::find_if(made_.begin(), made_.end(), [&](const Made& it) {
        return it.memory.data() + sizeof(Header) == block.memory_;
    });
    TORUSMP_ASSERT(made != made_.end(), rank, made_.size(), block.memory_);
    const Connection& connection = connections_.to(connections_.peer(rank));
    made->names.push_back(
        connections_.interfaces().front()->register_memory(made->memory, connection.channel));
    return made->names.back();
}

bool SharedMemory::map(SharedBlock& block, Rank maker, const Name& name) {
    const Connection& connection = connections_.to(connections_.peer(maker));
    std::byte* const start = connection.channel->map(name, 0, std::size_t(name.length));
    if (start == nullptr || name.length < sizeof(Header)) return false;
    block.memory_ = start + sizeof(Header);
    return true;
}

SharedMemory::Name SharedMemory::lend(transport::Bytes memory) const {
    transport::Interface& interface = *connections_.interfaces().front();
    const Name name = interface.register_memory(memory, nullptr);
    return interface.is_mapped(name) ? name : Name{};
}

const std::byte* SharedMemory::borrow(Rank owner, const Name& name) const {
    const Connection& connection = connections_.to(connections_.peer(owner));
    return connection.channel->map(name, 0, std::size_t(name.length));
}

bool SharedMemory::is_intact(Rank owner) const {
    return connections_.to(connections_.peer(owner)).channel->has_peer_memory();
}

void SharedMemory::wake(Rank rank) {
    Peer& peer = connections_.peer(rank);
    if (!peer.dead) connections_.to(peer).channel->wake_peer();
}

// Only a matter of time, so kernels that refuse it (before Linux 5.14) do no harm.
void SharedMemory::populate(transport::Bytes memory) {
    const auto page = std::uintptr_t(sysconf(_SC_PAGESIZE));
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::uintptr_t first = (begin + page - 1) / page * page;
    const std::uintptr_t last = (begin + memory.size()) / page * page;
    if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_POPULATE_WRITE);
}

void SharedMemory::let_go(const SharedBlock& block) {
    const auto found = std::find(held_.begin(), held_.end(), &block);
    TORUSMP_ASSERT(found != held_.end(), held_.size(), block.memory_);
    held_.erase(found);
    if (block.memory_ != nullptr) {
        [[maybe_unused]] const std::uint32_t holders =
            header_of(block.memory_).holders.fetch_sub(1, std::memory_order_acq_rel);
        TORUSMP_ASSERT(holders != 0, block.memory_);
    }
    free_abandoned();
}

void SharedMemory::free_abandoned() {
    transport::Interface& interface = *connections_.interfaces().front();
    std::erase_if(made_, [&](const Made& made) {
        const Header& header = *reinterpret_cast<const Header*>(made.memory.data());
        if (header.holders.load(std::memory_order_acquire) != 0) return false;
        for (const Name& name : made.names) interface.deregister_memory(name);
        interface.free(made.memory.data());
        return true;
    });
}

}  // namespace torusmp::core
