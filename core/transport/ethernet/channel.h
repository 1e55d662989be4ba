// SPDX-License-Identifier: BSD-3-Clause
// One end of a link whose short packets go in Ethernet frames, and everything else over the TCP
// connection of the same cable: remote writes, long packets, and all packets while frames do not
// get through. The connection is a TcpChannel as in the transport TCP; it follows the rules there,
// and this channel lives and dies with it.
//
// Owned by its EthernetInterface and used under the Runtime's lock.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/transport/common/burst.h"
#include "core/transport/ethernet/forward_program.h"
#include "core/transport/ethernet/ring_socket.h"
#include "core/transport/ethernet/session.h"
#include "core/transport/tcp/channel.h"

namespace torusmp::transport::ethernet {

class EthernetInterface;

inline constexpr int frames_a_poll = 64;

// The capabilities of TCP; only its polls make system calls, and those are few.
inline constexpr Capabilities capabilities{.notifies = tcp::capabilities.notifies,
                                           .separate_links = tcp::capabilities.separate_links,
                                           .reconnects = tcp::capabilities.reconnects,
                                           .renews = tcp::capabilities.renews,
                                           .most_pieces = tcp::capabilities.most_pieces};

class EthernetChannel final : public Channel, private Carrier {
  public:
    EthernetChannel(EthernetInterface& interface, const PortOptions& port,
                    tcp::TcpChannel& connection, unsigned window);

    bool connecting() const override { return connection_.connecting(); }
    bool has_met() const override { return connection_.has_met(); }
    void send(const PacketHeader& header, ConstBytes payload) override;
    void send_parts(const PacketHeader& header, ConstBytes front, ConstBytes payload) override;
    std::byte* reserve(int virtual_channel, std::size_t bytes) override;
    void commit(const PacketHeader& header) override;
    void cork() override { corked_ = true; }
    void grant(CreditWord credits) override;
    CreditWord collect_grants() override;
    bool can_write(const RemoteMemory& remote) const override;
    bool can_ever_write(const RemoteMemory& remote) const override;
    bool write_arriving() const override { return connection_.write_arriving(); }
    Transfer write(const RemoteMemory& remote, std::size_t offset,
                   std::span<const ConstBytes> local, std::uint64_t cookie,
                   std::optional<std::uint64_t> notice) override;
    // A process that is computing does not confirm frames, so only the connection can report this.
    Unanswered unanswered() const override { return connection_.unanswered(); }
    Arrivals arrivals() const override;
    void close(std::string_view why) override;

    // --- for its interface ---
    std::uint32_t port() const { return port_; }
    bool is_over() const { return over_; }
    Session& session() { return session_; }
    const Session& session() const { return session_; }
    const tcp::TcpChannel& connection() const { return connection_; }
    void set_cable(unsigned device) { cable_ = device; }
    // Takes over a socket and its ring, if there is one.
    void attach(std::shared_ptr<RingSocket> ring, const Greeting& own);
    // Attaches frames that the nodes in between forward: the channel uses a ring that all such
    // channels share, and the device by which the frames leave.
    void attach_shared(std::shared_ptr<RingSocket> ring, const Greeting& own, unsigned device,
                       const ForwardHeader& forward);
    // Greets the other end when the connection is open.
    void greet();
    void take_note(Sink& sink, ConstBytes note);
    int take_from_connection(Sink& sink, const PacketHeader& header, const std::byte* payload);
    int receive(Sink& sink);
    // Takes a frame from the shared ring.
    int take_frame(Sink& sink, const std::byte* frame, std::size_t bytes);
    void confirm_in_time(bool came);
    void flush();
    void end();

  private:
    void address_frames(const Mac& to, std::uint16_t type);
    bool suits_connection(std::size_t bytes, bool in_a_row) const;
    void refuse(std::string why);

    bool send_frame(std::byte* frame, std::size_t bytes) override;
    void send_records(std::uint64_t number, CreditWord grants, ConstBytes records) override;
    int on_record(const PacketHeader& header, const std::byte* payload) override;
    void on_grants(CreditWord grants) override;
    void on_fault(std::string_view why) override;

    EthernetInterface& interface_;
    tcp::TcpChannel& connection_;
    const std::uint32_t port_;
    std::shared_ptr<RingSocket> ring_;
    Greeting own_{.version = frame_version};
    // The headers in front of frames, once both ends have greeted.
    std::array<std::byte, forwarded_header_bytes> front_{};
    std::size_t front_bytes_ = ethernet_header_bytes;
    unsigned by_device_ = 0;  // 0 for the device of its own ring
    unsigned cable_ = 0;      // the device of the cable; 0 if packets are forwarded
    bool came_ = false;       // a frame from the shared ring has arrived since the last poll
    Session session_;
    std::optional<std::uint64_t> announced_;  // the number of the connection's next packet
    Sink* sink_ = nullptr;                    // set while something is delivered
    CreditWord granted_ = 0;
    bool corked_ = false;
    bool over_ = false;
    // The number plus one of the last packet that went over the connection, and the poll in which
    // it did.
    std::uint64_t by_connection_ = 0;
    unsigned by_connection_turn_ = 0;
    Burst burst_;
    unsigned quiet_polls_ = 0;
    std::unique_ptr<std::byte[]> reserved_;
};

}  // namespace torusmp::transport::ethernet
