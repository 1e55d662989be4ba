#include "core/transport/sim/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include "core/transport/sim/channel.h"

namespace torusmp::transport::sim {

using detail::End;
using detail::Event;
using detail::EventKind;
using detail::Lane;
using detail::Link;
using detail::Motion;
using detail::Packet;
using detail::Placed;

namespace {

constexpr int packets_per_poll = 64;

// What an interface's address() holds.
struct Address {
    std::uint64_t secret;  // the world's, so that an address of another world is found out
    std::uint64_t index;
};

bool later(const Event& a, const Event& b) {
    return a.at != b.at ? a.at > b.at : a.order > b.order;
}

void check_slots(const PortOptions& slots) {
    if (slots.classes < 1 || slots.classes > max_slot_classes)
        throw std::invalid_argument(fmt::format("port {}: {} slot classes, expected 1 to {}",
                                                slots.port, slots.classes, max_slot_classes));
    for (int c = 0; c < slots.classes; ++c)
        if (slots.tokens[std::size_t(c)] < 1 || slots.tokens[std::size_t(c)] > max_tokens)
            throw std::invalid_argument(
                fmt::format("port {}: {} slots of class {}, expected 1 to {}", slots.port,
                            int(slots.tokens[std::size_t(c)]), c, max_tokens));
    if (slots.slot_bytes == 0)
        throw std::invalid_argument(fmt::format("port {}: slots of 0 bytes", slots.port));
}

std::string name_of(const End& end) {
    if (end.interface == nullptr) return fmt::format("port {} of a gone interface", end.port);
    return fmt::format("port {} of interface {}", end.port, end.interface->index());
}

// Ports of links have keys of their own in RemoteMemory; the others, which one process hardly mixes
// with those, share them.
std::uint32_t key_place(std::uint32_t port) {
    return port % most_link_ports;
}

// A header from outside may name any class; such packets queue with those of class 0.
std::size_t lane_of(const End& end, const PacketHeader& header) {
    return header.slot_class < end.slots.classes ? header.slot_class : 0;
}

}  // namespace

// --- Interface ---

Interface::Interface(World& world, std::size_t index, InterfaceOptions options)
    : world_(world), index_(index), options_(std::move(options)) {}

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
        ::operator delete(reinterpret_cast<void*>(memory), std::align_val_t(size.second));
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
        throw std::runtime_error(fmt::format(
            "interface {} cannot connect port {}: {} bytes that are no address of this world",
            index_, options.local_port, peer_address.size()));
    End& end = world_.join(*this, std::size_t(address.index), options);
    channels_.push_back(std::make_unique<detail::Channel>(world_, end));
    end.channel = channels_.back().get();
    if (end.link->dead) {
        world_.schedule(world_.now_, EventKind::down, end, 0);
    } else if (end.peer->channel == nullptr && !end.peer->announced) {
        end.peer->announced = true;
        world_.schedule(world_.now_ + world_.draw(end.link->packet), EventKind::announce, *end.peer,
                        0);
    }
    // What came before this side had connected can be delivered now.
    for (std::size_t lane = 0; lane < end.lanes.size(); ++lane)
        if (end.lanes[lane].arrived > 0 && !end.lanes[lane].listed) {
            end.lanes[lane].listed = true;
            ready_.push_back({&end, EventKind::packet, lane, true});
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
                if (motion == end.motions.end()) break;  // failed with its link, which was told
                const std::uint64_t cookie = motion->second.cookie;
                end.motions.erase(motion);
                sink.on_transfer(*end.channel, cookie, item.ok);
                break;
            }
            case EventKind::announce:
                if (end.channel == nullptr) sink.on_connect(end.port);
                break;
            case EventKind::down:
                deliver_down(sink, end);
                break;
            case EventKind::grant:
            case EventKind::ring:
                break;
        }
    }
    working_.clear();
    polling_ = false;
    return taken;
}

