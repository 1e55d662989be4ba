// SPDX-License-Identifier: BSD-3-Clause
// One channel over shared memory: the slot queue that this end fills in the peer's segment, the
// slot queue that the peer fills in ours, and access to the peer's memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "base/cache.h"
#include "base/rate.h"
#include "core/transport/api/interface.h"
#include "core/transport/shm/cross_memory.h"
#include "core/transport/shm/segment.h"

namespace torusmp::transport::shm {

// The opaque part of RemoteMemory.
enum class KeyKind : std::uint64_t { heap = 0x68656170, process = 0x70726f63 };
struct Key {
    KeyKind kind;
    std::uint64_t offset;  // in the heap
};

inline constexpr Capabilities capabilities{
    .reads = true, .reads_at_once = true, .maps = true, .most_pieces = most_pieces};

// One virtual channel in one direction: slot lines used in turn, each stamped with the number of
// the packet in it, and bulk for payload that does not fit into the line. Payloads lie in as many
// blocks as there are slots, or one behind the other (a round): see OutSlotQueue.
class SlotQueue {
  public:
    SlotQueue() = default;
    // `round_bytes` is 0 if payloads are in blocks.
    SlotQueue(std::byte* lines, std::size_t slots, std::size_t bulk_stride, std::size_t round_bytes)
        : lines_(lines),
          bulk_(lines + (slots * line_bytes + 4095) / 4096 * 4096),
          bulk_stride_(bulk_stride),
          round_bytes_(round_bytes),
          slots_(std::uint32_t(slots)) {
        const std::size_t least = (slots + 1) * bulk_stride;
        TORUSMP_ASSERT(round_bytes == 0 || round_bytes >= least, round_bytes, slots, bulk_stride);
        end_of_round_ = least;
    }

    std::byte* line() const { return lines_ + slot_ * line_bytes; }
    std::byte* bulk(std::size_t block) const { return bulk_ + block * bulk_stride_; }
    std::size_t bulk_bytes() const { return bulk_stride_; }
    std::uint32_t slots() const { return slots_; }
    std::uint32_t slot() const { return slot_; }
    bool goes_round() const { return round_bytes_ != 0; }
    // The place of the next payload in the round.
    std::byte* next_in_round(std::size_t bytes) const { return bulk_ + begin_in_round(bytes); }
    // Whether that place has been used before. If not, this use takes the time of page faults.
    bool used_before(std::size_t bytes) const { return begin_in_round(bytes) + bytes <= used_; }
    void pass_in_round(std::size_t bytes) {
        const std::size_t begin = begin_in_round(bytes);
        if (begin < at_) grow();
        at_ = (begin + bytes + unit - 1) / unit * unit;
        used_ = std::max(used_, at_);
    }
    // Whether a packet that arrives can have put its payload beside its line.
    bool has_place(const PacketHeader& header) const {
        if (!goes_round()) return header.length <= bulk_stride_ && header.transport_byte < slots_;
        return room_of(header) <= bulk_stride_;
    }
    // Where the packet that arrives has put its payload. In a round, to be followed by pass().
    std::byte* find(const PacketHeader& header) {
        if (!goes_round()) return bulk(header.transport_byte);
        if ((header.transport_byte & restarts) != 0) restart();
        return next_in_round(room_of(header)) + distance_in(header.transport_byte);
    }
    void pass(const PacketHeader& header) { pass_in_round(room_of(header)); }
    // The bytes that a payload takes in a round.
    static std::size_t room_of(const PacketHeader& header) {
        return distance_in(header.transport_byte) + std::size_t{header.length};
    }
    std::uint32_t stamp() const { return count_ + 1; }
    // Whether the packet whose turn it is has arrived.
    bool filled() const { return written(slot_) == stamp(); }
    // Whether the one behind it has.
    bool next_filled() const { return written(slot_ + 1 == slots_ ? 0 : slot_ + 1) == stamp() + 1; }
    void publish() const {
        std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(line()))
            .store(stamp(), std::memory_order_release);
    }
    void advance() {
        ++count_;
        if (++slot_ == slots_) slot_ = 0;
    }

