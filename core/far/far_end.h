// SPDX-License-Identifier: BSD-3-Clause
// One end of the connection to a rank beyond the links, in a job that continues after deaths. Core
// uses it as the channel of that connection. It keeps a copy of each packet until the other end has
// taken it, because a relay that dies takes packets with it. When the paths change, it sends again
// what is not known to be taken, in order; the other end drops what it has.
//
// Owned by FarEnds and used under the Runtime's lock.
#pragma once

#include <cstdint>
#include <vector>

#include "core/connection/packet_sender.h"

namespace torusmp::core {

class FarEnd final : public transport::Channel, public Outgoing {
  public:
    // `deaths` is the number of ranks that are known to be dead.
    FarEnd(Commons& commons, PacketSender& sender, Connection& connection,
           const std::uint32_t& deaths)
        : Channel(nothing),
          commons_(commons),
          sender_(sender),
          connection_(connection),
          deaths_(deaths) {}
    ~FarEnd() override { forget(); }

    // Packets leave over that link from now on. Null: they are only kept.
    void leave_by(Connection* link);
    // Sends what this end has taken, and again all that is not known to be taken.
    void send_again();
    // The peer is lost: frees the packets.
    void forget();

    // Whether `taken` is possible. Frees the packets that it confirms.
    bool confirm(std::uint32_t taken);
    enum class Turn { next, again, early };
    // The turn of an arrived packet, which is taken if it is the next.
    Turn take(std::uint32_t number) {
        if (number == taken_) {
            ++taken_;
            return Turn::next;
        }
        return std::int32_t(number - taken_) < 0 ? Turn::again : Turn::early;
    }

    Connection& connection() const { return connection_; }
    std::uint32_t sent() const { return sent_; }
    std::uint32_t taken() const { return taken_; }
    std::uint32_t unconfirmed() const { return sent_ - confirmed_; }

    // --- transport::Channel ---
    void send(const transport::PacketHeader& header, transport::ConstBytes payload) override;
    std::byte* reserve(int virtual_channel, std::size_t bytes) override;
    void commit(const transport::PacketHeader& header) override;
    // The envelope of a receipt contains the credits, as the number of all packets taken.
    void grant(transport::CreditWord credits) override;
    transport::CreditWord collect_grants() override;

    // --- Outgoing: in the queue of the link while a packet waits for a credit there ---
    bool emit(Connection& link) override;
    void drop(Error /*error*/) override { waits_ = false; }

  private:
    // A packet with its envelope, in memory of the pool.
    struct Packet {
        transport::PacketHeader header{};
        std::byte* payload = nullptr;
    };

    Packet& place_of(std::uint32_t number) { return kept_[number % kept_.size()]; }
    std::byte* room(std::size_t bytes) {
        return static_cast<std::byte*>(commons_.pool.take(bytes + sizeof(Envelope)));
    }
    void keep(const transport::PacketHeader& header, std::byte* payload);
    void seal(std::byte* envelope, std::uint32_t number) const;
    void send_next();
    void pump();
    void free(Packet& packet);

    static constexpr transport::Capabilities nothing{};

    Commons& commons_;
    PacketSender& sender_;
    Connection& connection_;
    const std::uint32_t& deaths_;
    Connection* link_ = nullptr;
    // A place for each credit, from the first packet on; a power of two, as numbers begin again.
    std::vector<Packet> kept_;
    std::byte* reserved_ = nullptr;
    bool waits_ = false;                      // is in the queue of the link
    std::uint32_t sent_ = 0, confirmed_ = 0;  // packets of this end
    std::uint32_t next_ = 0;                  // the one that leaves next on the present path
    std::uint32_t taken_ = 0;                 // packets of the other end
    unsigned collectable_ = 0;                // credits that have returned since the last look
};

}  // namespace torusmp::core
