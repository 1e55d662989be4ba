// SPDX-License-Identifier: BSD-3-Clause
// One process's part of the simulated world: arrived packets, memory, and the channels.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include "core/transport/sim/channel.h"
#include "core/transport/sim/world.h"

namespace torusmp::transport::sim {

using detail::End;
using detail::EventKind;
using detail::Packet;
using detail::VirtualChannel;

namespace {

constexpr int packets_per_poll = 64;

// The content of an interface's address().
struct Address {
    std::uint64_t secret;  // the world's secret, so that an address of another world is detected
    std::uint64_t index;
};

Capabilities capabilities_in(const WorldOptions& options, const InterfaceOptions& own) {
    return {.reads = true,
            .reads_at_once = options.read == Remote::immediate,
            .maps = options.mapped,
            .notifies = options.notifies,
            .places = options.places,
            .separate_links = options.separate_links && own.separate_links,
            .reconnects = true,
            .renews = true,
            .most_pieces = 5};  // few, so that messages take many writes
}

}  // namespace

Interface::Interface(World& world, std::size_t index, InterfaceOptions options)
    : transport::Interface("sim", capabilities_in(world.options_, options)),
      world_(world),
      index_(index),
      options_(std::move(options)) {}

Interface::~Interface() {
    if (alive_) {
        alive_ = false;
        world_.bury_all(*this, fmt::format("interface {} was closed", index_), false);
    }
    for (End* end : ends_) {
        end->interface = nullptr;
        end->channel = nullptr;
    }
    world_.interfaces_[index_] = nullptr;
    for (const auto& [memory, size] : allocations_)
        world_.left_behind_.emplace_back(reinterpret_cast<void*>(memory), size.second);
}

std::vector<std::byte> Interface::address() const {
    const Address address{world_.secret_, index_};
    std::vector<std::byte> bytes(sizeof address);
    std::memcpy(bytes.data(), &address, sizeof address);
    return bytes;
}

transport::Channel& Interface::connect(ConstBytes peer_address, const ChannelOptions& options) {
    Address address{};
    if (peer_address.size() == sizeof address)
        std::memcpy(&address, peer_address.data(), sizeof address);
    if (peer_address.size() != sizeof address || address.secret != world_.secret_ ||
        address.index >= world_.interfaces_.size())
        throw std::runtime_error(
            fmt::format("interface {} cannot connect port {}: {} bytes that are not an address of "
                        "this simulated network",
                        index_, options.local_port, peer_address.size()));
    End& end = world_.join(*this, std::size_t(address.index), options);
    channels_.push_back(std::make_unique<detail::Channel>(world_, end));
    end.channel = channels_.back().get();
    if (options.pause > Time{0} || world_.paused(end)) world_.pause(end, options.pause);
    if (end.link->dead) {
        world_.schedule(world_.now_, EventKind::down, end, 0);
    } else if (end.peer->channel == nullptr && !end.peer->announced) {
        end.peer->announced = true;
        world_.schedule(world_.now_ + world_.draw(end.link->packet), EventKind::announce, *end.peer,
                        0);
    }
    // Packets that arrived before this side had connected can now be delivered.
    for (std::size_t vc = 0; vc < end.virtual_channels.size(); ++vc)
        if (end.virtual_channels[vc].arrived > 0 && !end.virtual_channels[vc].listed) {
            end.virtual_channels[vc].listed = true;
            ready_.push_back({&end, EventKind::packet, vc, true});
        }
    return *end.channel;
}

PortOptions Interface::slots_of(std::uint32_t port) const {
    for (const PortOptions& slots : options_.ports)
        if (slots.port == port) return slots;
    if (!options_.other)
        throw std::runtime_error(fmt::format("interface {} has no port {}", index_, port));
    PortOptions slots = *options_.other;
    slots.port = port;
    return slots;
}

bool Interface::has_port(std::uint32_t port) const {
    return options_.other || std::any_of(options_.ports.begin(), options_.ports.end(),
                                         [&](const PortOptions& it) { return it.port == port; });
}

int Interface::poll(Sink& sink) {
    if (!alive_) throw std::logic_error(fmt::format("poll of dead interface {}", index_));
    if (polling_) throw std::logic_error("poll from inside poll");
    polling_ = true;
    working_.swap(ready_);
    int taken = 0;
    for (const Ready& item : working_) {
        End& end = *item.end;
        switch (item.kind) {
            case EventKind::packet:
                taken += deliver(sink, end, int(item.id), packets_per_poll - taken);
                break;
            case EventKind::transfer: {
                const auto motion = end.motions.find(item.id);
                if (motion == end.motions.end()) break;  // failed with its link, which was reported
                const std::uint64_t cookie = motion->second.cookie;
                end.motions.erase(motion);
                sink.on_transfer(*end.channel, cookie, item.ok);
                break;
            }
            case EventKind::notice:
                if (!end.down_reported && !end.closed && end.channel != nullptr)
                    take_notice(sink, end, item.id);
                break;
            case EventKind::announce:
                if (end.channel == nullptr) sink.on_connect(end.port);
                break;
            case EventKind::down:
                deliver_down(sink, end);
                break;
            case EventKind::grant:
            case EventKind::missing:
            case EventKind::abandoned:
            case EventKind::wake:
                break;
        }
    }
    working_.clear();
    polling_ = false;
    return taken;
}

void Interface::take_notice(Sink& sink, End& end, std::uint64_t notice) {
    if (world_.clocks_) {
        world_.clocks_->hand_over(index_, 0);
        world_.clocks_->take(index_, world_.now_);
    }
    sink.on_notice(*end.channel, notice);
}

int Interface::deliver(Sink& sink, End& end, int number, int budget) {
    VirtualChannel& vc = end.virtual_channels[std::size_t(number)];
    vc.listed = false;
    if (end.channel == nullptr || end.down_reported || end.closed) return 0;
    int taken = 0;
    while (vc.arrived > 0 && taken < budget) {
        Packet& packet = vc.packets.front();
        // Core may return the packet's credit before on_packet() returns.
        ++vc.owed;
        vc.slotted -= packet.slotted;
        if (world_.clocks_) world_.clocks_->hand_over(index_, packet.header.length);
        const Verdict verdict = sink.on_packet(*end.channel, packet.header, packet.payload.get());
        if (end.closed) return taken + 1;
        if (verdict == Verdict::held) {
            if (vc.owed == 0)
                throw std::logic_error(
                    fmt::format("{} gave the credit of a held packet back", detail::name_of(end)));
            --vc.owed;
            vc.slotted += packet.slotted;
            ++world_.counters_.held;
            if (world_.clocks_) world_.clocks_->hold(index_);
            break;
        }
        if (world_.clocks_) world_.clocks_->take(index_, world_.now_);
        ++taken;
        ++world_.counters_.delivered;
        --vc.arrived;
        vc.packets.pop_front();
    }
    if (vc.arrived > 0) {
        vc.listed = true;
        ready_.push_back({&end, EventKind::packet, std::uint64_t(number), true});
    }
    return taken;
}

void Interface::deliver_down(Sink& sink, End& end) {
    if (end.down_reported || end.channel == nullptr) return;
    for (VirtualChannel& vc : end.virtual_channels) {
        world_.counters_.lost += vc.packets.size();
        vc = VirtualChannel{};
    }
    const auto motions = std::exchange(end.motions, {});
    for (const auto& [id, motion] : motions) sink.on_transfer(*end.channel, motion.cookie, false);
    end.down_reported = true;
    if (!end.closed) sink.on_down(*end.channel, end.link->why);
}

RemoteMemory Interface::register_memory(Bytes memory, const Channel* channel) {
    const std::uint64_t address = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::uint64_t seal = world_.seal(index_, address, memory.size());
    ++exposed_.try_emplace(seal, Exposure{address, memory.size(), 0}).first->second.times;
    PortKeys keys{};
    const auto add_key = [&](std::uint32_t port) {
        std::uint32_t& key = keys.by_port[detail::key_place(port)];
        if (key == 0) key = world_.port_seal(seal, port);
    };
    if (channel != nullptr) {
        const End& wanted = static_cast<const detail::Channel*>(channel)->end();
        add_key(wanted.port);
        for (const End* end : ends_)
            if (end->peer->interface == wanted.peer->interface) add_key(end->port);
    } else {
        for (std::uint32_t port = 0; port < most_link_ports; ++port)
            if (has_port(port)) add_key(port);
    }
    RemoteMemory remote{address, memory.size(), 0, {}};
    remote.set(keys);
    return remote;
}

Bytes Interface::registered(const RemoteMemory& memory, std::size_t offset, std::size_t bytes) {
    const std::uint64_t seal = world_.seal(index_, memory.address, memory.length);
    const auto keys = memory.as<PortKeys>();
    const bool keyed = std::any_of(ends_.begin(), ends_.end(), [&](const End* end) {
        return keys.by_port[detail::key_place(end->port)] == world_.port_seal(seal, end->port);
    });
    if (!keyed || exposed_.count(seal) == 0 || offset > memory.length ||
        bytes > memory.length - offset)
        return {};
    return {reinterpret_cast<std::byte*>(std::uintptr_t(memory.address)) + offset, bytes};
}

Bytes Interface::place(const RemoteAddress& target, std::uint32_t port, std::size_t bytes) {
    for (const auto& [seal, exposure] : exposed_) {
        const std::uint64_t offset = target.address - exposure.address;
        if (target.key != world_.port_seal(seal, port) || offset > exposure.length ||
            bytes > exposure.length - offset)
            continue;
        return {reinterpret_cast<std::byte*>(std::uintptr_t(target.address)), bytes};
    }
    return {};
}

void Interface::deregister_memory(const RemoteMemory& memory) {
    const auto found = exposed_.find(world_.seal(index_, memory.address, memory.length));
    if (found != exposed_.end() && --found->second.times == 0) exposed_.erase(found);
}

double Interface::copy_rate() {
    return world_.options_.copy_rate;
}

bool Interface::is_mapped(const RemoteMemory& memory) const {
    if (!world_.options_.mapped) return false;
    if (world_.options_.all_mapped) return true;
    auto block = allocations_.upper_bound(memory.address);
    if (block == allocations_.begin()) return false;
    --block;
    const std::uint64_t offset = memory.address - block->first;
    const std::size_t size = block->second.first;
    return offset <= size && memory.length <= size - offset;
}

void* Interface::allocate(std::size_t bytes, std::size_t alignment) {
    const std::size_t size = std::max<std::size_t>(bytes, 1);
    if (size > options_.allocatable - allocated_) return nullptr;
    void* memory = ::operator new(size, std::align_val_t(alignment));
    allocations_.emplace(reinterpret_cast<std::uintptr_t>(memory), std::pair(size, alignment));
    allocated_ += size;
    return memory;
}

void Interface::free(void* memory) {
    if (memory == nullptr) return;
    const auto found = allocations_.find(reinterpret_cast<std::uintptr_t>(memory));
    if (found == allocations_.end())
        throw std::logic_error("free of memory that allocate() did not give");
    const auto [size, alignment] = found->second;
    allocations_.erase(found);
    allocated_ -= size;
    ::operator delete(memory, std::align_val_t(alignment));
}

void Interface::sleep(Clock::time_point) {
    world_.step();
}

}  // namespace torusmp::transport::sim