  protected:
    // A bit of transport_byte, in a round, for a payload with which the round begins anew. The bits
    // above are the distance of the payload from a cache line.
    static constexpr std::uint8_t restarts = 1;
    static constexpr std::size_t distance_in(std::uint8_t transport_byte) {
        return transport_byte & ~unsigned(restarts);
    }
    // The next payload goes to the begin. Precondition: no payload is in use.
    void restart() { at_ = 0; }
    std::size_t at_in_round() const { return at_; }
    std::uint32_t count() const { return count_; }

  private:
    static constexpr std::size_t unit = base::cache_line;  // no two payloads share one
    // The first turn is as short as it may be, so that copies are timed soon. Fresh memory costs
    // page faults, for which short jobs are not paid back, so many turns go through half of the
    // round only.
    void grow() {
        constexpr std::uint32_t many = 1024;
        ++turns_;
        if (turns_ == 1) end_of_round_ = std::max(end_of_round_, round_bytes_ / 2);
        if (turns_ == many) end_of_round_ = round_bytes_;
    }
    // The stamp of a slot, as its writer left it.
    std::uint32_t written(std::uint32_t slot) const {
        return std::atomic_ref<std::uint32_t>(
                   *reinterpret_cast<std::uint32_t*>(lines_ + slot * line_bytes))
            .load(std::memory_order_acquire);
    }
    std::size_t begin_in_round(std::size_t bytes) const {
        return at_ + bytes <= end_of_round_ ? at_ : 0;
    }

    std::byte* lines_ = nullptr;
    std::byte* bulk_ = nullptr;
    std::size_t bulk_stride_ = 0;
    std::size_t round_bytes_ = 0;
    std::size_t end_of_round_ = 0;  // at present
    std::uint32_t turns_ = 0;
    std::size_t at_ = 0;    // behind the last payload of a round
    std::size_t used_ = 0;  // behind the last payload of all so far
    std::uint32_t slots_ = 0;
    std::uint32_t slot_ = 0;   // count_ modulo slots_
    std::uint32_t count_ = 0;  // packets so far
};

// The end that fills a slot queue.
//
// It hands out bulk blocks last in, first out, so that light traffic uses few blocks, which stay in
// the cache, and touches no more memory than it needs. This is best where two ranks take turns on a
// core. If each has a core of its own, a line that the reader still has in its private cache is
// slow to write: payloads then follow each other through more memory than such a cache holds, so
// that both ends find their lines in the cache that they share (`copy_benchmarks`). While only few
// bytes are on their way at a time, this does not matter, and memory that is used for the first
// time costs page faults: such payloads stay in the first pages of the round.
class OutSlotQueue : public SlotQueue {
  public:
    OutSlotQueue() = default;
    OutSlotQueue(std::byte* lines, std::size_t slots, std::size_t bulk_stride,
                 std::size_t round_bytes);

    // Where to put the payload of the next packet; must be followed by advance(). In a round, what
    // follows the first `front` bytes begins on a cache line, if there is room.
    [[gnu::always_inline]] std::byte* payload(std::size_t bytes, std::size_t front = 0) {
        TORUSMP_ASSERT(bytes <= inline_bytes || bytes <= bulk_bytes(), bytes, bulk_bytes());
        if (!goes_round()) return in_block(bytes);
        return bytes <= inline_bytes ? line() + sizeof(PacketHeader) : in_round(bytes, front);
    }
    // Whether the time to write a payload that payload() has placed in the round is typical.
    bool is_timed() const { return goes_round() && !fresh_; }
    // The block of the packet for which payload() was called.
    std::uint8_t block() const { return block_; }
    void advance() {
        ++in_flight_;
        if (!goes_round() && block_ != no_block) {
            TORUSMP_ASSERT(free_count_ != 0 && blocks_[slot()] == no_block, free_count_, slot(),
                           blocks_[slot()], oldest_);
            --free_count_;
            blocks_[slot()] = block_;
        }
        SlotQueue::advance();
    }
    // The packet for which payload(bytes) was called is published: moves its lines to where a
    // reader on another core finds them sooner.
    void hand_over(std::size_t bytes) const {
        if (!goes_round()) return;
        base::demote(line(), sizeof(PacketHeader) + (bytes <= inline_bytes ? bytes : 0));
        if (bytes > inline_bytes && bytes <= most_demoted && in_flight_ == 0)
            base::demote(place_, bytes);
    }
    // Fetches the lines of the next packet, if it is as long as the last one; but not that of its
    // header, on which the reader polls.
    void fetch_next(std::size_t bytes) const {
        if (bytes <= beside_header || bytes > most_fetched_) return;
        if (bytes <= inline_bytes)
            return base::fetch_to_write(line() + base::cache_line, bytes - beside_header);
        base::fetch_to_write(next_in_round(bytes), bytes);
    }
    // The receiver has emptied that many slots, in the order in which they were filled.
    void returned(std::uint32_t slots) {
        returned_ += slots;
        in_flight_ -= slots;
    }

