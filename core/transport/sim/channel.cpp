// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/sim/channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace torusmp::transport::sim::detail {

namespace {

std::unique_ptr<std::byte[]> room_for(std::size_t bytes) {
    return std::unique_ptr<std::byte[]>(new std::byte[bytes]);
}

std::unique_ptr<std::byte[]> copy_of(ConstBytes bytes) {
    auto copy = room_for(bytes.size());
    if (!bytes.empty()) std::memcpy(copy.get(), bytes.data(), bytes.size());
    return copy;
}

Bytes writable(ConstBytes memory) {
    return {const_cast<std::byte*>(memory.data()), memory.size()};
}

}  // namespace

void Channel::check_send(const PacketHeader& header, ConstBytes payload) const {
    if (header.length != payload.size())
        throw std::logic_error(
            fmt::format("send: header.length is {}, expected the payload's {} bytes", header.length,
                        payload.size()));
    if (reserved_ != nullptr) throw std::logic_error("send between reserve and commit");
}

void Channel::send(const PacketHeader& header, ConstBytes payload) {
    check_send(header, payload);
    world_.carry(end_, header, copy_of(payload));
}

void Channel::send_placed(const PacketHeader& header, ConstBytes front, ConstBytes payload,
                          const RemoteAddress& target) {
    check_send(header, front);
    if (!can().places || payload.empty() || target.key == 0)
        throw std::logic_error(
            fmt::format("send_placed: {} bytes under key {}, expected some under a key that is not "
                        "0, and WorldOptions::places",
                        payload.size(), target.key));
    world_.carry(end_, header, copy_of(front), {{payload.begin(), payload.end()}, target});
}

std::byte* Channel::reserve(int virtual_channel, std::size_t bytes) {
    if (reserved_ != nullptr) throw std::logic_error("reserve: the last one was not committed");
    reserved_ = room_for(bytes);
    reserved_bytes_ = bytes;
    reserved_class_ = virtual_channel;
    return reserved_.get();
}

void Channel::commit(const PacketHeader& header) {
    if (reserved_ == nullptr) throw std::logic_error("commit without reserve");
    if (header.length != reserved_bytes_ || header.virtual_channel != reserved_class_)
        throw std::logic_error(fmt::format(
            "commit: {} bytes of virtual channel {}, expected the reserved {} bytes of virtual "
            "channel {}",
            header.length, int(header.virtual_channel), reserved_bytes_, reserved_class_));
    world_.carry(end_, header, std::move(reserved_));
}

void Channel::grant(CreditWord credits) {
    world_.settle_grants(end_, credits);
    world_.send_grant(end_, credits);
}

CreditWord Channel::collect_grants() {
    return std::exchange(end_.grants_arrived, CreditWord{0});
}

bool Channel::can_write(const RemoteMemory& remote) const {
    return world_.allowed(end_, remote, world_.options_.write) &&
           !(world_.options_.wavers && world_.random_.below(3) == 0);
}

// Any pending write counts.
bool Channel::write_arriving() const {
    const auto& motions = end_.peer->motions;
    return !end_.link->dead && std::any_of(motions.begin(), motions.end(), [](const auto& it) {
        return it.second.notice && !it.second.moved;
    });
}

bool Channel::can_read(const RemoteMemory& remote) const {
    return world_.allowed(end_, remote, world_.options_.read);
}

Transfer Channel::write(const RemoteMemory& remote, std::size_t offset,
                        std::span<const ConstBytes> local, std::uint64_t cookie,
                        std::optional<std::uint64_t> notice) {
    if (local.size() > can().most_pieces) throw std::logic_error("write: too many pieces");
    std::vector<Bytes> pieces;
    for (const ConstBytes& piece : local) pieces.push_back(writable(piece));
    return world_.begin(end_, remote, offset, std::move(pieces), cookie, true, notice);
}

Transfer Channel::read(const RemoteMemory& remote, std::size_t offset, std::span<const Bytes> local,
                       std::uint64_t cookie) {
    if (local.size() > can().most_pieces) throw std::logic_error("read: too many pieces");
    if (local.size() > 1 && !can().reads_at_once) return Transfer::refused;
    return world_.begin(end_, remote, offset, {local.begin(), local.end()}, cookie, false);
}

std::byte* Channel::map(const RemoteMemory& remote, std::size_t offset, std::size_t bytes) {
    if (!world_.mapped(end_, remote) || offset > remote.length || bytes > remote.length - offset)
        return nullptr;
    return reinterpret_cast<std::byte*>(std::uintptr_t(remote.address)) + offset;
}

void Channel::close(std::string_view why) {
    world_.close(end_, why);
}

void Channel::wake_peer() {
    End& peer = *end_.peer;
    if (!end_.link->dead) world_.schedule(world_.now_, EventKind::wake, peer, 0);
}

}  // namespace torusmp::transport::sim::detail
