// SPDX-License-Identifier: BSD-3-Clause
#include "core/connection/loopback.h"

#include <cstring>
#include <utility>

#include "base/assert.h"

namespace torusmp::core {
namespace {

constexpr transport::Capabilities loopback_capabilities{.reads = true, .reads_at_once = true};
constexpr std::uint64_t loopback_key = 0x6c6f6f706261636bu;

bool covers(const transport::RemoteMemory& remote, std::size_t offset, std::size_t bytes) {
    return remote.as<std::uint64_t>() == loopback_key && offset <= remote.length &&
           bytes <= remote.length - offset;
}

}  // namespace

Loopback::Loopback(int credits) : Channel(loopback_capabilities), slots_(std::size_t(credits)) {}

int Loopback::poll(transport::Sink& sink) {
    int taken = 0;
    // Packets sent during delivery wait for the next poll.
    for (const std::size_t end = head_; tail_ != end; ++taken) {
        const Slot& slot = slots_[tail_ % slots_.size()];
        ++tail_;
        sink.on_packet(*this, slot.header, slot.payload.data());
    }
    return taken;
}

void Loopback::send(const transport::PacketHeader& header, transport::ConstBytes payload) {
    std::byte* place = reserve(header.virtual_channel, payload.size());
    if (!payload.empty()) std::memcpy(place, payload.data(), payload.size());
    commit(header);
}

std::byte* Loopback::reserve(int /*virtual_channel*/, std::size_t bytes) {
    TORUSMP_ASSERT(head_ - tail_ < slots_.size(), head_, tail_, slots_.size());
    Slot& slot = slots_[head_ % slots_.size()];
    slot.payload.resize(bytes);
    return slot.payload.data();
}

void Loopback::commit(const transport::PacketHeader& header) {
    TORUSMP_ASSERT(slots_[head_ % slots_.size()].payload.size() == header.length, header.kind,
                   header.length);
    slots_[head_ % slots_.size()].header = header;
    ++head_;
}

transport::CreditWord Loopback::collect_grants() {
    return std::exchange(granted_, 0);
}

bool Loopback::can_write(const transport::RemoteMemory& remote) const {
    return remote.as<std::uint64_t>() == loopback_key;
}

bool Loopback::can_read(const transport::RemoteMemory& remote) const {
    return can_write(remote);
}

transport::Transfer Loopback::write(const transport::RemoteMemory& remote, std::size_t offset,
                                    std::span<const transport::ConstBytes> local,
                                    std::uint64_t /*cookie*/,
                                    std::optional<std::uint64_t> /*notice*/) {
    const transport::ConstBytes from = local.front();
    if (!covers(remote, offset, from.size())) return transport::Transfer::refused;
    // memmove: a program may send a buffer to itself that overlaps the receive.
    std::memmove(reinterpret_cast<void*>(remote.address + offset), from.data(), from.size());
    return transport::Transfer::done;
}

transport::Transfer Loopback::read(const transport::RemoteMemory& remote, std::size_t offset,
                                   std::span<const transport::Bytes> local,
                                   std::uint64_t /*cookie*/) {
    const transport::Bytes to = local.front();
    if (!covers(remote, offset, to.size())) return transport::Transfer::refused;
    std::memmove(to.data(), reinterpret_cast<const void*>(remote.address + offset), to.size());
    return transport::Transfer::done;
}

std::byte* Loopback::map(const transport::RemoteMemory& remote, std::size_t offset,
                         std::size_t bytes) {
    if (!covers(remote, offset, bytes)) return nullptr;
    return reinterpret_cast<std::byte*>(std::uintptr_t(remote.address + offset));
}

transport::RemoteMemory Loopback::register_memory(transport::Bytes memory) {
    transport::RemoteMemory remote{
        std::uint64_t(reinterpret_cast<std::uintptr_t>(memory.data())), memory.size(), 0, {}};
    remote.set(loopback_key);
    return remote;
}

}  // namespace torusmp::core