  private:
    static constexpr std::uint8_t no_block = 0xff;
    // Bytes of a payload in the header's line.
    static constexpr std::size_t beside_header = base::cache_line - sizeof(PacketHeader);
    // The most bytes on their way at a time that stay in the first pages, and how many those have.
    static constexpr std::size_t short_burst = std::size_t{128} << 10;
    // More lines than this are written sooner if they stay in this core's cache.
    static constexpr std::size_t most_demoted = 1024;
    std::byte* in_block(std::size_t bytes) {
        // Always, not only if a block is needed: the last block of this slot may just have been
        // returned.
        reclaim();
        if (bytes <= inline_bytes) {
            block_ = no_block;
            return line() + sizeof(PacketHeader);
        }
        TORUSMP_ASSERT(free_count_ != 0, free_count_, slots(), bytes);
        block_ = free_[free_count_ - 1];
        return bulk(block_);
    }
    // The place is free, because the caller holds a credit, so fewer payloads than slots are in
    // use.
    std::byte* in_round(std::size_t bytes, std::size_t front);
    void reclaim() {
        if (returned_ == 0) return;
        if (free_count_ != slots()) return reclaim_blocks();
        oldest_ += std::exchange(returned_, 0);  // no block is in use
        if (oldest_ >= slots()) oldest_ -= slots();
    }
    void reclaim_blocks();

    std::size_t most_fetched_ = 0;
    std::size_t burst_ = 0;       // place of the last payload that was the only one on its way
    std::byte* place_ = nullptr;  // of the last payload in the round
    std::uint32_t last_in_round_ = ~0u;  // the number of its packet
    std::uint8_t block_ = no_block;
    bool fresh_ = true;            // the last place in the round was never used before
    std::uint32_t in_flight_ = 0;  // packets whose slots have not returned
    std::uint32_t free_count_ = 0;
    std::uint32_t returned_ = 0;  // not yet seen by reclaim()
    std::uint32_t oldest_ = 0;    // slot that is returned next
    std::array<std::uint8_t, max_credits> free_{};
    std::array<std::uint8_t, max_credits> blocks_{};  // the bulk block that each slot uses, if any
};
static_assert(offsetof(PacketHeader, stamp) == 0);

class ShmChannel final : public Channel {
  public:
    // `fence` means that a fence is needed between our stores and the check whether the peer
    // sleeps.
    ShmChannel(const Segment& own, Port& local, const Segment& peer, Port& remote, bool fence,
               CrossMemory& cross_memory);

    // Whether a poll would find anything; usually it would not.
    bool has_packets() const {
        for (int k = 0; k < virtual_channels_; ++k)
            if (in_[std::size_t(k)].filled()) return true;
        return false;
    }
    int poll(Sink& sink);
    // Takes part in what the peer copies, if it does.
    void help() { shm::help(remote_.copy, memories_); }
    // Reports a pending copy that has ended.
    void end_copy(Sink& sink);

