// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/shm/channel.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "base/assert.h"
#include "base/copy.h"

namespace torusmp::transport::shm {
namespace {

// The most packets taken from one virtual channel in one poll, so that the others get their turn.
constexpr int most_at_once = 16;

using Word = std::uint64_t;

// Copies all words of a header but the first. Word by word, as they were stored just before: a load
// of several would wait until all of their stores have left the core.
[[gnu::always_inline]] inline void copy_words(std::byte* to, const std::byte* from) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < sizeof(PacketHeader) / sizeof(Word) - 1; ++i) {
        Word word = 0;
        std::memcpy(&word, from + i * sizeof word, sizeof word);
        asm("" : "+r"(word));  // prevents the compiler from joining two of them
        std::memcpy(to + i * sizeof word, &word, sizeof word);
    }
}

template <class Piece>
std::size_t bytes_in(std::span<const Piece> pieces) {
    std::size_t bytes = 0;
    for (const Piece& piece : pieces) bytes += piece.size();
    return bytes;
}

std::uint64_t address_of(std::span<const std::byte> memory) {
    return std::uint64_t(reinterpret_cast<std::uintptr_t>(memory.data()));
}

}  // namespace

OutSlotQueue::OutSlotQueue(std::byte* lines, std::size_t slots, std::size_t bulk_stride,
                           std::size_t round_bytes)
    : SlotQueue(lines, slots, bulk_stride, round_bytes) {
    for (; free_count_ < slots; ++free_count_)
        free_[free_count_] = std::uint8_t(slots - 1 - free_count_);
    blocks_.fill(no_block);
    if (goes_round()) most_fetched_ = base::most_fetched();
}

std::byte* OutSlotQueue::in_round(std::size_t bytes, std::size_t front) {
    block_ = 0;
    const bool alone = in_flight_ < count() - last_in_round_;
    if (alone && at_in_round() >= short_burst && at_in_round() - burst_ <= short_burst) {
        restart();
        block_ = restarts;
    }
    if (alone) burst_ = at_in_round();
    last_in_round_ = count();
    std::size_t distance = (0 - front) % base::cache_line & ~std::size_t{restarts};
    if (distance + bytes > bulk_bytes()) distance = 0;
    block_ = std::uint8_t(block_ | distance);
    const std::size_t whole = distance + bytes;
    place_ = next_in_round(whole) + distance;
    fresh_ = !used_before(whole);
    pass_in_round(whole);
    return place_;
}

void OutSlotQueue::reclaim_blocks() {
    for (; returned_ != 0; --returned_) {
        TORUSMP_ASSERT(oldest_ < slots() && free_count_ <= slots(), oldest_, free_count_, slots());
        const std::uint8_t block = blocks_[oldest_];
        blocks_[oldest_] = no_block;
        if (block != no_block) free_[free_count_++] = block;
        if (++oldest_ == slots()) oldest_ = 0;
    }
}

ShmChannel::ShmChannel(const Segment& own, Port& local, const Segment& peer, Port& remote,
                       bool fence, CrossMemory& cross_memory)
    : Channel(capabilities),
      virtual_channels_(int(local.virtual_channels)),
      fence_(fence),
      read_rate_(local.read_rate, timed_every),
      write_rate_(remote.write_rate, timed_every),
      cross_memory_(cross_memory),
      memories_{pid_t(peer.address().pid), own.heap(), peer.heap(), peer.control().heap_address},
      copy_(local.copy, memories_),
      reachable_(reaches(peer)),
      peer_(peer),
      peer_control_(peer.control()),
      local_(local),
      remote_(remote) {
    for (int k = 0; k < virtual_channels_; ++k) {
        in_[k] = SlotQueue(own.at(local.lines[k]), local.slots[k], local.bulk_stride,
                           k == 0 ? local.round_bytes : 0);
        out_[k] = OutSlotQueue(peer.at(remote.lines[k]), remote.slots[k], remote.bulk_stride,
                               k == 0 ? remote.round_bytes : 0);
    }
}

// Returns whether core has held the packet.
bool ShmChannel::deliver_bulk(Sink& sink, SlotQueue& queue, const PacketHeader& header) {
    const std::byte* const payload = queue.find(header);
    if (!queue.goes_round()) return sink.on_packet(*this, header, payload) == Verdict::held;
    bool held = false;
    {
        const bool timed = queue.used_before(SlotQueue::room_of(header));
        const Rate::Sample sample(timed ? read_rate_.due(header.length) : nullptr, header.length);
        held = sink.on_packet(*this, header, payload) == Verdict::held;
    }
    if (!held) queue.pass(header);
    return held;
}

