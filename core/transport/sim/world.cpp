// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/sim/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/transport/sim/channel.h"

namespace torusmp::transport::sim {

using detail::End;
using detail::Event;
using detail::EventKind;
using detail::Link;
using detail::Motion;
using detail::name_of;
using detail::Packet;
using detail::Placed;
using detail::VirtualChannel;

namespace {

bool later(const Event& a, const Event& b) {
    return a.at != b.at ? a.at > b.at : a.order > b.order;
}

void check_slots(const PortOptions& slots) {
    if (slots.virtual_channels < 1 || slots.virtual_channels > max_virtual_channels)
        throw std::invalid_argument(fmt::format("port {}: {} virtual channels, expected 1 to {}",
                                                slots.port, slots.virtual_channels,
                                                max_virtual_channels));
    for (int c = 0; c < slots.virtual_channels; ++c)
        if (slots.credits[std::size_t(c)] < 1 || slots.credits[std::size_t(c)] > max_credits)
            throw std::invalid_argument(
                fmt::format("port {}: {} slots of virtual channel {}, expected 1 to {}", slots.port,
                            int(slots.credits[std::size_t(c)]), c, max_credits));
    if (slots.slot_bytes == 0)
        throw std::invalid_argument(fmt::format("port {}: slots of 0 bytes", slots.port));
}

// A header from outside may name any virtual channel; such packets are queued with those of virtual
// channel 0.
std::size_t virtual_channel_of(const End& end, const PacketHeader& header) {
    return header.virtual_channel < end.slots.virtual_channels ? header.virtual_channel : 0;
}

}  // namespace

std::string detail::name_of(const End& end) {
    if (end.interface == nullptr) return fmt::format("port {} of a gone interface", end.port);
    return fmt::format("port {} of interface {}", end.port, end.interface->index());
}

// --- World: links ---

World::World(const WorldOptions& options)
    : options_(options), random_(options.seed), secret_(random_.next()) {
    if (options.model) clocks_.emplace(*options.model);
}

World::~World() {
    for (const auto& [memory, alignment] : left_behind_)
        ::operator delete(memory, std::align_val_t(alignment));
}

std::unique_ptr<Interface> World::create(InterfaceOptions options) {
    for (const PortOptions& slots : options.ports) check_slots(slots);
    if (options.other) check_slots(*options.other);
    std::unique_ptr<Interface> interface(
        new Interface(*this, interfaces_.size(), std::move(options)));
    interfaces_.push_back(interface.get());
    return interface;
}

// This side's end of the link that both ports name, created here unless the other side was first.
End& World::join(Interface& from, std::size_t to, const ChannelOptions& options) {
    Interface* const other = interfaces_[to];
    for (End* end : from.ends_)
        if (end->port == options.local_port && end->peer->port == options.remote_port &&
            end->peer->interface == other) {
            // Both ends of a link are notified of each death; the called end does not know of
            // failed calls.
            if (end->channel == nullptr && !(options.renews && end->link->dead)) {
                if (options.afresh && end->link->cut) wait_for_cable(*end);
                return *end;
            }
            if (!end->link->dead)
                throw std::logic_error(fmt::format("interface {} connects port {} twice",
                                                   from.index_, options.local_port));
        }
    auto link = std::make_unique<Link>();
    link->packet = options_.packet;
    const std::array<Interface*, 2> sides{&from, other};
    const std::array<std::uint32_t, 2> ports{options.local_port, options.remote_port};
    for (std::size_t i = 0; i < 2; ++i) {
        End& end = link->ends[i];
        end.link = link.get();
        end.peer = &link->ends[1 - i];
        end.interface = sides[i];
        end.port = ports[i];
        if (sides[i] != nullptr) end.slots = sides[i]->slots_of(ports[i]);
    }
    for (End& end : link->ends)
        if (end.interface != nullptr) end.interface->ends_.push_back(&end);
    const int tries = tries_over(*link);
    const bool gone = other == nullptr || !other->alive_;
    if (gone || is_cut(*link)) {
        link->dead = tries == 0 || (gone && (tries == 1 || options.afresh));
        link->cut = !link->dead;
        link->waited = true;
        link->why = gone ? fmt::format("interface {} is gone", to) : "the cable is missing or dead";
    }
    links_.push_back(std::move(link));
    End& end = links_.back()->ends[0];
    end.link->opens_at = now_ + options.pause;
    if (end.link->cut && (tries == 1 || options.afresh)) wait_for_cable(end);
    return end;
}

End& World::end_at(Interface& interface, std::uint32_t port, const char* call) {
    for (End* end : interface.ends_)
        if (end->port == port && !end->link->dead && !end->link->cut) return *end;
    throw std::invalid_argument(
        fmt::format("{}: port {} of interface {} has no live link", call, port, interface.index_));
}

Time World::draw(const Delay& delay) {
    Time time{random_.between(delay.low.count(), delay.high.count())};
    if (delay.straggling > 0.0 && random_.chance(delay.straggling)) time += delay.straggle;
    return time;
}

void World::carry(End& from, const PacketHeader& header, std::unique_ptr<std::byte[]> payload,
                  Placed placed) {
    settle_grants(from, header.grants);
    End& into = *from.peer;
    if (from.link->dead || into.interface == nullptr || into.interface->swallows_) {
        ++counters_.lost;
        return;
    }
    if (header.virtual_channel >= into.slots.virtual_channels)
        throw std::logic_error(
            fmt::format("a packet of virtual channel {} to {}, which has {} virtual channels",
                        int(header.virtual_channel), name_of(into), into.slots.virtual_channels));
    if (header.length > into.slots.slot_bytes)
        throw std::logic_error(fmt::format("a packet of {} bytes to {}, whose slots hold {}",
                                           header.length, name_of(into), into.slots.slot_bytes));
    VirtualChannel& vc = into.virtual_channels[header.virtual_channel];
    if (vc.slotted == into.slots.credits[header.virtual_channel])
        throw std::logic_error(fmt::format(
            "a packet of virtual channel {} from {} to {} finds no slot: all {} are in use",
            int(header.virtual_channel), name_of(from), name_of(into), vc.slotted));
    ++counters_.packets;
    counters_.bytes += header.length;
    if (!interposer_) return launch(into, header, std::move(payload), true, std::move(placed));

    PacketHeader changed = header;
    std::vector<std::byte> bytes(payload.get(), payload.get() + header.length);
    interposer_(from.interface->index_, changed, bytes);
    changed.length = std::uint32_t(bytes.size());
    auto copy = std::unique_ptr<std::byte[]>(new std::byte[bytes.size()]);
    std::copy(bytes.begin(), bytes.end(), copy.get());
    launch(into, changed, std::move(copy), true, std::move(placed));
}

void World::launch(End& into, PacketHeader header, std::unique_ptr<std::byte[]> payload,
                   bool slotted, Placed placed) {
    header.stamp = std::uint32_t(random_.next());  // core must not rely on its value
    const std::size_t number = virtual_channel_of(into, header);
    VirtualChannel& vc = into.virtual_channels[number];
    const std::size_t bytes = header.length + placed.bytes.size();
    const Time arrives = clocks_ && slotted ? hand_on(*into.peer, bytes, header.hops > 0, true)
                                            : now_ + draw(into.link->packet);
    const Time due = std::max(arrives, vc.last_due);
    vc.last_due = due;
    if (slotted) ++vc.slotted;
    vc.packets.push_back({header, std::move(payload), slotted, std::move(placed)});
    schedule(due, EventKind::packet, into, number);
}

// Credits that this end returns: each must stand for a packet that was taken here.
void World::settle_grants(End& end, CreditWord word) {
    if (word == 0 || end.link->dead) return;
    for (int c = 0; c < 8; ++c) {
        const std::size_t count = credits_in(word, c);
        if (count == 0) continue;
        if (c >= end.slots.virtual_channels || count > end.virtual_channels[std::size_t(c)].owed)
            throw std::logic_error(fmt::format(
                "{} gives {} credits of virtual channel {} back but owes {}", name_of(end), count,
                c, c < end.slots.virtual_channels ? end.virtual_channels[std::size_t(c)].owed : 0));
        end.virtual_channels[std::size_t(c)].owed -= count;
    }
}

void World::send_grant(End& from, CreditWord word) {
    if (word == 0 || from.link->dead) return;
    ++counters_.grants;
    End& into = *from.peer;
    const Time arrives = clocks_ ? clocks_->arrives(clocks_->cursor(from.interface->index_, now_))
                                 : now_ + draw(options_.grant);
    into.last_grant_due = std::max(arrives, into.last_grant_due);
    into.grants_under_way.push_back(word);
    schedule(into.last_grant_due, EventKind::grant, into, 0);
}

// --- World: time ---

void World::schedule(Time at, EventKind kind, End& end, std::uint64_t id) {
    events_.push_back({at, ++order_, &end, id, kind});
    std::push_heap(events_.begin(), events_.end(), later);
}

// Carries out an event that is due. Returns false if it no longer concerns any interface.
bool World::happen(const Event& event) {
    End& end = *event.end;
    if (end.interface == nullptr || !end.interface->alive_) return false;
    Interface& interface = *end.interface;
    if (end.link->dead && event.kind != EventKind::down) return false;
    switch (event.kind) {
        case EventKind::packet: {
            VirtualChannel& vc = end.virtual_channels[event.id];
            const Placed& placed = vc.packets[vc.arrived].placed;
            if (!placed.bytes.empty()) put_in_place(end, placed, placed.bytes.size());
            ++vc.arrived;
            if (vc.listed || end.channel == nullptr) return true;
            vc.listed = true;
            break;
        }
        case EventKind::grant: {
            const CreditWord word = end.grants_under_way.front();
            end.grants_under_way.pop_front();
            for (int c = 0; c < 8; ++c)
                if (credits_in(end.grants_arrived, c) + credits_in(word, c) > 127)
                    throw std::logic_error(
                        fmt::format("{} was given more than 127 credits of virtual channel {}",
                                    name_of(end), c));
            end.grants_arrived += word;
            return true;
        }
        case EventKind::missing:
            if (end.link->cut) bury(*end.link, "the cable is missing or dead", false);
            return false;
        case EventKind::abandoned:
            if (end.peer->channel != nullptr || end.link->left != event.id) return false;
            end.link->waited = true;
            bury(*end.link, end.link->why, false);
            return false;
        case EventKind::transfer:
            finish(end, event.id);
            return true;
        case EventKind::wake:
            return true;
        case EventKind::notice:
        case EventKind::announce:
        case EventKind::down:
            break;
    }
    interface.ready_.push_back({&end, event.kind, event.id, true});
    return true;
}

// The next event no later than `until`; events of dead processes are skipped.
std::optional<std::size_t> World::next(Time until) {
    while (!events_.empty() && events_.front().at <= until) {
        std::pop_heap(events_.begin(), events_.end(), later);
        const Event event = events_.back();
        events_.pop_back();
        now_ = event.at;
        ++counters_.events;
        if (happen(event) && (!clocks_ || has_turn(*event.end)))
            return event.end->interface->index_;
    }
    return std::nullopt;
}

// Whether its processor handles the event now; otherwise it does so later.
bool World::has_turn(End& end) {
    const auto turn = clocks_->turn(end.interface->index_, now_);
    if (turn.ask_again) schedule(*turn.ask_again, EventKind::wake, end, 0);
    return turn.now;
}

// The arrival time of a packet that leaves over a link now.
Time World::hand_on(End& from, std::size_t bytes, bool passes, bool copied) {
    return clocks_->arrives(
        clocks_->leaves(from.interface->index_, now_, from.line, bytes, passes, copied));
}

void World::call(Interface& interface, Time at) {
    schedule(std::max(at, now_), EventKind::wake, *interface.ends_.front(), 0);
}

std::optional<std::size_t> World::step() {
    return next(Time::max());
}

void World::advance(Time by) {
    const Time until = now_ + by;
    while (next(until)) {
    }
    now_ = until;
}

// --- World: traffic ---

std::size_t World::in_flight() const {
    std::size_t count = 0;
    for (const auto& link : links_)
        if (!link->dead)
            for (const End& end : link->ends)
                for (const VirtualChannel& vc : end.virtual_channels) count += vc.packets.size();
    return count;
}

std::size_t World::credits_away() const {
    std::size_t count = 0;
    for (const auto& link : links_) {
        if (link->dead) continue;
        for (const End& end : link->ends) {
            for (const VirtualChannel& vc : end.virtual_channels) count += vc.owed;
            for (const CreditWord word : end.grants_under_way)
                for (int c = 0; c < max_virtual_channels; ++c) count += credits_in(word, c);
        }
    }
    return count;
}

std::string World::describe() const {
    std::string text = fmt::format("at {} ns, {} events to come\n", now_.count(), events_.size());
    for (const auto& link : links_) {
        if (link->dead) continue;
        for (const End& end : link->ends)
            for (std::size_t c = 0; c < end.virtual_channels.size(); ++c) {
                const VirtualChannel& vc = end.virtual_channels[c];
                if (vc.packets.empty() && vc.owed == 0) continue;
                text += fmt::format(
                    "into {} virtual channel {}: {} packets, {} of them arrived; {} credits owed\n",
                    name_of(end), c, vc.packets.size(), vc.arrived, vc.owed);
            }
    }
    return text;
}

}  // namespace torusmp::transport::sim