int Interface::deliver(Sink& sink, End& end, int number, int budget) {
    Lane& lane = end.lanes[std::size_t(number)];
    lane.listed = false;
    if (end.channel == nullptr || end.told_down) return 0;
    int taken = 0;
    while (lane.arrived > 0 && taken < budget) {
        Packet& packet = lane.packets.front();
        // Core may give the packet's token back as soon as it has done with it, before it returns.
        ++lane.owed;
        lane.slotted -= packet.slotted;
        if (sink.on_packet(*end.channel, packet.header, packet.payload.get()) == Verdict::held) {
            if (lane.owed == 0)
                throw std::logic_error(
                    fmt::format("{} gave the token of a held packet back", name_of(end)));
            --lane.owed;
            lane.slotted += packet.slotted;
            ++world_.counters_.held;
            break;
        }
        ++taken;
        ++world_.counters_.delivered;
        --lane.arrived;
        lane.packets.pop_front();
    }
    if (lane.arrived > 0) {
        lane.listed = true;
        ready_.push_back({&end, EventKind::packet, std::uint64_t(number), true});
    }
    return taken;
}

void Interface::deliver_down(Sink& sink, End& end) {
    if (end.told_down || end.channel == nullptr) return;
    for (Lane& lane : end.lanes) {
        world_.counters_.lost += lane.packets.size();
        lane = Lane{};
    }
    const auto motions = std::exchange(end.motions, {});
    for (const auto& [id, motion] : motions) sink.on_transfer(*end.channel, motion.cookie, false);
    end.told_down = true;
    sink.on_down(*end.channel, end.link->why);
}

bool Interface::separate_links() const {
    return world_.options_.separate_links;
}

