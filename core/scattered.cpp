// Large messages of which one end does not lie in one block, and the other end's memory can be
// reached: packed straight into it, or written and read in pieces, so that no copy is made on the
// way. Where both ends are scattered, or the pieces are short, packets carry the message: packing
// into them costs less than the pieces would.
#include <array>
#include <optional>

#include "core/runtime.h"

namespace torusmp::core {

using transport::Bytes;
using transport::ConstBytes;
using transport::RemoteMemory;
using transport::Transfer;

namespace {

// Shorter pieces cost the kernel more than their copy costs us.
constexpr std::size_t worth_a_piece = 1024;
constexpr std::size_t most_together = 64;

// The next pieces of the message from byte `from` on, as many as one call takes.
template <class Piece>
class Batch {
  public:
    Batch(const Buffer& buffer, std::size_t from, std::size_t bytes, std::size_t most) {
        std::array<Layout::Piece, most_together> found;
        const Layout::Pieces pieces = buffer.layout->pieces(
            from, bytes, std::span(found).first(std::min(most, most_together)));
        for (; count_ < pieces.count; ++count_)
            memory_[count_] =
                Piece(displaced(buffer.base, found[count_].offset), found[count_].bytes);
        bytes_ = pieces.bytes;
    }
    std::span<const Piece> pieces() const { return {memory_.data(), count_}; }
    std::size_t bytes() const { return bytes_; }

  private:
    std::array<Piece, most_together> memory_;
    std::size_t count_ = 0;
    std::size_t bytes_ = 0;
};

}  // namespace

Transfer Runtime::write_layout(SendRequest& request, Connection& connection,
                               const RemoteMemory& memory) {
    const Buffer& buffer = request.buffer_;
    if (std::byte* const place = connection.channel->map(memory, 0, buffer.bytes)) {
        buffer.pack(0, place, buffer.bytes);
        request.parts_ = 1;
        connection.statistics.bytes_written += buffer.bytes;
        return Transfer::done;
    }
    if (connection.channel->most_pieces() == 0 || buffer.layout->mean_block() < worth_a_piece)
        return Transfer::refused;
    // Two cables carry more than one: packets go over both.
    Cables links{};
    if (request.link_ == nullptr && buffer.bytes >= options_.spread_limit &&
        links_to(peers_[connection.peer], links) > 1)
        return Transfer::refused;
    return write_pieces(request, connection, memory);
}

// As many writes as the pieces need, all at once; the last of them tells, where writes can.
Transfer Runtime::write_pieces(SendRequest& request, Connection& connection,
                               const RemoteMemory& memory) {
    transport::Channel& channel = *connection.channel;
    const Buffer& buffer = request.buffer_;
    if (request.departure_ == 0) request.departure_ = departures_.add(request);
    request.parts_ = 1;
    request.part_failed_ = false;
    request.parts_left_ = 0;
    const std::uint64_t notice = request.landing_ | std::uint64_t(request.parts_) << 32;
    for (std::size_t from = 0; from < buffer.bytes;) {
        const Batch<ConstBytes> batch(buffer, from, buffer.bytes - from, channel.most_pieces());
        const bool last = from + batch.bytes() == buffer.bytes;
        const Transfer transfer = channel.write_gathered(
            memory, from, batch.pieces(), request.departure_,
            last && channel.notifies() ? std::optional(notice) : std::nullopt);
        if (transfer == Transfer::refused) {
            if (request.parts_left_ == 0) return transfer;
            // The link has failed behind those that are under way; their end ends the message.
            request.part_failed_ = true;
            return Transfer::pending;
        }
        if (transfer == Transfer::pending) ++request.parts_left_;
        from += batch.bytes();
    }
    connection.statistics.bytes_written += buffer.bytes;
    return request.parts_left_ == 0 ? Transfer::done : Transfer::pending;
}

// The other way round: the sender's memory is one block and ours is not.
Transfer Runtime::read_layout(ReceiveRequest& request, Connection& connection,
                              const RemoteMemory& memory, std::size_t bytes) {
    transport::Channel& channel = *connection.channel;
    const Buffer& buffer = request.buffer_;
    if (const std::byte* const place = channel.map(memory, 0, bytes)) {
        buffer.unpack(0, place, bytes);
        return Transfer::done;
    }
    if (channel.most_pieces() == 0 || buffer.layout->mean_block() < worth_a_piece)
        return Transfer::refused;
    for (std::size_t from = 0; from < bytes;) {
        const Batch<Bytes> batch(buffer, from, bytes - from, channel.most_pieces());
        if (channel.read_scattered(memory, from, batch.pieces()) != Transfer::done)
            return Transfer::refused;
        from += batch.bytes();
    }
    return Transfer::done;
}

}  // namespace torusmp::core