int ShmChannel::poll(Sink& sink) {
    int taken = 0;
    for (int k = 0; k < virtual_channels_; ++k) {
        SlotQueue& queue = in_[k];
        for (int i = 0; i < most_at_once && queue.filled(); ++i) {
            // A copy, because the peer can write to the slot and checked values must not change.
            PacketHeader header;
            std::memcpy(&header, queue.line(), sizeof header);
            const bool in_line = header.length <= inline_bytes;
            if (!in_line && !queue.has_place(header)) {
                sink.on_down(*this, "a packet is longer than its slot");
                return taken;
            }
            if (header.grants != 0 && !delivered_[k]) returned(header.grants);
            header.virtual_channel = std::uint8_t(k);
            delivered_[k] = in_line ? sink.on_packet(*this, header, queue.line() + sizeof header) ==
                                          Verdict::held
                                    : deliver_bulk(sink, queue, header);
            if (delivered_[k]) break;
            queue.advance();
            ++taken;
        }
    }
    return taken;
}

[[gnu::always_inline]] inline void ShmChannel::publish(OutSlotQueue& out,
                                                       const PacketHeader& header) {
    // Everything but the stamp, which publishes the rest.
    std::byte* const line = out.line();
    std::memcpy(line + sizeof header.stamp, &header.length, sizeof header.length);
    copy_words(line + sizeof(Word), reinterpret_cast<const std::byte*>(&header) + sizeof(Word));
    line[offsetof(PacketHeader, transport_byte)] = std::byte(out.block());
    out.publish();
    out.hand_over(header.length);
    out.advance();
    wake_after_news();
    out.fetch_next(header.length);
}

void ShmChannel::send(const PacketHeader& header, ConstBytes payload) {
    TORUSMP_ASSERT(header.virtual_channel < virtual_channels_ && header.length == payload.size(),
                   header.kind, header.virtual_channel, header.length, payload.size());
    OutSlotQueue& out = out_[header.virtual_channel];
    base::copy(out.payload(payload.size()), payload.data(), payload.size());
    publish(out, header);
}

void ShmChannel::send_parts(const PacketHeader& header, ConstBytes front, ConstBytes payload) {
    OutSlotQueue& out = out_[header.virtual_channel];
    std::byte* const slot = out.payload(front.size() + payload.size(), front.size());
    {
        const Rate::Sample sample(out.is_timed() ? write_rate_.due(payload.size()) : nullptr,
                                  payload.size());
        std::copy(payload.begin(), payload.end(), std::copy(front.begin(), front.end(), slot));
    }
    publish(out, header);
}

std::byte* ShmChannel::reserve(int virtual_channel, std::size_t bytes) {
    TORUSMP_ASSERT(virtual_channel < virtual_channels_, virtual_channel, bytes);
    return out_[virtual_channel].payload(bytes);
}

void ShmChannel::commit(const PacketHeader& header) {
    publish(out_[header.virtual_channel], header);
}

void ShmChannel::grant(CreditWord credits) {
    // Ordered before the check in wake_if_asleep(), which is sequentially consistent too; as the
    // addition is needed in any case, this costs less than a fence.
    remote_.granted.fetch_add(credits, std::memory_order_seq_cst);
    wake_if_asleep();
}

CreditWord ShmChannel::collect_grants() {
    if (local_.granted.load(std::memory_order_relaxed) == 0) return 0;
    const CreditWord credits = local_.granted.exchange(0, std::memory_order_acquire);
    returned(credits);
    return credits;
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
    return remote.as<Key>().kind == KeyKind::process && can_ever_write(remote) &&
           offset <= remote.length && bytes <= remote.length - offset;
}

bool ShmChannel::can_ever_write(const RemoteMemory& remote) const {
    return remote.as<Key>().kind == KeyKind::heap || (reachable_ && cross_memory_.allowed());
}

bool ShmChannel::kernel_pays(std::size_t bytes, const Port& port) const {
    return cross_memory_.pays(bytes, {.payload = std::size_t(port.bulk_stride),
                                      .read = port.read_rate.load(std::memory_order_relaxed),
                                      .write = port.write_rate.load(std::memory_order_relaxed)});
}

