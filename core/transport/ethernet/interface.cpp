// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/ethernet/interface.h"

#include <fmt/format.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "core/transport/common/secret.h"
#include "core/transport/ethernet/opening.h"

namespace torusmp::transport::ethernet {
namespace {

// The most polls for each poll of the connections, while nothing arrives on them.
constexpr unsigned most_look_mask = 31;
// The limit while memory is exposed, to which the other end may write over them.
constexpr unsigned most_look_mask_exposed = 1;
// Polls for each check of the clock.
constexpr unsigned tend_mask = 63;
// Frames of a ring: a window, the same again for frames without packets, and room for resent ones.
constexpr unsigned ring_frames = 2 * Session::link_window;
// Frames of the ring that far ranks share: whole windows of 16 that send at the same time.
constexpr unsigned shared_ring_frames = 16 * Session::far_window;
// How long a sleeping rank delays its confirmations: a frame with nothing else would wake the other
// end, which will probably get an answer soon. Shorter than the other end's wait before it resends.
constexpr std::chrono::milliseconds confirmed_within(1);

EthernetChannel& channel_of(Channel& connection) {
    return *static_cast<EthernetChannel*>(connection.owner);
}

tcp::InterfaceOptions with(tcp::InterfaceOptions options, tcp::Companion& companion) {
    options.companion = &companion;
    // Forwarded connections may take any route.
    std::erase_if(options.devices, [](const PortDevice& it) { return it.node.has_value(); });
    return options;
}

}  // namespace

EthernetInterface::EthernetInterface(const std::vector<PortOptions>& ports,
                                     InterfaceOptions options)
    : Interface("ethernet", capabilities),
      options_(std::move(options)),
      ports_(ports),
      connections_(ports, with(options_, *this)) {
    connections_.watch_for_companion(alarm_.descriptor());
    std::vector<Device*> all;
    for (const PortDevice& it : options_.devices) {
        const bool ours = std::any_of(ports.begin(), ports.end(), [&](const PortOptions& port) {
            return port.port == it.port;
        });
        if (!ours) continue;
        Device& device = devices_[it.port];
        device.name = it.name;
        device.far = it.node;
        if (!it.node) all.push_back(&device);
    }
    const bool forwards = all.size() != devices_.size();
    open_devices(std::move(all), ring_frames);
    if (!forwards) return;
    forwarded_.name = every_device;
    open_devices({&forwarded_}, shared_ring_frames);
}

EthernetInterface::~EthernetInterface() {
    say_goodbye();
}

// A link without a socket uses its connection.
void EthernetInterface::open_devices(std::vector<Device*> devices, unsigned frames) {
    std::vector<std::string> names;
    for (const Device* it : devices) names.push_back(it->name);
    std::vector<FrameSocket> sockets;
    try {
        sockets = frame_sockets(names);
    } catch (const std::runtime_error& error) {
        for (Device* it : devices) it->trouble = error.what();
        return;
    }
    for (std::size_t i = 0; i < devices.size(); ++i) {
        Device& device = *devices[i];
        device.index = if_nametoindex(device.name.c_str());
        device.trouble = sockets[i].trouble;
        if (!sockets[i].socket) continue;
        try {
            device.ring = std::make_shared<RingSocket>(std::move(sockets[i].socket), frames);
        } catch (const std::runtime_error& error) {
            device.trouble = error.what();
            continue;
        }
        device.session = sockets[i].session;
        connections_.watch_for_companion(device.ring->descriptor());
    }
}

EthernetInterface::Device* EthernetInterface::device_of(std::uint32_t port) {
    const auto found = devices_.find(port);
    return found == devices_.end() ? nullptr : &found->second;
}

Channel& EthernetInterface::connect(ConstBytes peer_address, const ChannelOptions& options) {
    auto& connection = static_cast<tcp::TcpChannel&>(connections_.connect(peer_address, options));
    const auto port = std::find_if(ports_.begin(), ports_.end(), [&](const PortOptions& it) {
        return it.port == options.local_port;
    });
    Device* const device = device_of(options.local_port);
    const bool far = device != nullptr && device->far;
    auto made = std::make_unique<EthernetChannel>(*this, *port, connection,
                                                  far ? Session::far_window : Session::link_window);
    EthernetChannel& channel = *made;
    if (device != nullptr) attach(channel, *device);
    const auto before = std::find_if(channels_.begin(), channels_.end(), [&](const auto& it) {
        return it->port() == options.local_port;
    });
    if (before == channels_.end()) {
        channels_.push_back(std::move(made));
    } else {
        (*before)->end();
        counted_ += (*before)->session().counters();
        replaced_.push_back(std::exchange(*before, std::move(made)));
    }
    // The other end may have waited for it, so that it is already open.
    if (connection.is_open()) channel.greet();
    return channel;
}

// Gives the channel the ring for its greeting: its device's, or the one that far ports share.
void EthernetInterface::attach(EthernetChannel& channel, Device& device) {
    const unsigned index = if_nametoindex(device.name.c_str());
    // A device that was removed and has returned is a different one.
    if (!device.far && index != 0 && index != device.index) {
        device.ring.reset();
        open_devices({&device}, ring_frames);
    }
    const Device& opened = device.far ? forwarded_ : device;
    Greeting own{};
    own.version = frame_version;
    own.port = channel.port();
    draw(own.nonce);
    if (opened.ring != nullptr && index != 0) {
        try {
            const DeviceFacts facts = device_facts(device.name);
            own.session = opened.session;
            own.mtu = facts.mtu - (device.far ? std::uint32_t(sizeof(ForwardHeader)) : 0);
            own.mac = facts.mac;
        } catch (const std::runtime_error& error) {
            device.trouble = error.what();
        }
    }
    const auto ring = own.session != 0 ? opened.ring : nullptr;
    if (!device.far) {
        channel.set_cable(index);
        return channel.attach(ring, own);
    }
    channel.attach_shared(ring, own, index, forward_header(*device.far));
    device.channel = &channel;
}

void EthernetInterface::say_goodbye() {
    for (const auto& it : channels_) {
        if (!it->is_over()) it->session().hand_over();
        it->end();
    }
    connections_.say_goodbye();
}

// ---- polling ----

int EthernetInterface::poll(Sink& sink) {
    polling_ = true;
    sink_ = &sink;
    ++turn_;
    int taken = 0;
    if (forwarded_.ring != nullptr) taken += receive_forwarded();
    for (std::size_t i = 0; i < channels_.size(); ++i) taken += channels_[i]->receive(*this);
    if ((turn_ & look_mask_) == 0 || connections_.is_pressed()) taken += poll_connections(*this);
    if ((turn_ & tend_mask) == 0) tend(Clock::now());
    flush_dirty();
    polling_ = false;
    if (!replaced_.empty()) [[unlikely]] {
        std::erase_if(dirty_, [&](const EthernetChannel* channel) {
            return std::any_of(replaced_.begin(), replaced_.end(),
                               [&](const auto& it) { return it.get() == channel; });
        });
        replaced_.clear();
    }
    return taken;
}

// Frames of far ranks name their channel by its port.
int EthernetInterface::receive_forwarded() {
    int taken = 0;
    forwarded_.ring->drain(frames_a_poll, forwarded_header_bytes,
                           [&](const std::byte* frame, std::size_t bytes) {
                               std::uint32_t port = 0;
                               if (bytes < sizeof(FrameHeader)) return;
                               std::memcpy(&port, frame + offsetof(FrameHeader, port), sizeof port);
                               if (Device* const device = device_of(port);
                                   device != nullptr && device->channel != nullptr)
                                   taken += device->channel->take_frame(*this, frame, bytes);
                           });
    return taken;
}

int EthernetInterface::poll_connections(Sink& sink) {
    taken_ = 0;
    const int taken = connections_.poll(sink) + std::exchange(taken_, 0);
    const unsigned most = exposed_ != 0 ? most_look_mask_exposed : most_look_mask;
    look_mask_ = taken != 0 ? 0 : std::min(2 * look_mask_ + 1, most);
    return taken;
}

void EthernetInterface::tend(Clock::time_point now) {
    for (const auto& it : channels_) {
        if (it->connection().is_over()) it->end();
        it->session().tend(now);
    }
}

void EthernetInterface::make_dirty(EthernetChannel& channel) {
    if (std::find(dirty_.begin(), dirty_.end(), &channel) == dirty_.end())
        dirty_.push_back(&channel);
}

void EthernetInterface::flush_dirty() {
    for (std::size_t i = 0; i < dirty_.size(); ++i) dirty_[i]->flush();
    dirty_.clear();
}

// ---- what the connections report ----

void EthernetInterface::on_open(tcp::TcpChannel& connection) {
    // It has no owner until connect() returns, which then greets.
    if (connection.owner != nullptr) channel_of(connection).greet();
}

void EthernetInterface::on_note(tcp::TcpChannel& connection, Sink& sink, ConstBytes note) {
    channel_of(connection).take_note(sink, note);
}

int EthernetInterface::on_packet(tcp::TcpChannel& connection, Sink& sink,
                                 const PacketHeader& header, const std::byte* payload) {
    return channel_of(connection).take_from_connection(sink, header, payload);
}

Verdict EthernetInterface::on_packet(Channel& connection, const PacketHeader& header,
                                     const std::byte* payload) {
    return sink_->on_packet(channel_of(connection), header, payload);
}

void EthernetInterface::on_notice(Channel& connection, std::uint64_t notice) {
    sink_->on_notice(channel_of(connection), notice);
}

void EthernetInterface::on_transfer(Channel& connection, std::uint64_t cookie, bool ok) {
    sink_->on_transfer(channel_of(connection), cookie, ok);
}

void EthernetInterface::on_connect(std::uint32_t port) {
    sink_->on_connect(port);
}

void EthernetInterface::on_down(Channel& connection, std::string_view why) {
    EthernetChannel& channel = channel_of(connection);
    channel.end();
    sink_->on_down(channel, why);
}

// ---- memory, counting and sleeping ----

RemoteMemory EthernetInterface::register_memory(Bytes memory, const Channel* channel) {
    ++exposed_;
    look_mask_ = 0;
    return connections_.register_memory(memory, channel);
}

void EthernetInterface::deregister_memory(const RemoteMemory& memory) {
    --exposed_;
    connections_.deregister_memory(memory);
}

Bytes EthernetInterface::registered(const RemoteMemory& memory, std::size_t offset,
                                    std::size_t bytes) {
    return connections_.registered(memory, offset, bytes);
}

void* EthernetInterface::allocate(std::size_t bytes, std::size_t alignment) {
    return connections_.allocate(bytes, alignment);
}

void EthernetInterface::free(void* memory) {
    connections_.free(memory);
}

bool EthernetInterface::idle() const {
    return dirty_.empty() && connections_.idle();
}

Counters EthernetInterface::counters() const {
    Counters all = counted_;
    for (const auto& it : channels_) all += it->session().counters();
    return all;
}

bool EthernetInterface::in_frames(std::uint32_t port) const {
    return std::any_of(channels_.begin(), channels_.end(), [&](const auto& it) {
        return it->port() == port && it->session().in_frames();
    });
}

std::string EthernetInterface::statistics() const {
    std::string text = connections_.statistics();
    for (const auto& [port, device] : devices_)
        if (device.ring == nullptr && !device.far)
            text += fmt::format("ethernet: port {}, {}: no frames: {}\n", port, device.name,
                                device.trouble);
    if (!forwarded_.trouble.empty())
        text += fmt::format("ethernet: no frames to distant ranks: {}\n", forwarded_.trouble);
    std::uint64_t far_frames = 0;
    for (const auto& [port, device] : devices_)
        if (device.channel != nullptr) far_frames += device.channel->session().counters().sent;
    if (far_frames != 0)
        text += fmt::format("ethernet: {} frames sent to distant ranks\n", far_frames);
    const Counters all = counters();
    if (all.resent + all.handed_over + all.damaged + all.forged + all.malformed != 0)
        text += fmt::format(
            "ethernet: {} frames sent, {} sent again, {} handed to TCP; {} received twice, {} "
            "damaged, {} forged, {} of other jobs\n",
            all.sent, all.resent, all.handed_over, all.repeated, all.damaged, all.forged,
            all.malformed);
    return text;
}

void EthernetInterface::prepare_sleep() {
    flush_dirty();
    connections_.prepare_sleep();
    const auto now = Clock::now();
    if (alarm_.is_due(now)) alarm_.silence();
    tend(now);
    auto due = Clock::time_point::max();
    bool owes = false;
    for (const auto& it : channels_) {
        owes |= it->session().owes();
        due = std::min(due, it->session().due(now));
    }
    if (!owes) {
        confirm_at_ = Clock::time_point::max();
    } else if (confirm_at_ == Clock::time_point::max()) {
        confirm_at_ = now + confirmed_within;
    } else if (now >= confirm_at_) {
        for (const auto& it : channels_)
            if (it->session().owes()) it->session().confirm();
        confirm_at_ = Clock::time_point::max();
    }
    due = std::min(due, confirm_at_);
    alarm_.set(due);
    // The next poll must include the connections.
    look_mask_ = 0;
}

// If a frame ended the sleep, nothing arrived on the connections; if something else did, that is
// unknown.
void EthernetInterface::cancel_sleep() {
    look_mask_ = connections_.slept_for_companion() ? most_look_mask : 0;
    connections_.cancel_sleep();
}

void EthernetInterface::sleep(Clock::time_point deadline) {
    connections_.sleep(deadline);
}

}  // namespace torusmp::transport::ethernet
