// SPDX-License-Identifier: BSD-3-Clause
// Remote writes and reads of the simulated transport, and packets that place their payload.
#include <algorithm>
#include <cstring>
#include <utility>

#include "core/transport/sim/channel.h"
#include "core/transport/sim/world.h"

namespace torusmp::transport::sim {

using detail::End;
using detail::EventKind;
using detail::key_place;
using detail::Motion;
using detail::Placed;

std::size_t detail::Motion::bytes() const {
    std::size_t sum = 0;
    for (const Bytes& piece : here) sum += piece.size();
    return sum;
}

void detail::Motion::move(std::size_t most) const {
    std::byte* target = there;
    for (const Bytes& piece : here) {
        const std::size_t part = std::min(piece.size(), most);
        if (part == 0) continue;
        std::memcpy(write ? target : piece.data(), write ? piece.data() : target, part);
        target += part;
        most -= part;
    }
}

std::uint64_t World::seal(std::size_t interface, std::uint64_t address,
                          std::uint64_t length) const {
    return Random::mix(Random::mix(secret_ ^ address) ^ Random::mix(length + interface));
}

// Replaces that port's key; never 0, which means none.
std::uint32_t World::port_seal(std::uint64_t seal, std::uint32_t port) const {
    return std::uint32_t(Random::mix(seal + port)) | 1;
}

std::uint64_t World::seal_of(const End& end, const RemoteMemory& remote) const {
    return seal(end.peer->interface->index_, remote.address, remote.length);
}

bool World::reachable(const End& end, const RemoteMemory& remote) const {
    const std::uint32_t port = end.peer->port;
    return end.peer->interface != nullptr && end.peer->channel != nullptr &&
           remote.as<PortKeys>().by_port[key_place(port)] == port_seal(seal_of(end, remote), port);
}

bool World::allowed(const End& end, const RemoteMemory& remote, Remote way) const {
    return reachable(end, remote) &&
           (way != Remote::refused || end.peer->interface->is_mapped(remote));
}

bool World::is_exposed(const End& end, const Motion& motion) const {
    const Interface* const owner = end.peer->interface;
    return owner != nullptr && owner->exposed_.count(motion.key) != 0;
}

bool World::mapped(const End& end, const RemoteMemory& remote) const {
    const bool named =
        options_.all_mapped ? end.peer->interface != nullptr : reachable(end, remote);
    return named && end.peer->interface->is_mapped(remote) && !end.link->dead &&
           end.peer->interface->exposed_.count(seal_of(end, remote)) != 0;
}

Transfer World::begin(End& end, const RemoteMemory& remote, std::size_t offset,
                      std::vector<Bytes> local, std::uint64_t cookie, bool write,
                      std::optional<std::uint64_t> notice) {
    if (!reachable(end, remote)) return Transfer::refused;
    std::size_t bytes = 0;
    for (const Bytes& piece : local) bytes += piece.size();
    Remote way = write ? options_.write : options_.read;
    if (end.peer->interface->is_mapped(remote)) way = Remote::immediate;
    if (way == Remote::refused) return Transfer::refused;
    if (offset > remote.length || bytes > remote.length - offset) return Transfer::refused;
    if (end.down_reported) return Transfer::refused;
    if (write && options_.notifies) way = Remote::pending;  // in order, and none refused
    if (way == Remote::mixed) way = Remote(random_.below(3));
    const bool whole_message =
        write ? end.interface->can().separate_links || local.size() > 1 : false;
    if (way == Remote::refused && whole_message) way = Remote::immediate;
    if (way == Remote::refused) return Transfer::refused;
    ++counters_.transfers;
    auto* const there = reinterpret_cast<std::byte*>(std::uintptr_t(remote.address)) + offset;
    Motion motion{cookie, there, std::move(local), write, seal_of(end, remote), notice};
    if (way == Remote::immediate && !end.link->dead && is_exposed(end, motion)) {
        motion.move(bytes);
        return Transfer::done;
    }
    const std::uint64_t id = ++motions_;
    end.motions.emplace(id, std::move(motion));
    // If the link is dead and this is not known yet, the transfer fails when the link is reported.
    if (end.link->dead) return Transfer::pending;
    Time due = clocks_ ? hand_on(end, bytes, false, false) : now_ + draw(options_.transfer);
    if (write && options_.notifies)
        due = end.last_transfer_due = std::max(due, end.last_transfer_due);
    schedule(due, EventKind::transfer, end, id);
    return Transfer::pending;
}

void World::finish(End& end, std::uint64_t id) {
    Motion& motion = end.motions.at(id);
    motion.moved = true;
    const bool there = is_exposed(end, motion);
    if (there) motion.move(motion.bytes());
    if (motion.notice) schedule(now_, EventKind::notice, *end.peer, *motion.notice);
    end.interface->ready_.push_back({&end, EventKind::transfer, id, there});
}

// Puts the first bytes of a placed payload into this end's memory, if that is still exposed.
void World::put_in_place(const End& end, const Placed& placed, std::size_t most) {
    const Bytes memory = end.interface->place(placed.target, end.port, placed.bytes.size());
    if (memory.empty()) {
        ++counters_.misplaced;
        return;
    }
    std::memcpy(memory.data(), placed.bytes.data(), most);
    ++counters_.placed;
}

}  // namespace torusmp::transport::sim
