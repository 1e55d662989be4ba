#include "core/transport/shm/channel.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace torusmp::transport::shm {
namespace {

// Packets taken from one class at one poll: others want their turn too.
constexpr int most_at_once = 16;

template <class Piece>
std::size_t bytes_in(std::span<const Piece> pieces) {
    std::size_t bytes = 0;
    for (const Piece& piece : pieces) bytes += piece.size();
    return bytes;
}

}  // namespace

OutRing::OutRing(std::byte* lines, std::size_t slots, std::size_t bulk_stride)
    : Ring(lines, slots, bulk_stride) {
    for (; free_count_ < slots; ++free_count_)
        free_[free_count_] = std::uint8_t(slots - 1 - free_count_);
    places_.fill(no_place);
}

void OutRing::reclaim() {
    for (; returned_ != 0; --returned_) {
        const std::uint8_t place = places_[oldest_];
        places_[oldest_] = no_place;
        if (place != no_place) free_[free_count_++] = place;
        if (++oldest_ == slots()) oldest_ = 0;
    }
}

ShmChannel::ShmChannel(const Segment& own, Port& local, const Segment& peer, Port& remote,
                       bool fence, CrossMemory& cross_memory)
    : Channel(capabilities),
      classes_(int(local.classes)),
      fence_(fence),
      cross_memory_(cross_memory),
      reachable_(reaches(peer)),
      peer_(peer),
      peer_control_(peer.control()),
      local_(local),
      remote_(remote) {
    for (int k = 0; k < classes_; ++k) {
        in_[k] = Ring(own.at(local.lines[k]), local.slots[k], local.bulk_stride);
        out_[k] = OutRing(peer.at(remote.lines[k]), remote.slots[k], remote.bulk_stride);
    }
}

int ShmChannel::poll(Sink& sink) {
    int taken = 0;
    for (int k = 0; k < classes_; ++k) {
        Ring& ring = in_[k];
        for (int i = 0; i < most_at_once && ring.written() == ring.stamp(); ++i) {
            // A copy: the peer can write to the slot, and what has been checked must stay so.
            PacketHeader header;
            std::memcpy(&header, ring.line(), sizeof header);
            const bool in_line = header.length <= inline_bytes;
            if (!in_line && (header.length > ring.bulk_bytes() || header.place >= ring.slots())) {
                sink.on_down(*this, "a packet claims more bytes than a slot has");
                return taken;
            }
            if (!delivered_[k]) returned(header.grants);
            delivered_[k] = true;
            const std::byte* payload =
                in_line ? ring.line() + sizeof header : ring.bulk(header.place);
            header.slot_class = std::uint8_t(k);
            if (sink.on_packet(*this, header, payload) == Verdict::held) break;
            delivered_[k] = false;
            ring.advance();
            ++taken;
        }
    }
    return taken;
}

void ShmChannel::send(const PacketHeader& header, ConstBytes payload) {
    std::byte* place = out_[header.slot_class].payload(payload.size());
    if (!payload.empty()) std::memcpy(place, payload.data(), payload.size());
    commit(header);
}

std::byte* ShmChannel::reserve(int slot_class, std::size_t bytes) {
    return out_[slot_class].payload(bytes);
}

void ShmChannel::commit(const PacketHeader& header) {
    OutRing& out = out_[header.slot_class];
    // All but the stamp, which says that the rest is there.
    std::memcpy(out.line() + sizeof header.stamp,
                reinterpret_cast<const std::byte*>(&header) + sizeof header.stamp,
                sizeof header - sizeof header.stamp);
    out.line()[offsetof(PacketHeader, place)] = std::byte(out.place());
    out.publish();
    out.advance();
    ring();
}

// "There is news" must be visible before "does it sleep?" is asked. prepare_sleep() is the other
// half: one of the two always sees what the other wrote.
void ShmChannel::ring() {
    if (fence_) std::atomic_thread_fence(std::memory_order_seq_cst);
    // Else the sleeper's membarrier orders the two here; only the compiler must not swap them.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    wake_if_asleep();
}

void ShmChannel::grant(TokenWord tokens) {
    // Ordered before the look in wake_if_asleep(), as that is sequentially consistent too; with the
    // addition that the processor makes anyway, this costs less than a fence.
    remote_.granted.fetch_add(tokens, std::memory_order_seq_cst);
    wake_if_asleep();
}

TokenWord ShmChannel::collect_grants() {
    if (local_.granted.load(std::memory_order_relaxed) == 0) return 0;
    const TokenWord tokens = local_.granted.exchange(0, std::memory_order_acquire);
    returned(tokens);
    return tokens;
}

std::byte* ShmChannel::mapped(const RemoteMemory& remote, std::size_t offset,
                              std::size_t bytes) const {
    const Bytes heap = peer_.heap();
    const std::uint64_t begin = remote.as<Key>().offset;
    if (remote.length > heap.size() || begin > heap.size() - remote.length ||
        offset > remote.length || bytes > remote.length - offset)
        return nullptr;
    return heap.data() + begin + offset;
}

bool ShmChannel::reaches_into(const RemoteMemory& remote, std::size_t offset,
                              std::size_t bytes) const {
    return remote.as<Key>().kind == KeyKind::process && can_write(remote) &&
           offset <= remote.length && bytes <= remote.length - offset;
}

bool ShmChannel::can_write(const RemoteMemory& remote) const {
    const KeyKind kind = remote.as<Key>().kind;
    return kind == KeyKind::heap ||
           (kind == KeyKind::process && reachable_ && cross_memory_.pays());
}

bool ShmChannel::can_read(const RemoteMemory& remote) const {
    return can_write(remote);
}

std::byte* ShmChannel::map(const RemoteMemory& remote, std::size_t offset, std::size_t bytes) {
    return remote.as<Key>().kind == KeyKind::heap ? mapped(remote, offset, bytes) : nullptr;
}

Transfer ShmChannel::write(const RemoteMemory& remote, std::size_t offset,
                           std::span<const ConstBytes> local, std::uint64_t /*cookie*/,
                           std::optional<std::uint64_t> /*notice*/) {
    const std::size_t bytes = bytes_in(local);
    if (std::byte* place = map(remote, offset, bytes)) {
        for (const ConstBytes& piece : local) {
            std::memcpy(place, piece.data(), piece.size());
            place += piece.size();
        }
        return Transfer::done;
    }
    if (!reaches_into(remote, offset, bytes)) return Transfer::refused;
    return copy_to(pid_t(peer_.address().pid), remote.address + offset, local);
}

Transfer ShmChannel::read(const RemoteMemory& remote, std::size_t offset,
                          std::span<const Bytes> local, std::uint64_t /*cookie*/) {
    const std::size_t bytes = bytes_in(local);
    if (const std::byte* place = map(remote, offset, bytes)) {
        for (const Bytes& piece : local) {
            std::memcpy(piece.data(), place, piece.size());
            place += piece.size();
        }
        return Transfer::done;
    }
    if (!reaches_into(remote, offset, bytes)) return Transfer::refused;
    return copy_from(pid_t(peer_.address().pid), remote.address + offset, local);
}

}  // namespace torusmp::transport::shm
