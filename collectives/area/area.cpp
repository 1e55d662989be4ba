// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/area/area.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <span>

#include "base/assert.h"
#include "collectives/group/group.h"

namespace torusmp::collectives {
namespace {

// The cost of a message for its receiver, without the copy, in µs.
constexpr double message_time = 3;
// Of long copies, one in so many is timed: the clock takes as long as a copy of 2 KiB.
constexpr unsigned timed_every = 8;

}  // namespace

// The message from the member at place 0 to all others.
struct Area::Setup {
    core::SharedMemory::Name name;  // length 0: there is none
    std::uint64_t before;           // areas with that tag
    std::uint64_t largest;
    std::uint64_t moves;  // 1: contents move through the large buffers
};

// The messages that set up the area.
struct Area::Opening {
    std::deque<Setup> setups;
    std::deque<core::SendRequest> sends;
    core::ReceiveRequest receive;

    bool complete() const {
        return receive.complete() && std::all_of(sends.begin(), sends.end(),
                                                 [](const auto& send) { return send.complete(); });
    }
};

Area::Area(Group& group, core::Tag tag, unsigned slots, std::uint64_t before)
    : group_(group),
      tag_(tag),
      before_(before),
      mask_(slots - 1),
      room_mask_(std::min(slots, most_rooms) - 1),
      room_bytes_(room_bytes(group.size())),
      member_(group.member()),
      size_(group.size()),
      words_((group.size() + 63) / 64),
      largest_(large_bytes(group.size(), slots)),
      uses_(slots),
      room_uses_(room_mask_ + 1) {
    const auto lock = group.runtime().lock();
    block_.emplace(group.runtime().shared());
}

Area::~Area() {
    if (!block_->usable()) return;
    core::Runtime& runtime = group_.runtime();
    if (opening_ != nullptr && !opening_->complete()) {
        runtime.cancel(opening_->receive);
        // A member that has not called yet what this one has completed still needs its message.
        if (!others_receive_)
            for (core::SendRequest& send : opening_->sends) runtime.cancel(send);
        runtime.wait_until([this] { return opening_->complete(); }, "the end of a group");
    }
    const auto lock = runtime.lock();
    block_.reset();
}

bool Area::fits(const Group& group) {
    return group.direct() && group.size() > 1 && group.size() <= most_members &&
           group.runtime().shared().possible();
}

// Layout behind the head: a line for each member, then the rings, then the rooms and large buffers
// for contents that do not fit in a slot; these use memory only once they are touched.
std::size_t Area::rings_bytes() const {
    return sizeof(Head) + std::size_t(size_) * (sizeof(Progress) + (mask_ + 1) * sizeof(Slot)) +
           steps_bytes();
}

std::size_t Area::steps_bytes() const {
    return std::size_t(size_) * (mask_ + 1) * sizeof(std::uint64_t);
}

std::size_t Area::rooms_bytes() const {
    return std::size_t(size_) * (room_mask_ + 1) * room_bytes_;
}

void Area::use(std::byte* memory, std::size_t largest, bool moves) {
    head_ = reinterpret_cast<Head*>(memory);
    progress_ = reinterpret_cast<Progress*>(memory + sizeof(Head));
    slots_ = reinterpret_cast<Slot*>(progress_ + size_);
    steps_ =
        reinterpret_cast<std::atomic<std::uint64_t>*>(slots_ + std::size_t(size_) * (mask_ + 1));
    rooms_ = memory + rings_bytes();
    large_buffers_ = rooms_ + rooms_bytes();
    must_fence_ = group_.runtime().shared().must_fence();
    largest_ = largest;
    if (moves) span_ = std::min(largest, most_moving / large_buffers / std::size_t(size_));
    write_rate_.emplace(progress_[member_].write_rate, timed_every);
    read_rate_.emplace(progress_[member_].read_rate, timed_every);
    state_ = State::ready;
}

void Area::do_without() {
    largest_ = 0;
    state_ = State::absent;
}

void Area::open() {
    core::Runtime& runtime = group_.runtime();
    const core::Rank maker = group_.rank_of(group_.member_at(0));
    opening_ = std::make_unique<Opening>();
    Opening& opening = *opening_;
    if (maker != runtime.rank()) {
        state_ = State::opening;
        opening.setups.emplace_back();
        return await_setup();
    }
    const bool moves = group_.situation() == Situation::host && size_ <= most_movers;
    const std::size_t least = rings_bytes() + rooms_bytes();
    const std::size_t with_large = least + std::size_t(size_) * large_buffers * largest_;
    if (runtime.shared().make(*block_, with_large, size_ - 1))
        use(block_->memory(), largest_, moves);
    else if (runtime.shared().make(*block_, least, size_ - 1))
        use(block_->memory(), room_bytes_, false);
    else
        do_without();
    if (largest_ != 0) std::memset(block_->memory(), 0, rings_bytes());
    for (const core::Rank rank : group_.members()) {
        if (rank == maker) continue;
        Setup& setup = opening.setups.emplace_back(Setup{{}, before_, largest_, span_ != 0});
        if (largest_ != 0) setup.name = runtime.shared().name_for(*block_, rank);
        runtime.send(opening.sends.emplace_back(), {&setup, sizeof setup}, rank, group_.context(),
                     tag_);
    }
}

void Area::await_setup() {
    Setup& setup = opening_->setups.front();
    group_.runtime().receive(opening_->receive, {&setup, sizeof setup},
                             group_.rank_of(group_.member_at(0)), group_.context(), tag_);
}

bool Area::check_creation() {
    if (state_ == State::closed) open();
    if (state_ != State::opening) return true;
    const Setup& setup = opening_->setups.front();
    const core::Rank maker = opening_->receive.peer();
    for (;;) {
        if (!opening_->receive.complete()) return false;
        if (opening_->receive.status().error != core::Error::none)
            return false;  // a fault ends the call
        if (setup.before == before_) break;
        throw_away(setup, maker);
        await_setup();
    }
    if (setup.name.length != 0 && group_.runtime().shared().map(*block_, maker, setup.name))
        use(block_->memory(), std::size_t(setup.largest), setup.moves != 0);
    else
        do_without();
    opening_.reset();
    return true;
}

// Releases an area that this member never used: its creator waits for this before it frees the
// memory.
void Area::throw_away(const Setup& setup, core::Rank maker) {
    core::SharedBlock block(group_.runtime().shared());
    if (setup.name.length != 0) group_.runtime().shared().map(block, maker, setup.name);
}

// Successive calls use different large buffers, so a call never waits for a later one. Within its
// buffer the place depends on the number of the call and on the size, rounded to a power of two.
std::size_t Area::begin_in_large(std::uint64_t call, std::size_t bytes) const {
    const std::size_t stride = std::bit_ceil(bytes);
    if (2 * stride > span_) return 0;
    return std::size_t(call / large_buffers) % (span_ / stride) * stride;
}

std::byte* Area::large_place(int member, std::uint64_t call, std::size_t bytes) const {
    const std::size_t buffer = std::size_t(member) * large_buffers + call % large_buffers;
    return large_buffers_ + buffer * largest_ + begin_in_large(call, bytes);
}

std::byte* Area::claim_large(std::uint64_t call, std::size_t bytes, int reader) {
    if (call >= active_.front() + large_buffers) return nullptr;
    populate();
    Use& use = uses_[call & mask_];
    if (!is_past(use) && !look_past(use)) return nullptr;
    const std::size_t part = (largest_ + large_parts - 1) / large_parts;
    const std::size_t begin = begin_in_large(call, bytes);
    auto& parts = large_uses_[call % large_buffers];
    const std::span<Use> taken(&parts[begin / part], &parts[(begin + bytes - 1) / part] + 1);
    for (const Use& before : taken)
        if (!is_past(before) && !look_past(before)) return nullptr;
    std::fill(taken.begin(), taken.end(), Use{call, reader});
    use = {call, reader};
    set_grown(call, largest_);
    return large_place(member_, call, bytes);
}

// There are few large buffers, so their writers must learn soon that this reader is done. Small
// calls in between cost nothing extra.
std::byte* Area::read_large(int member, std::uint64_t call, std::size_t bytes) {
    populate();
    tell_soon(call);
    return large_place(member, call, bytes);
}

// Contents that move touch new pages for many calls, whose page faults would take longer than the
// copies.
void Area::populate() {
    if (populated_ || span_ == 0) return;
    for (std::size_t buffer = 0; buffer < std::size_t(size_) * large_buffers; ++buffer)
        core::SharedMemory::populate({large_buffers_ + buffer * largest_, span_});
    populated_ = true;
}

// If the reader is not known to have read, its rate is taken to be this member's.
std::uint32_t Area::slowest_reader(int reader) const {
    std::uint32_t slowest = 0;
    for (int member = 0; member < size_; ++member) {
        if (member == member_ || (reader != all && reader != member)) continue;
        const std::uint32_t rate = progress_[member].read_rate.load(std::memory_order_relaxed);
        if (rate != 0) slowest = slowest == 0 ? rate : std::min(slowest, rate);
    }
    return slowest != 0 ? slowest : progress_[member_].write_rate.load(std::memory_order_relaxed);
}

bool Area::messages_pay(int reader, std::size_t written, int blocks, std::size_t block, bool grow) {
    if (block < long_bytes || span_ == 0) return false;
    const double by_kernel = group_.runtime().shared().copy_rate();
    const double write = progress_[member_].write_rate.load(std::memory_order_relaxed);
    if (by_kernel == 0 || write == 0) return false;
    const double blocks_read = double(blocks) * double(block);
    const double writing = double(written) / write;
    const double reading = blocks_read / slowest_reader(reader);
    const double here = grow ? std::max(writing, reading) : writing + reading;
    const double sent = blocks_read / by_kernel + blocks * message_time;
    return messages_.is_faster(here / sent) && !messages_.tries_ours();
}

void Area::tell_soon(std::uint64_t call) {
    large_call_ = std::max(large_call_, call);
    say_at_ = std::min(say_at_, call);
}

// The parts of a call over hosts have the numbers after its own.
void Area::leave_early(std::uint64_t call) {
    tell_soon(call + Hosts::parts_inside - 1);
}

void Area::leave_one(std::uint64_t call) {
    TORUSMP_ASSERT(std::count(active_.begin(), active_.end(), call) == 1, call, active_.size(),
                   member_);
    const bool oldest = active_.front() == call;
    active_.erase(std::find(active_.begin(), active_.end(), call));
    if (oldest) say_done(active_.empty() ? newest_ : active_.front() - 1);
    // Another thread may sleep for other calls that are in progress.
    if (asleep_ && active_.empty()) set_asleep(false);
    // The call failed before there was an area: the next one tries again.
    if (state_ != State::opening || !active_.empty()) return;
    group_.runtime().cancel(opening_->receive);
    if (!opening_->receive.complete()) return;
    if (opening_->receive.status().error == core::Error::none) return;  // it has just arrived
    opening_.reset();
    state_ = State::closed;
}

// The other members are informed every few calls, unless large buffers are used. This is soon
// enough: a member that waits for a slot waits for calls one whole ring ago, and each member takes
// part in this call, too.
void Area::say_done(std::uint64_t call) {
    if (call < say_at_ || state_ != State::ready || !block_->usable()) return;
    const std::uint64_t step = (room_mask_ + 1) / 2;
    say_at_ = (call / step + 1) * step;
    if (large_call_ > call) say_at_ = std::min(say_at_, large_call_);
    TORUSMP_ASSERT(progress_[member_].done.load(std::memory_order_relaxed) <= call, call, member_,
                   newest_);
    progress_[member_].done.store(call, std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    for (int word = 0; word < words_; ++word) {
        std::uint64_t waiting = head_->starved[std::size_t(word)].load(std::memory_order_relaxed) &
                                sleepers(word).load(std::memory_order_relaxed);
        for (; waiting != 0; waiting &= waiting - 1) wake(word * 64 + std::countr_zero(waiting));
    }
}

bool Area::see(const Use& use) {
    const auto done = [this](int member) {
        return progress_[member].done.load(std::memory_order_acquire);
    };
    if (use.reader != all) {
        reader_ = use.reader;
        reader_done_ = done(reader_);
        return use.call <= reader_done_;
    }
    all_done_ = ~std::uint64_t{0};
    for (int member = 0; member < size_; ++member)
        if (member != member_) all_done_ = std::min(all_done_, done(member));
    return use.call <= all_done_;
}

bool Area::look_past(const Use& use) {
    auto& starved = head_->starved[std::size_t(member_ / 64)];
    const std::uint64_t bit = std::uint64_t{1} << (member_ % 64);
    bool past = see(use);
    if (!past && !starved_) {
        starved.fetch_or(bit, std::memory_order_seq_cst);
        starved_ = true;
        std::atomic_thread_fence(std::memory_order_seq_cst);
        past = see(use);
    }
    if (past && starved_) {
        starved.fetch_and(~bit, std::memory_order_relaxed);
        starved_ = false;
    }
    return past;
}

void Area::wake(int member) {
    if (member != member_) group_.runtime().shared().wake(group_.rank_of(member));
}

void Area::wake_all(int word) {
    std::uint64_t bits = sleepers(word).load(std::memory_order_relaxed);
    for (; bits != 0; bits &= bits - 1) wake(word * 64 + std::countr_zero(bits));
}

// The last check before a sleep comes after this, and after a fence (Interface::prepare_sleep()).
void Area::set_asleep(bool asleep) {
    if (asleep == asleep_ || state_ != State::ready || !block_->usable()) return;
    asleep_ = asleep;
    const std::uint64_t bit = std::uint64_t{1} << (member_ % 64);
    if (asleep)
        sleepers(member_ / 64).fetch_or(bit, std::memory_order_seq_cst);
    else
        sleepers(member_ / 64).fetch_and(~bit, std::memory_order_relaxed);
}

}  // namespace torusmp::collectives
