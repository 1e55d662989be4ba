// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/verbs/slots.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "config/memory_lock.h"

namespace torusmp::transport::verbs {

Slots::Chunk::~Chunk() {
    regions.clear();
    if (memory != nullptr) munmap(memory, bytes);
}

std::string registration_trouble(const Device& device, std::size_t bytes, int error) {
    const auto limit = config::memory_lock_limit();
    if (error == ENOMEM && limit)
        return fmt::format(
            "cannot register {} KiB with RDMA device {}: this process may lock {} KiB in all "
            "(`ulimit -l`); expected more: `* - memlock unlimited` in /etc/security/limits.conf, "
            "LimitMEMLOCK=infinity for a service, or the capability CAP_IPC_LOCK",
            (bytes + 1023) / 1024, device.text(), *limit / 1024);
    return fmt::format("cannot register {} KiB with RDMA device {}: {}", (bytes + 1023) / 1024,
                       device.text(), std::strerror(error));
}

int Slots::register_with(Chunk& chunk, const Device& device) {
    if (chunk.refused[device.index()]) return ENOMEM;  // not tried again for every packet
    MemoryRegion& region = chunk.regions[device.index()];
    region.reset(ibv_reg_mr(device.domain(), chunk.memory, chunk.bytes, IBV_ACCESS_LOCAL_WRITE));
    if (!region) {
        chunk.refused[device.index()] = true;
        return errno;
    }
    registered_ += chunk.bytes;
    return 0;
}

void Slots::add(const Device& device, std::size_t count) {
    free_.resize(devices_.size());
    auto chunk = std::make_unique<Chunk>();
    const std::size_t bytes = count * stride_;
    void* const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        throw std::runtime_error(
            fmt::format("verbs: no memory for {} slots of {} B", count, stride_));
    chunk->device = &device;
    chunk->memory = static_cast<std::byte*>(memory);
    chunk->bytes = bytes;
    chunk->regions.resize(devices_.size());
    chunk->refused.resize(devices_.size());
    if (const int error = register_with(*chunk, device); error != 0)
        throw std::runtime_error(
            fmt::format("{}; fewer transport.tokens, or a lower transport.eager_limit, need less",
                        registration_trouble(device, bytes, error)));
    chunk->slots.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        chunk->slots[i].memory = chunk->memory + i * stride_;
        chunk->slots[i].chunk = chunk.get();
        give(&chunk->slots[i]);
    }
    chunks_.push_back(std::move(chunk));
}

}  // namespace torusmp::transport::verbs