bool ShmChannel::can_write(const RemoteMemory& remote) const {
    const KeyKind kind = remote.as<Key>().kind;
    if (kind != KeyKind::process || !reachable_) return kind == KeyKind::heap;
    return kernel_pays(remote.length, remote_);
}

bool ShmChannel::can_read(const RemoteMemory& remote) const {
    const KeyKind kind = remote.as<Key>().kind;
    if (kind != KeyKind::process || !reachable_) return kind == KeyKind::heap;
    return kernel_pays(remote.length, local_);
}

Transfer ShmChannel::timed(std::size_t bytes, auto&& copy) const {
    const auto begin = Clock::now();
    const Transfer transfer = copy();
    if (transfer == Transfer::done) cross_memory_.copied(bytes, Clock::now() - begin);
    return transfer;
}

// Whether a copy between two heaps is long enough for both ends.
bool ShmChannel::is_shared_plainly(const Move& move) const {
    return move.bytes >= SharedCopy::shortest_plain && cross_memory_.is_shared(move.bytes, false) &&
           memories_.is_plain(move.own(), move.others(), move.bytes);
}

// Core waits for the end of copies that have a cookie.
bool ShmChannel::may_share(std::size_t pieces, std::uint64_t cookie) const {
    return pieces == 1 && cookie != 0 && !copy_.busy();
}

// In a stream of short messages, to share each
// costs more than it gains.
bool ShmChannel::is_shared(std::size_t bytes, std::size_t pieces, std::uint64_t cookie) const {
    return may_share(pieces, cookie) && cross_memory_.is_shared(bytes, in_[0].next_filled());
}

Transfer ShmChannel::share(const Move& move, std::uint64_t cookie) {
    const Transfer transfer = copy_.run(
        move, cookie, [&] { peer_control_.calls.fetch_add(1, std::memory_order_release); });
    if (transfer == Transfer::pending) ++cross_memory_.pending;
    return transfer == Transfer::done && !peer_.has_program_part() ? Transfer::refused : transfer;
}

void ShmChannel::end_copy(Sink& sink) {
    const auto ended = copy_.poll();
    if (!ended) return;
    --cross_memory_.pending;
    sink.on_transfer(*this, ended->cookie, ended->ok && peer_.has_program_part());
}

std::byte* ShmChannel::map(const RemoteMemory& remote, std::size_t offset, std::size_t bytes) {
    return remote.as<Key>().kind == KeyKind::heap ? mapped(remote, offset, bytes) : nullptr;
}

Transfer ShmChannel::write(const RemoteMemory& remote, std::size_t offset,
                           std::span<const ConstBytes> local, std::uint64_t cookie,
                           std::optional<std::uint64_t> /*notice*/) {
    const std::size_t bytes = bytes_in(local);
    if (std::byte* block = map(remote, offset, bytes)) {
        if (may_share(local.size(), cookie)) {
            const Move move{address_of(local[0]), remote.address + offset, bytes, false};
            if (is_shared_plainly(move)) return share(move, cookie);
        }
        for (const ConstBytes& piece : local) {
            std::memcpy(block, piece.data(), piece.size());
            block += piece.size();
        }
        return Transfer::done;
    }
    if (!reaches_into(remote, offset, bytes)) return Transfer::refused;
    return timed(bytes, [&] {
        if (is_shared(bytes, local.size(), cookie))
            return share({address_of(local[0]), remote.address + offset, bytes, false}, cookie);
        return copy_to(pid_t(peer_.address().pid), remote.address + offset, local);
    });
}

Transfer ShmChannel::read(const RemoteMemory& remote, std::size_t offset,
                          std::span<const Bytes> local, std::uint64_t cookie) {
    const std::size_t bytes = bytes_in(local);
    if (const std::byte* block = map(remote, offset, bytes)) {
        if (may_share(local.size(), cookie)) {
            const Move move{remote.address + offset, address_of(local[0]), bytes, true};
            if (is_shared_plainly(move)) return share(move, cookie);
        }
        for (const Bytes& piece : local) {
            std::memcpy(piece.data(), block, piece.size());
            block += piece.size();
        }
        return peer_.has_program_part() ? Transfer::done : Transfer::refused;
    }
    if (!reaches_into(remote, offset, bytes)) return Transfer::refused;
    return timed(bytes, [&] {
        if (is_shared(bytes, local.size(), cookie))
            return share({remote.address + offset, address_of(local[0]), bytes, true}, cookie);
        return copy_from(pid_t(peer_.address().pid), remote.address + offset, local);
    });
}

}  // namespace torusmp::transport::shm
