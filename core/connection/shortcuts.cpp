// SPDX-License-Identifier: BSD-3-Clause
#include "core/connection/shortcuts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.h"
#include "base/trace.h"

namespace torusmp::core {
namespace {

// After a shortcut to a rank has ended, for whatever reason, twice as many packets are relayed
// before the next attempt, up to this limit.
constexpr std::uint32_t longest_wait = 1u << 16;

}  // namespace

ShortcutEnd* Shortcuts::open_end(const Peer& peer) const {
    if (peer.shortcut == nullptr) return nullptr;
    ShortcutEnd* const end = peer.shortcut->shortcut;
    return end != nullptr && end->is_open() ? end : nullptr;
}

bool Shortcuts::poll() {
    commons_.errands &= std::uint8_t(~Commons::shortcuts);
    using Due = Connections::Due;
    std::vector<Due> due = connections_.take_due();
    // A calling peer waits for our end, and already knows that the former shortcut is gone.
    std::stable_partition(due.begin(), due.end(),
                          [](const Due& it) { return it.why == Due::answer; });
    std::vector<Rank> answered;
    for (const Due& it : due) {
        Peer& peer = connections_.peer(it.rank);
        if (peer.dead || std::count(answered.begin(), answered.end(), it.rank) != 0) continue;
        ShortcutEnd* const end = open_end(peer);
        if (it.why == Due::answer) {
            if (end != nullptr) close(*end, "its other end has reopened it");
            answered.push_back(it.rank);
            make(peer);
        } else if (it.why == Due::wanted && end == nullptr) {
            make(peer);
        } else if (it.why == Due::overdue && end != nullptr && end->connecting()) {
            close(*end, "its other end does not answer");
            ++counts_.failed;
        }
    }
    return true;
}

void Shortcuts::make(Peer& peer) {
    if (open_.size() >= std::size_t(commons_.options.shortcuts)) make_room();
    ++counts_.made;
    if (!connections_.open_shortcut(peer)) {
        ++counts_.failed;
        peer.shortcut_after = std::min(2 * peer.shortcut_after, longest_wait);
        peer.until_shortcut = peer.shortcut_after;
        return;
    }
    Connection& connection = *peer.shortcut;
    if (connection.shortcut == nullptr)
        connection.shortcut =
            ends_.emplace_back(std::make_unique<ShortcutEnd>(connection, clock_)).get();
    TORUSMP_ASSERT(std::find(open_.begin(), open_.end(), connection.shortcut) == open_.end(),
                   commons_.rank(), peer.rank);
    connection.shortcut->begin(commons_.options.body());
    open_.push_back(connection.shortcut);
    TORUSMP_ASSERT(open_.size() <= std::size_t(commons_.options.shortcuts), commons_.rank(),
                   open_.size(), commons_.options.shortcuts);
    touch(connection);
    // The other end may compute for any time before it answers.
    peer.until_shortcut = longest_wait;
}

// Closes the least recently used shortcut.
void Shortcuts::make_room() {
    const auto oldest =
        std::min_element(open_.begin(), open_.end(), [](const auto* one, const auto* other) {
            return one->connection().used < other->connection().used;
        });
    TORUSMP_ASSERT(oldest != open_.end(), commons_.rank());
    ++counts_.closed;
    close(**oldest, "others are used more");
}

void Shortcuts::close(ShortcutEnd& end, std::string_view why) {
    end.close(why);
    lose(end);
}

void Shortcuts::on_down(ShortcutEnd& end, const transport::Channel& channel) {
    if (!end.carried_by(channel)) return;
    ++counts_.failed;
    lose(end);
}

// Relays the unconfirmed packets, then the waiting ones, and then all that follow.
void Shortcuts::lose(ShortcutEnd& end) {
    Connection& connection = end.connection();
    Peer& peer = connections_.peer(connection.peer);
    peer.quick = nullptr;
    peer.shortcut_after = std::min(2 * peer.shortcut_after, longest_wait);
    peer.until_shortcut = peer.shortcut_after;
    TORUSMP_TRACE(connection, debug, commons_.rank(),
                  "the shortcut to rank {} ends with {} packets to send again", peer.rank,
                  end.unconfirmed());
    connection.go_down();
    [[maybe_unused]] const auto removed = std::erase(open_, &end);
    TORUSMP_ASSERT(removed == 1, commons_.rank(), peer.rank, removed);
    TORUSMP_ASSERT(connection.streams.empty() || peer.dead, commons_.rank(), peer.rank);
    if (peer.dead) {
        PacketSender::drop_queues(connection, Error::unreachable);
    } else {
        for (unsigned back = end.unconfirmed(); back != 0; --back) {
            const Retained::Packet& packet = end.back(back);
            sender_.send_again(*peer.via, packet.header, packet.front());
            ++peer.via->statistics.resent;
            ++counts_.resent;
        }
        while (!connection.messages.empty())
            sender_.enqueue(*peer.via, *connection.messages.pop(), PacketSender::Queue::message);
    }
    end.end();
}

void Shortcuts::peer_lost(Peer& peer, Error /*error*/) {
    if (ShortcutEnd* const end = open_end(peer)) close(*end, "its rank is given up");
}

ShortcutCounts Shortcuts::counts() const {
    ShortcutCounts counts = counts_;
    counts.open = open_.size();
    return counts;
}

void Shortcuts::report(Waits& waits) const {
    if (counts_.made == 0) return;
    waits.counters.push_back(
        fmt::format("shortcuts: {} open, {} tried, {} failed or lost, {} closed for others, {} "
                    "packets sent again by relay\n",
                    open_.size(), counts_.made, counts_.failed, counts_.closed, counts_.resent));
}

}  // namespace torusmp::core
