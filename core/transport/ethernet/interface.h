// SPDX-License-Identifier: BSD-3-Clause
// Ethernet between the ends of cables: short packets in frames of our own type, without the IP
// stack; remote writes and long packets over the TCP connections of a TcpInterface, which also
// establishes, monitors and re-establishes the links (core/transport/tcp/companion.h).
//
// Frames cost one system call to send and none to receive. The connections are polled only now and
// then, and more often while data arrives on them. If a rank gets no packet socket, or frames do
// not get through, everything goes over the connections.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/transport/common/alarm.h"
#include "core/transport/ethernet/channel.h"
#include "core/transport/tcp/companion.h"
#include "core/transport/tcp/interface.h"

namespace torusmp::transport::ethernet {

using InterfaceOptions = tcp::InterfaceOptions;

class EthernetInterface final : public Interface, private tcp::Companion, private Sink {
  public:
    // Throws std::runtime_error like a TcpInterface.
    EthernetInterface(const std::vector<PortOptions>& ports, InterfaceOptions options);
    ~EthernetInterface() override;

    std::vector<std::byte> address() const override { return connections_.address(); }
    Channel& connect(ConstBytes peer_address, const ChannelOptions& options) override;
    void say_goodbye() override;
    int poll(Sink& sink) override;
    bool idle() const override;
    std::string statistics() const override;
    RemoteMemory register_memory(Bytes memory, const Channel* channel) override;
    void deregister_memory(const RemoteMemory& memory) override;
    Bytes registered(const RemoteMemory& memory, std::size_t offset, std::size_t bytes) override;
    void* allocate(std::size_t bytes, std::size_t alignment) override;
    void free(void* memory) override;
    void prepare_sleep() override;
    void cancel_sleep() override;
    void sleep(Clock::time_point deadline) override;
    int descriptor() override { return connections_.descriptor(); }
    void wake() noexcept override { connections_.wake(); }

    // The sum of the counters of all sessions of this interface.
    Counters counters() const;
    // Whether packets to that port currently go in frames.
    bool in_frames(std::uint32_t port) const;

    // --- for its channels ---
    const InterfaceOptions& options() const { return options_; }
    bool polling() const { return polling_; }
    unsigned turn() const { return turn_; }  // polls so far
    // The channel has frames for the end of the poll.
    void make_dirty(EthernetChannel& channel);
    // Packets have been taken out of a note.
    void on_taken(int packets) { taken_ += packets; }

  private:
    // A port's socket; it outlives the channels that use it one after another.
    struct Device {
        std::string name;
        unsigned index = 0;  // 0 if there was no such device
        std::shared_ptr<RingSocket> ring;
        std::uint32_t session = 0;
        std::string trouble;  // why the ring could not be opened
        // For a connection that the nodes in between forward, which shares its ring with the
        // others.
        std::optional<routing::Coordinates> far = {};
        EthernetChannel* channel = nullptr;  // the channel that takes forwarded frames
    };

    void open_devices(std::vector<Device*> devices, unsigned frames);
    void attach(EthernetChannel& channel, Device& device);
    int receive_forwarded();
    Device* device_of(std::uint32_t port);
    void flush_dirty();
    void tend(Clock::time_point now);
    int poll_connections(Sink& sink);

    // tcp::Companion
    void on_open(tcp::TcpChannel& connection) override;
    void on_note(tcp::TcpChannel& connection, Sink& sink, ConstBytes note) override;
    int on_packet(tcp::TcpChannel& connection, Sink& sink, const PacketHeader& header,
                  const std::byte* payload) override;
    // The sink of the connections, which passes everything on to the sink of poll().
    Verdict on_packet(Channel& connection, const PacketHeader& header,
                      const std::byte* payload) override;
    void on_notice(Channel& connection, std::uint64_t notice) override;
    void on_transfer(Channel& connection, std::uint64_t cookie, bool ok) override;
    void on_connect(std::uint32_t port) override;
    void on_down(Channel& connection, std::string_view why) override;

    const InterfaceOptions options_;
    const std::vector<PortOptions> ports_;
    std::map<std::uint32_t, Device> devices_;  // by port
    Device forwarded_;                         // shared by all far ports
    tcp::TcpInterface connections_;
    Alarm alarm_;
    // When owed confirmations are due, if still asleep.
    Clock::time_point confirm_at_ = Clock::time_point::max();
    std::vector<std::unique_ptr<EthernetChannel>> channels_;
    // Replaced channels, kept until the end of the poll, which may be about to use them.
    std::vector<std::unique_ptr<EthernetChannel>> replaced_;
    std::vector<EthernetChannel*> dirty_;
    Sink* sink_ = nullptr;  // of the running poll
    int taken_ = 0;         // packets taken through notes in the running poll
    unsigned turn_ = 0;
    unsigned look_mask_ = 0;  // the connections are polled once in this many polls plus one
    std::size_t exposed_ = 0;
    bool polling_ = false;
    Counters counted_;  // of sessions that have ended
};

}  // namespace torusmp::transport::ethernet
