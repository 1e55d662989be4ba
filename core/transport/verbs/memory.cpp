// SPDX-License-Identifier: BSD-3-Clause
// The memory of a VerbsInterface that peers may access, and its statistics.
#include <fmt/format.h>

#include <algorithm>

#include "core/transport/verbs/interface.h"

namespace torusmp::transport::verbs {

RemoteMemory VerbsInterface::register_memory(Bytes memory, const Channel* channel) {
    std::array<const Device*, most_link_ports> devices;
    std::array<std::pair<std::uint32_t, const Device*>, most_link_ports> keys;
    std::size_t device_count = 0;
    std::size_t key_count = 0;
    const auto* const wanted = static_cast<const VerbsChannel*>(channel);
    for (const auto& it : channels_) {
        const bool link = it->port_.port < most_link_ports;
        // Two cables to one peer may share a message.
        if (wanted != nullptr ? it.get() != wanted && (!link || it->peer_ != wanted->peer_) : !link)
            continue;
        if (key_count == keys.size()) break;
        keys[key_count++] = {VerbsChannel::key_port(it->port_.port), &it->device_};
        if (std::find(devices.begin(), devices.begin() + device_count, &it->device_) ==
            devices.begin() + device_count)
            devices[device_count++] = &it->device_;
    }
    Registration* const registration =
        registrations_.acquire(memory, std::span(devices).first(device_count), true);
    if (registration == nullptr) return {};
    const std::uint64_t id = exposures_.add(memory);
    const std::size_t index = Exposures::index_of(id);
    if (index >= exposed_by_.size()) exposed_by_.resize(index + 1);
    exposed_by_[index] = registration;
    RemoteMemory remote{
        std::uint64_t(reinterpret_cast<std::uintptr_t>(memory.data())), memory.size(), id, {}};
    PortKeys port_keys{};
    for (std::size_t i = 0; i < key_count; ++i)
        port_keys.by_port[keys[i].first] |= registration->remote_key(*keys[i].second);
    remote.set(port_keys);
    return remote;
}

Bytes VerbsInterface::place(const RemoteAddress& target, std::uint32_t port, std::size_t bytes) {
    const auto channel = std::find_if(channels_.begin(), channels_.end(),
                                      [&](const auto& it) { return it->port_.port == port; });
    if (channel == channels_.end()) return {};
    return exposures_.find_at(target.address, bytes, [&](std::size_t index) {
        return exposed_by_[index]->remote_key((*channel)->device_) == target.key;
    });
}

void VerbsInterface::deregister_memory(const RemoteMemory& memory) {
    if (memory.handle == 0) return;
    exposures_.remove(memory.handle);
    registrations_.release(exposed_by_[Exposures::index_of(memory.handle)]);
}

void* VerbsInterface::allocate(std::size_t bytes, std::size_t alignment) {
    return registrations_.allocate(bytes, alignment);
}

void VerbsInterface::free(void* memory) {
    registrations_.free(memory);
}

// ---- statistics ----

ChannelStatistics VerbsInterface::traffic() const {
    ChannelStatistics sum;
    for (const auto& it : channels_) {
        const ChannelStatistics& one = it->statistics();
        sum.copied += one.copied;
        sum.forwarded += one.forwarded;
        sum.written += one.written;
        sum.bounced += one.bounced;
        sum.kept += one.kept;
    }
    return sum;
}

Device::Counters VerbsInterface::device_counters() const {
    Device::Counters sum;
    for (const auto& device : devices_) {
        const Device::Counters one = device->counters();
        sum.receiver_not_ready += one.receiver_not_ready;
        sum.retries += one.retries;
    }
    return sum;
}

std::string VerbsInterface::statistics() const {
    const ChannelStatistics sent = traffic();
    const RegistrationStatistics& memory = registrations_.statistics();
    const Device::Counters fabric = device_counters();
    return awaited_peers() +
           fmt::format(
               "verbs: packets copied into slots {}, forwarded from their slot {}, kept for "
               "want of room "
               "{}; written {} KiB from registered memory, {} KiB by copies\n"
               "verbs: registrations {} made, {} found, {} evicted, {} unmapped, {} "
               "refused; {} KiB kept, "
               "{} KiB in slots; receiver not ready {} (0 expected), sent again {}",
               sent.copied, sent.forwarded, sent.kept, sent.written / 1024, sent.bounced / 1024,
               memory.made, memory.found, memory.evicted, memory.unmapped, memory.refused,
               memory.bytes / 1024, slots_.registered() / 1024, fabric.receiver_not_ready,
               fabric.retries);
}

}  // namespace torusmp::transport::verbs
