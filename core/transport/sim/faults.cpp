// SPDX-License-Identifier: BSD-3-Clause
// Faults of the simulated world: cables that are cut and mended, processes that die, links that are
// slow, forged packets.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/transport/sim/channel.h"
#include "core/transport/sim/world.h"

namespace torusmp::transport::sim {

using detail::End;
using detail::EventKind;
using detail::Link;
using detail::name_of;
using detail::Placed;
using detail::VirtualChannel;

void World::kill_link(Interface& interface, std::uint32_t port) {
    End& end = end_at(interface, port, "kill_link");
    for (const End* it : {&end, end.peer})
        if (it->interface != nullptr) cut_.emplace(it->interface->index_, it->port);
    if (paused(end)) return wait_for_cable(end);
    bury(*end.link,
         fmt::format("the link between {} and {} was cut", name_of(end), name_of(*end.peer)), true);
}

bool World::is_up(const Interface& interface, std::uint32_t port) const {
    return std::any_of(interface.ends_.begin(), interface.ends_.end(), [&](const End* end) {
        return end->port == port && !end->link->dead && !end->link->cut;
    });
}

void World::cut(Interface& interface, std::uint32_t port, std::size_t peer,
                std::uint32_t peer_port) {
    cut_.emplace(interface.index_, port);
    cut_.emplace(peer, peer_port);
}

bool World::is_cut(const Link& link) const {
    return std::any_of(link.ends.begin(), link.ends.end(), [&](const End& end) {
        return end.interface != nullptr && cut_.count({end.interface->index_, end.port}) != 0;
    });
}

// The number of links that were connected over the same cable since it last carried one; that one
// counts.
int World::tries_over(const Link& link) const {
    int tries = 0;
    for (auto it = links_.rbegin(); it != links_.rend(); ++it) {
        const Link& other = **it;
        if (std::none_of(other.ends.begin(), other.ends.end(), [&](const End& end) {
                return end.interface == link.ends[0].interface && end.port == link.ends[0].port;
            }))
            continue;
        ++tries;
        if (!other.waited) break;
    }
    return tries;
}

// Handles a link that was connected over a missing cable.
void World::wait_for_cable(End& end) {
    end.link->cut = end.link->waited = true;
    end.link->why = "the cable is missing or dead";
    schedule(std::max(now_, end.link->opens_at) + options_.cable_within, EventKind::missing, end,
             0);
}

// The end that wants the link earlier calls the other. Both ends are scheduled for the end of the
// pause.
void World::pause(End& end, Time pause) {
    end.link->opens_at = std::min(end.link->opens_at, now_ + pause);
    for (End& it : end.link->ends) schedule(end.link->opens_at, EventKind::wake, it, 0);
}

void World::revive_link(Interface& interface, std::uint32_t port) {
    cut_.erase({interface.index_, port});
    for (End* end : interface.ends_) {
        if (end->port != port) continue;
        if (const Interface* peer = end->peer->interface)
            cut_.erase({peer->index_, end->peer->port});
        if (!std::exchange(end->link->cut, false) || end->link->dead) continue;
        end->link->waited = false;
        for (End& it : end->link->ends)
            schedule(now_ + draw(end->link->packet), EventKind::announce, it, 0);
    }
}

// One end closes the link: nothing reaches it any more, and the other end is notified.
void World::close(End& end, std::string_view why) {
    const std::string what = fmt::format("the other end closed it: {}", why);
    if (!end.link->dead && (end.link->cut || paused(end))) return leave(end, what);
    end.closed = true;
    bury(*end.link, what, true);
}

// The two ends have not met, so the other end cannot be notified. It continues to wait, and if this
// end is not connected again it finds no peer.
void World::leave(End& end, const std::string& why) {
    end.channel = nullptr;
    end.announced = true;
    end.link->why = why;
    schedule(std::max(now_, end.link->opens_at) + options_.cable_within, EventKind::abandoned,
             *end.peer, ++end.link->left);
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

// If `tear`, a pending remote write may have been done in part; its memory still exists.
void World::bury(Link& link, const std::string& why, bool tear) {
    if (link.dead) return;
    link.dead = true;
    link.why = why;
    for (End& end : link.ends) {
        for (VirtualChannel& vc : end.virtual_channels) {
            while (vc.packets.size() > vc.arrived) {
                const Placed& placed = vc.packets.back().placed;
                if (tear && !placed.bytes.empty() && end.interface != nullptr)
                    put_in_place(end, placed, random_.below(placed.bytes.size() + 1));
                vc.packets.pop_back();
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

void World::inject_grant(Interface& interface, std::uint32_t port, CreditWord credits) {
    End& end = end_at(interface, port, "inject_grant");
    end.grants_under_way.push_back(credits);
    schedule(now_, EventKind::grant, end, 0);
}

}  // namespace torusmp::transport::sim