RemoteMemory Interface::expose(Bytes memory, const Channel* channel) {
    const std::uint64_t address = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::uint64_t seal = world_.seal(index_, address, memory.size());
    ++exposed_.try_emplace(seal, Exposure{address, memory.size(), 0}).first->second.times;
    RemoteMemory remote{address, memory.size(), 0, {}};
    const auto add_key = [&](std::uint32_t port) {
        if (remote.port_key(key_place(port)) == 0)
            remote.set_port_key(key_place(port), world_.port_seal(seal, port));
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
    return remote;
}

void Interface::conceal(const RemoteMemory& memory) {
    const auto found = exposed_.find(world_.seal(index_, memory.address, memory.length));
    if (found != exposed_.end() && --found->second.times == 0) exposed_.erase(found);
}

bool Interface::is_mapped(const RemoteMemory& memory) const {
    if (!world_.options_.mapped) return false;
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

// --- World: links ---

World::World(const WorldOptions& options)
    : options_(options), random_(options.seed), secret_(random_.next()) {}

World::~World() = default;

std::unique_ptr<Interface> World::create(InterfaceOptions options) {
    for (const PortOptions& slots : options.ports) check_slots(slots);
    if (options.other) check_slots(*options.other);
    std::unique_ptr<Interface> interface(
        new Interface(*this, interfaces_.size(), std::move(options)));
    interfaces_.push_back(interface.get());
    return interface;
}

// This side's end of the link that both ports name, new unless the other side came first.
End& World::join(Interface& from, std::size_t to, const ChannelOptions& options) {
    Interface* const other = interfaces_[to];
    for (End* end : from.ends_)
        if (end->port == options.local_port && end->peer->port == options.remote_port &&
            end->peer->interface == other) {
            if (end->channel == nullptr) return *end;
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
    if (other == nullptr || !other->alive_) {
        link->dead = true;
        link->why = fmt::format("interface {} is gone", to);
    }
    links_.push_back(std::move(link));
    return links_.back()->ends[0];
}

End& World::end_at(Interface& interface, std::uint32_t port, const char* call) {
    for (End* end : interface.ends_)
        if (end->port == port && !end->link->dead) return *end;
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
    if (header.slot_class >= into.slots.classes)
        throw std::logic_error(fmt::format("a packet of class {} to {}, which has {} classes",
                                           int(header.slot_class), name_of(into),
                                           into.slots.classes));
    if (header.length > into.slots.slot_bytes)
        throw std::logic_error(fmt::format("a packet of {} bytes to {}, whose slots hold {}",
                                           header.length, name_of(into), into.slots.slot_bytes));
    Lane& lane = into.lanes[header.slot_class];
    if (lane.slotted == into.slots.tokens[header.slot_class])
        throw std::logic_error(
            fmt::format("a packet of class {} from {} to {} finds no slot: all {} are in use",
                        int(header.slot_class), name_of(from), name_of(into), lane.slotted));
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
    header.stamp = std::uint32_t(random_.next());  // core must not rely on it
    const std::size_t number = lane_of(into, header);
    Lane& lane = into.lanes[number];
    const Time due = std::max(now_ + draw(into.link->packet), lane.last_due);
    lane.last_due = due;
    if (slotted) ++lane.slotted;
    lane.packets.push_back({header, std::move(payload), slotted, std::move(placed)});
    schedule(due, EventKind::packet, into, number);
}

// The first bytes of a placed payload arrive at this end. Memory that is exposed no more is left
// alone.
void World::put_in_place(const End& end, const Placed& placed, std::size_t most) {
    for (const auto& [seal, exposure] : end.interface->exposed_) {
        const std::uint64_t offset = placed.place.address - exposure.address;
        if (placed.place.key != port_seal(seal, end.port) || offset > exposure.length ||
            placed.bytes.size() > exposure.length - offset)
            continue;
        std::memcpy(reinterpret_cast<std::byte*>(std::uintptr_t(placed.place.address)),
                    placed.bytes.data(), most);
        ++counters_.placed;
        return;
    }
    ++counters_.misplaced;
}

// Tokens that this end gives back: each must stand for a packet that was taken here.
void World::settle_grants(End& end, TokenWord word) {
    if (word == 0 || end.link->dead) return;
    for (int c = 0; c < 8; ++c) {
        const std::size_t count = tokens_in(word, c);
        if (count == 0) continue;
        if (c >= end.slots.classes || count > end.lanes[std::size_t(c)].owed)
            throw std::logic_error(
                fmt::format("{} gives {} tokens of class {} back but owes {}", name_of(end), count,
                            c, c < end.slots.classes ? end.lanes[std::size_t(c)].owed : 0));
        end.lanes[std::size_t(c)].owed -= count;
    }
}

void World::send_grant(End& from, TokenWord word) {
    if (word == 0 || from.link->dead) return;
    ++counters_.grants;
    End& into = *from.peer;
    into.last_grant_due = std::max(now_ + draw(options_.grant), into.last_grant_due);
    into.grants_under_way.push_back(word);
    schedule(into.last_grant_due, EventKind::grant, into, 0);
}

// --- World: remote writes and reads ---

std::size_t detail::Motion::bytes() const {
    std::size_t sum = 0;
    for (const Bytes& piece : here) sum += piece.size();
    return sum;
}

void detail::Motion::move(std::size_t most) const {
    std::byte* place = there;
    for (const Bytes& piece : here) {
        const std::size_t part = std::min(piece.size(), most);
        if (part == 0) continue;
        std::memcpy(write ? place : piece.data(), write ? piece.data() : place, part);
        place += part;
        most -= part;
    }
}

std::uint64_t World::seal(std::size_t interface, std::uint64_t address,
                          std::uint64_t length) const {
    return Random::mix(Random::mix(secret_ ^ address) ^ Random::mix(length + interface));
}

// What stands in the place of that port's key; never 0, which stands for none.
std::uint32_t World::port_seal(std::uint64_t seal, std::uint32_t port) const {
    return std::uint32_t(Random::mix(seal + port)) | 1;
}

std::uint64_t World::seal_of(const End& end, const RemoteMemory& remote) const {
    return seal(end.peer->interface->index_, remote.address, remote.length);
}

bool World::reachable(const End& end, const RemoteMemory& remote) const {
    const std::uint32_t port = end.peer->port;
    return end.peer->interface != nullptr && end.peer->channel != nullptr &&
           remote.port_key(key_place(port)) == port_seal(seal_of(end, remote), port);
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
    return reachable(end, remote) && end.peer->interface->is_mapped(remote) && !end.link->dead &&
           end.peer->interface->exposed_.count(seal_of(end, remote)) != 0;
}

Transfer World::begin(End& end, const RemoteMemory& remote, std::size_t offset,
                      std::vector<Bytes> local, std::uint64_t cookie, bool write) {
    if (!reachable(end, remote)) return Transfer::refused;
    std::size_t bytes = 0;
    for (const Bytes& piece : local) bytes += piece.size();
    Remote way = write ? options_.write : options_.read;
    if (end.peer->interface->is_mapped(remote)) way = Remote::immediate;
    if (way == Remote::refused) return Transfer::refused;
    if (offset > remote.length || bytes > remote.length - offset) return Transfer::refused;
    if (end.told_down) return Transfer::refused;
    if (way == Remote::mixed) way = Remote(random_.below(3));
    const bool whole_message = write ? options_.separate_links || local.size() > 1 : false;
    if (way == Remote::refused && whole_message) way = Remote::immediate;
    if (way == Remote::refused) return Transfer::refused;
    ++counters_.transfers;
    auto* const there = reinterpret_cast<std::byte*>(std::uintptr_t(remote.address)) + offset;
    Motion motion{cookie, there, std::move(local), write, seal_of(end, remote)};
    if (way == Remote::immediate && !end.link->dead && is_exposed(end, motion)) {
        motion.move(bytes);
        return Transfer::done;
    }
    const std::uint64_t id = ++motions_;
    end.motions.emplace(id, std::move(motion));
    // On a link that is dead and not known to be, it fails when the link is reported.
    if (!end.link->dead) schedule(now_ + draw(options_.transfer), EventKind::transfer, end, id);
    return Transfer::pending;
}

void World::finish(End& end, std::uint64_t id) {
    const Motion& motion = end.motions.at(id);
    const bool there = is_exposed(end, motion);
    if (there) motion.move(motion.bytes());
    end.interface->ready_.push_back({&end, EventKind::transfer, id, there});
}

// --- World: faults ---

void World::kill_link(Interface& interface, std::uint32_t port) {
    End& end = end_at(interface, port, "kill_link");
    bury(*end.link,
         fmt::format("the link between {} and {} was cut", name_of(end), name_of(*end.peer)), true);
}

void World::kill(Interface& interface) {
    if (!interface.alive_) return;
    interface.alive_ = false;
    bury_all(interface, fmt::format("interface {} died", interface.index_), true);
    interface.ready_.clear();
}

void World::bury_all(Interface& interface, const std::string& why, bool tear) {
    for (End* end : interface.ends_) bury(*end->link, why, tear);
}

// `tear`: a remote write under way may have been done in part; its memory is still there.
void World::bury(Link& link, const std::string& why, bool tear) {
    if (link.dead) return;
    link.dead = true;
    link.why = why;
    for (End& end : link.ends) {
        for (Lane& lane : end.lanes) {
            while (lane.packets.size() > lane.arrived) {
                const Placed& placed = lane.packets.back().placed;
                if (tear && !placed.bytes.empty() && end.interface != nullptr)
                    put_in_place(end, placed, random_.below(placed.bytes.size() + 1));
                lane.packets.pop_back();
                ++counters_.lost;
            }
        }
        end.grants_under_way.clear();
        if (tear)
            for (const auto& [id, motion] : end.motions)
                if (const std::size_t part = random_.below(motion.bytes() + 1);
                    part > 0 && is_exposed(end, motion))
                    motion.move(part);
        if (end.interface != nullptr && end.interface->alive_)
            schedule(now_ + Time{random_.between(0, options_.down_within.count())}, EventKind::down,
                     end, 0);
    }
}

void World::set_delay(Interface& interface, std::uint32_t port, const Delay& delay) {
    end_at(interface, port, "set_delay").link->packet = delay;
}

void World::inject(Interface& interface, std::uint32_t port, PacketHeader header,
                   ConstBytes payload) {
    End& end = end_at(interface, port, "inject");
    auto copy = std::unique_ptr<std::byte[]>(new std::byte[payload.size()]);
    std::copy(payload.begin(), payload.end(), copy.get());
    header.length = std::uint32_t(payload.size());
    launch(end, header, std::move(copy), false, {});
}

// --- World: time ---

void World::schedule(Time at, EventKind kind, End& end, std::uint64_t id) {
    events_.push_back({at, ++order_, &end, id, kind});
    std::push_heap(events_.begin(), events_.end(), later);
}

// What an event does when its time has come. False: it concerns nobody any more.
bool World::happen(const Event& event) {
    End& end = *event.end;
    if (end.interface == nullptr || !end.interface->alive_) return false;
    Interface& interface = *end.interface;
    if (end.link->dead && event.kind != EventKind::down) return false;
    switch (event.kind) {
        case EventKind::packet: {
            Lane& lane = end.lanes[event.id];
            const Placed& placed = lane.packets[lane.arrived].placed;
            if (!placed.bytes.empty()) put_in_place(end, placed, placed.bytes.size());
            ++lane.arrived;
            if (lane.listed || end.channel == nullptr) return true;
            lane.listed = true;
            break;
        }
        case EventKind::grant: {
            const TokenWord word = end.grants_under_way.front();
            end.grants_under_way.pop_front();
            for (int c = 0; c < 8; ++c)
                if (tokens_in(end.grants_arrived, c) + tokens_in(word, c) > 127)
                    throw std::logic_error(fmt::format(
                        "{} was given more than 127 tokens of class {}", name_of(end), c));
            end.grants_arrived += word;
            return true;
        }
        case EventKind::transfer:
            finish(end, event.id);
            return true;
        case EventKind::ring:
            return true;
        case EventKind::announce:
        case EventKind::down:
            break;
    }
    interface.ready_.push_back({&end, event.kind, event.id, true});
    return true;
}

// The next event no later than `until`; those of the dead are passed over.
std::optional<std::size_t> World::next(Time until) {
    while (!events_.empty() && events_.front().at <= until) {
        std::pop_heap(events_.begin(), events_.end(), later);
        const Event event = events_.back();
        events_.pop_back();
        now_ = event.at;
        ++counters_.events;
        if (happen(event)) return event.end->interface->index_;
    }
    return std::nullopt;
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

// --- World: what goes on ---

std::size_t World::in_flight() const {
    std::size_t count = 0;
    for (const auto& link : links_)
        if (!link->dead)
            for (const End& end : link->ends)
                for (const Lane& lane : end.lanes) count += lane.packets.size();
    return count;
}

std::size_t World::tokens_away() const {
    std::size_t count = 0;
    for (const auto& link : links_) {
        if (link->dead) continue;
        for (const End& end : link->ends) {
            for (const Lane& lane : end.lanes) count += lane.owed;
            for (const TokenWord word : end.grants_under_way)
                for (int c = 0; c < max_slot_classes; ++c) count += tokens_in(word, c);
        }
    }
    return count;
}

std::string World::describe() const {
    std::string text = fmt::format("at {} ns, {} events to come\n", now_.count(), events_.size());
    for (const auto& link : links_) {
        if (link->dead) continue;
        for (const End& end : link->ends)
            for (std::size_t c = 0; c < end.lanes.size(); ++c) {
                const Lane& lane = end.lanes[c];
                if (lane.packets.empty() && lane.owed == 0) continue;
                text += fmt::format(
                    "into {} class {}: {} packets, {} of them arrived; {} tokens owed\n",
                    name_of(end), c, lane.packets.size(), lane.arrived, lane.owed);
            }
    }
    return text;
}

}  // namespace torusmp::transport::sim
