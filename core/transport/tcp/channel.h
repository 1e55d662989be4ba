// One end of a TCP connection: frames out in as few system calls as the load allows, frames in,
// payload of remote writes straight into the memory it is for.
//
// Life: waiting (for the peer's call) or calling -> open -> finished (one of the two said farewell)
// or down. What is sent before it is open waits in the queue; what is sent after it is down is
// swallowed, and Sink::on_down() has told.
//
// Owned by its TcpInterface, used under the Runtime's lock.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "core/transport/address.h"
#include "core/transport/tcp/byte_queue.h"
#include "core/transport/tcp/frame.h"
#include "core/transport/transport.h"

namespace torusmp::transport::tcp {

class TcpInterface;

class TcpChannel final : public Channel {
  public:
    enum class State { waiting, calling, open, finished, down };

    TcpChannel(TcpInterface& interface, const PortOptions& port);

    bool connecting() const override { return state_ < State::open; }
    void send(const PacketHeader& header, ConstBytes payload) override;
    std::byte* reserve(int slot_class, std::size_t bytes) override;
    void commit(const PacketHeader& header) override;
    void grant(TokenWord tokens) override;
    TokenWord collect_grants() override { return std::exchange(granted_, 0); }
    bool can_write(const RemoteMemory& remote) const override;
    bool can_read(const RemoteMemory& /*remote*/) const override { return false; }
    Transfer write(const RemoteMemory& remote, std::size_t offset, ConstBytes local,
                   std::uint64_t cookie) override {
        return start_write({remote.key[0], offset, local, cookie, 0, false, {}}, remote);
    }
    std::size_t most_pieces() const override { return most_gathered; }
    Transfer write_gathered(const RemoteMemory& remote, std::size_t offset,
                            std::span<const ConstBytes> local, std::uint64_t cookie,
                            std::optional<std::uint64_t> notice) override {
        if (local.empty() || local.size() > most_gathered) return Transfer::refused;
        return start_write({remote.key[0],
                            offset,
                            local[0],
                            cookie,
                            notice.value_or(0),
                            notice.has_value(),
                            {local.begin() + 1, local.end()}},
                           remote);
    }
    bool notifies() const override { return true; }
    Transfer write_with_notice(const RemoteMemory& remote, std::size_t offset, ConstBytes local,
                               std::uint64_t cookie, std::uint64_t notice) override {
        return start_write({remote.key[0], offset, local, cookie, notice, true, {}}, remote);
    }
    void cork() override { corked_ = true; }
    Transfer read(const RemoteMemory& /*remote*/, std::size_t /*offset*/, Bytes /*local*/,
                  std::uint64_t /*cookie*/) override {
        return Transfer::refused;
    }
    void ring() override {}
    void close(std::string_view why) override;

  private:
    friend class TcpInterface;

    static constexpr std::size_t most_gathered = 64;

    // A remote write that is not out yet.
    struct Write {
        std::uint64_t memory;  // the peer's id of it
        std::uint64_t offset;
        ConstBytes left;
        std::uint64_t cookie;
        std::uint64_t notice;
        bool notifies;
        std::vector<ConstBytes> behind;  // further stretches of memory, one after the other
        std::size_t next = 0;            // of them

        std::size_t bytes() const;  // in all
        void advance(std::size_t bytes);
        // Calls visit(from, bytes) for the stretches that hold [skip, skip + bytes) of it.
        template <class Visit>
        void stretches(std::size_t skip, std::size_t bytes, Visit&& visit) const;
    };
    // Packets of a class that were held: as many slots as the class has tokens.
    struct Held {
        std::unique_ptr<std::byte[]> slots;
        std::size_t first = 0;
        std::size_t count = 0;
    };
    struct FrameHead {
        PacketHeader header;
        std::uint32_t checksum;
    };

    // --- out ---
    Transfer start_write(Write write, const RemoteMemory& remote);
    std::size_t head_bytes() const;
    FrameHead head_of(const PacketHeader& header, const std::byte* payload) const;
    bool sends_at_once(std::size_t bytes) const;
    void send_frame(const PacketHeader& header, ConstBytes payload);
    void queue_frame(const PacketHeader& header, ConstBytes payload);
    void send_gathered(const FrameHead& head, ConstBytes payload);
    // Gives the socket what it takes.
    void flush();
    bool flush_some();
    void next_piece();
    void piece_out(std::size_t bytes);
    void set_blocked(bool blocked);

    // --- in ---
    int receive(Sink& sink);
    bool receive_some(Sink& sink);
    int offer_held(Sink& sink);
    int parse(Sink& sink);
    bool parse_one(Sink& sink, int& taken);
    bool check(const FrameHead& head) const;
    int deliver(Sink& sink, const PacketHeader& header, const std::byte* payload);
    bool keep(const PacketHeader& header, const std::byte* payload);
    void begin_landing(const PacketHeader& header);
    void land(Sink& sink, std::size_t bytes, const std::byte* from);
    void end_of_stream();

    void open(base::Descriptor socket);
    void say_farewell();
    // Whether the peer's kernel has not answered for so long what this one keeps asking it.
    bool is_unanswered(std::chrono::nanoseconds patience) const;
    // From inside a poll: on_down() is told at its end.
    void fail(std::string why);
    void drop_socket();

    TcpInterface& interface_;
    const PortOptions port_;
    State state_ = State::waiting;
    base::Descriptor socket_;
    std::string name_;  // both ends, for messages
    std::string why_;   // it went down
    bool down_told_ = false;
    std::string device_name_;  // that the connection is bound to; empty: none
    unsigned device_ = 0;      // its index
    std::uint32_t remote_port_ = 0;
    Id peer_{};
    sockaddr_storage from_{};  // for calls
    sockaddr_storage to_{};
    unsigned calls_ = 0;
    unsigned unanswered_looks_ = 0;  // in a row

    ByteQueue out_;
    std::vector<Write> writes_;
    std::size_t first_write_ = 0;
    FrameHead piece_head_{};  // the piece of the first write that is on its way
    std::size_t piece_sent_ = 0;
    std::size_t piece_bytes_ = 0;  // payload of the piece
    bool piece_begun_ = false;     // a piece is on its way
    bool full_ = false;            // the last call took less than it was given
    bool blocked_ = false;         // so the socket is watched for room
    bool corked_ = false;
    bool dirty_ = false;                     // stands in the interface's list of what to flush
    unsigned burst_ = 0;                     // packets sent since poll number
    unsigned burst_turn_ = 0;                // this
    std::unique_ptr<std::byte[]> reserved_;  // where a packet is packed; as large as a slot

    std::unique_ptr<std::byte[]> in_;
    std::size_t in_bytes_ = 0;  // room
    std::size_t in_begin_ = 0;
    std::size_t in_end_ = 0;
    FrameHead landing_{};           // of the write that is arriving
    std::size_t landing_left_ = 0;  // payload of it still to come
    std::uint32_t landing_sum_ = 0;
    std::array<Held, max_slot_classes> held_;
    std::size_t held_count_ = 0;
    TokenWord granted_ = 0;
};

}  // namespace torusmp::transport::tcp