    void send(const PacketHeader& header, ConstBytes payload) override;
    void send_parts(const PacketHeader& header, ConstBytes front, ConstBytes payload) override;
    std::byte* reserve(int virtual_channel, std::size_t bytes) override;
    void commit(const PacketHeader& header) override;
    void grant(CreditWord credits) override;
    CreditWord collect_grants() override;
    bool can_write(const RemoteMemory& remote) const override;
    bool can_read(const RemoteMemory& remote) const override;
    // Whether the kernel would copy, regardless of whether packets cost less at present.
    bool can_ever_write(const RemoteMemory& remote) const override;
    Transfer write(const RemoteMemory& remote, std::size_t offset,
                   std::span<const ConstBytes> local, std::uint64_t cookie,
                   std::optional<std::uint64_t> notice) override;
    Transfer read(const RemoteMemory& remote, std::size_t offset, std::span<const Bytes> local,
                  std::uint64_t cookie) override;
    std::byte* map(const RemoteMemory& remote, std::size_t offset, std::size_t bytes) override;
    void wake_peer() override { wake_after_news(); }
    void free_peer_memory() override { peer_.discard_program_part(); }
    bool has_peer_memory() const override { return peer_.has_program_part(); }
    // Whether the kernel permits access to the peer's private memory.
    bool reachable() const { return reachable_; }

  private:
    // Publishes the packet whose payload is in place.
    void publish(OutSlotQueue& out, const PacketHeader& header);
    // The peer's heap memory to which `remote` refers, or null.
    std::byte* mapped(const RemoteMemory& remote, std::size_t offset, std::size_t bytes) const;

    bool deliver_bulk(Sink& sink, SlotQueue& queue, const PacketHeader& header);
    // Whether the kernel can copy these bytes of the peer's private memory.
    bool reaches_into(const RemoteMemory& remote, std::size_t offset, std::size_t bytes) const;
    // Whether the kernel should copy a message that would otherwise go through that port.
    bool kernel_pays(std::size_t bytes, const Port& port) const;
    Transfer timed(std::size_t bytes, auto&& copy) const;
    // Whether the peer may take part in the copy.
    bool is_shared(std::size_t bytes, std::size_t pieces, std::uint64_t cookie) const;
    bool may_share(std::size_t pieces, std::uint64_t cookie) const;
    bool is_shared_plainly(const Move& move) const;
    Transfer share(const Move& move, std::uint64_t cookie);

    // The stores must be visible before the check whether the peer sleeps. prepare_sleep() is the
    // counterpart: at least one of the two sees what the other has written.
    void wake_after_news() const {
        if (fence_) std::atomic_thread_fence(std::memory_order_seq_cst);
        // Otherwise the sleeper's membarrier orders the two; only the compiler must not swap them.
        std::atomic_signal_fence(std::memory_order_seq_cst);
        wake_if_asleep();
    }
    void wake_if_asleep() const {
        if (peer_control_.sleeping.load(std::memory_order_seq_cst) != 0) peer_.wake();
    }

    // Credits have returned: the bulk blocks of their slots may be reused.
    void returned(CreditWord credits) {
        out_[0].returned(credits_in(credits, 0));
        for (int k = 1; k < virtual_channels_; ++k)
            out_[std::size_t(k)].returned(credits_in(credits, k));
    }

    std::array<OutSlotQueue, max_virtual_channels> out_{};
    std::array<SlotQueue, max_virtual_channels> in_{};
    std::array<bool, max_virtual_channels>
        delivered_{};  // the packet at the front, which core has held
    int virtual_channels_;
    bool fence_;
    static constexpr unsigned timed_every = 8;
    Rate read_rate_, write_rate_;  // of payloads, at this end
    CrossMemory& cross_memory_;
    BothMemories memories_;
    SharedCopy copy_;
    bool reachable_;
    const Segment& peer_;
    Control& peer_control_;
    Port& local_;   // in our segment; the peer returns credits to us here
    Port& remote_;  // in the peer's segment; we return credits to it here
};

}  // namespace torusmp::transport::shm
