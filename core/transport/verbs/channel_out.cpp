// SPDX-License-Identifier: BSD-3-Clause
// The sending side of a verbs channel.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/transport/verbs/interface.h"

namespace torusmp::transport::verbs {
namespace {

constexpr std::uint32_t signal_every = 16;        // inline frames
constexpr std::uint32_t signal_every_slot = 4;    // frames that hold a slot until they are sent
constexpr std::size_t pieces_at_once = 8;         // of writes, posted at a time
constexpr std::uint32_t requests_of_a_write = 2;  // its last piece and the notice

std::uint64_t address_of(const void* memory) {
    return std::uint64_t(reinterpret_cast<std::uintptr_t>(memory));
}

}  // namespace

// ---- requests ----

VerbsChannel::Staged& VerbsChannel::stage(const Out& out) {
    if (staged_count_ == most_staged) hand_over();
    Staged& it = staged_[staged_count_++];
    it.request = {};
    it.request.wr_id = std::uint64_t(index_) << 32 | posted_;
    it.request.sg_list = &it.part;
    it.request.num_sge = 1;
    send_queue_[posted_ & (send_queue_.size() - 1)] = out;
    ++posted_;
    return it;
}

void VerbsChannel::staged(Staged& it, bool signalled) {
    if (signalled) {
        it.request.send_flags |= IBV_SEND_SIGNALED;
        unsignalled_ = 0;
    }
    if (std::exchange(corked_, false) || interface_.polling_)
        interface_.make_dirty(*this);
    else
        hand_over();
}

// Posts all staged requests to the device in one call.
void VerbsChannel::hand_over() {
    if (staged_count_ == 0) return;
    for (std::size_t i = 0; i + 1 < staged_count_; ++i)
        staged_[i].request.next = &staged_[i + 1].request;
    staged_count_ = 0;
    ibv_send_wr* bad = nullptr;
    const int error = ibv_post_send(queue_pair_.get(), &staged_[0].request, &bad);
    if (error != 0)
        interface_.broken_.emplace_back(this, fmt::format("cannot send: {}", std::strerror(error)));
}

// Posts a frame: header, front and payload, one after another. Precondition: can_post(1).
void VerbsChannel::post_frame(PacketHeader header, ConstBytes front, ConstBytes payload,
                              const Out& out) {
    header.stamp = controls_told_ = controls_taken_;
    const std::size_t bytes = sizeof header + front.size() + payload.size();
    if (bytes <= inline_bytes_) [[likely]] {
        Staged& it = stage(out);
        std::memcpy(it.bytes.data(), &header, sizeof header);
        std::byte* const body = std::copy(front.begin(), front.end(), &it.bytes[sizeof header]);
        std::copy(payload.begin(), payload.end(), body);
        it.part = {address_of(it.bytes.data()), std::uint32_t(bytes), 0};
        it.request.opcode = IBV_WR_SEND;
        it.request.send_flags = IBV_SEND_INLINE;
        ++unsignalled_;
        return staged(it, out.notifies || out.sign_of_life || unsignalled_ >= signal_every);
    }
    Slot* const slot = interface_.slots_.take(device_);
    if (slot == nullptr) return keep(header, front, payload, nullptr);
    std::byte* const body = std::copy(front.begin(), front.end(), slot->memory + sizeof header);
    std::copy(payload.begin(), payload.end(), body);
    ++statistics_.copied;
    post_slot(header, slot, bytes - sizeof header);
}

// Posts a frame whose body is in a slot. Precondition: can_post(1).
void VerbsChannel::post_slot(PacketHeader header, Slot* slot, std::size_t bytes) {
    header.stamp = controls_told_ = controls_taken_;
    std::memcpy(slot->memory, &header, sizeof header);
    Staged& it = stage({.slot = slot});
    it.part = {address_of(slot->memory), std::uint32_t(sizeof header + bytes),
               Slots::key(*slot, device_)};
    it.request.opcode = IBV_WR_SEND;
    ++unsignalled_;
    staged(it, unsignalled_ >= signal_every_slot);
}

void VerbsChannel::post_write(std::uint64_t to, std::uint32_t key, const std::byte* from,
                              std::uint32_t bytes, std::uint32_t local_key, const Out& out,
                              bool signalled) {
    Staged& it = stage(out);
    it.part = {address_of(from), bytes, local_key};
    if (bytes == 0) it.request.num_sge = 0;
    it.request.opcode = IBV_WR_RDMA_WRITE;
    it.request.wr.rdma = {to, key};
    ++unsignalled_;
    staged(it, signalled);
}

// Requests up to this one have been sent, or, if not ok, are lost with the link.
void VerbsChannel::departed(std::uint32_t until, bool ok) {
    if (until - retired_ >= posted_ - retired_) return;  // reported twice
    while (retired_ != until + 1) {
        Out& out = send_queue_[retired_++ & (send_queue_.size() - 1)];
        if (out.slot != nullptr) interface_.slots_.give(out.slot);
        if (out.registration != nullptr) interface_.registrations_.release(out.registration);
        if (out.piece) --pieces_;
        if (out.sign_of_life) alive_asked_ = false;
        if (out.notifies) {
            --interface_.awaited_;
            interface_.transfers_.push_back({this, out.cookie, ok});
        }
    }
    heard_something_ = true;
    if (ok) push();
}

// ---- packets ----

// Keeps frames that cannot be posted yet, in order.
void VerbsChannel::keep(const PacketHeader& header, ConstBytes front, ConstBytes payload,
                        const RemoteAddress* target) {
    ++statistics_.kept;
    Kept it{
        header, {}, front.size(), target != nullptr ? *target : RemoteAddress{}, target != nullptr};
    it.bytes.reserve(front.size() + payload.size());
    it.bytes.insert(it.bytes.end(), front.begin(), front.end());
    it.bytes.insert(it.bytes.end(), payload.begin(), payload.end());
    kept_.push_back(std::move(it));
}

void VerbsChannel::push_kept() {
    while (!kept_.empty() && state_ == State::open && room() >= requests_of_a_write) {
        // Removed from the queue while it is posted: if no slot is free it returns to the front.
        const Kept it = std::move(kept_.front());
        kept_.pop_front();
        const std::size_t behind = kept_.size();
        const ConstBytes bytes(it.bytes);
        if (it.placed)
            place_frame(it.header, bytes.first(it.front), bytes.subspan(it.front), it.target);
        else
            post_frame(it.header, bytes.first(it.front), bytes.subspan(it.front));
        if (kept_.size() == behind) continue;
        kept_.push_front(std::move(kept_.back()));
        kept_.pop_back();
        return;
    }
}

// Takes the slot that is being delivered, if these bytes are in it: it can be sent, and another one
// takes its place. Null if they are not, or if no other slot is free.
Slot* VerbsChannel::take_delivered(ConstBytes payload) {
    Slot* const slot = interface_.delivering_;
    if (slot == nullptr || payload.empty() || payload.data() < slot->memory ||
        payload.data() >= slot->memory + interface_.slots_.bytes() ||
        sizeof(PacketHeader) + payload.size() <= inline_bytes_)
        return nullptr;
    if (!interface_.slots_.usable(*slot, device_)) return nullptr;
    Slot* const other = interface_.slots_.take(*slot->chunk->device);
    if (other == nullptr) return nullptr;
    interface_.delivering_ = other;
    ++statistics_.forwarded;
    return slot;
}

void VerbsChannel::send(const PacketHeader& header, ConstBytes payload) {
    if (state_ >= State::finished) return;
    PacketHeader framed = header;
    framed.transport_byte = std::uint8_t(Frame::packet);
    if (!can_post(1)) return keep(framed, {}, payload, nullptr);
    const Slot* const here = interface_.delivering_;
    if (here != nullptr && payload.data() == here->memory + sizeof header)
        if (Slot* const slot = take_delivered(payload))
            return post_slot(framed, slot, payload.size());
    post_frame(framed, {}, payload);
}

std::byte* VerbsChannel::reserve(int /*virtual_channel*/, std::size_t bytes) {
    if (sizeof(PacketHeader) + bytes > inline_bytes_) reserved_ = interface_.slots_.take(device_);
    if (reserved_ != nullptr) return reserved_->memory + sizeof(PacketHeader);
    reserved_apart_.resize(std::max<std::size_t>(bytes, 1));
    return reserved_apart_.data();
}

void VerbsChannel::commit(const PacketHeader& header) {
    Slot* const slot = std::exchange(reserved_, nullptr);
    if (state_ >= State::finished) {
        if (slot != nullptr) interface_.slots_.give(slot);
        return;
    }
    PacketHeader framed = header;
    framed.transport_byte = std::uint8_t(Frame::packet);
    if (slot != nullptr && can_post(1)) return post_slot(framed, slot, header.length);
    const std::byte* const from =
        slot != nullptr ? slot->memory + sizeof header : reserved_apart_.data();
    if (can_post(1))
        post_frame(framed, {}, {from, header.length});
    else
        keep(framed, {}, {from, header.length}, nullptr);
    if (slot != nullptr) interface_.slots_.give(slot);
}

void VerbsChannel::send_placed(const PacketHeader& header, ConstBytes front, ConstBytes payload,
                               const RemoteAddress& target) {
    if (state_ >= State::finished) return;
    PacketHeader framed = header;
    framed.transport_byte = std::uint8_t(Frame::packet);
    framed.length = std::uint32_t(front.size());
    if (can_post(requests_of_a_write))
        place_frame(framed, front, payload, target);
    else
        keep(framed, front, payload, &target);
}

// Writes the payload to its place, from the slot in which it arrived or another one, and then the
// frame.
void VerbsChannel::place_frame(const PacketHeader& header, ConstBytes front, ConstBytes payload,
                               const RemoteAddress& target) {
    Slot* slot = take_delivered(payload);
    const std::byte* from = payload.data();
    if (slot == nullptr) {
        slot = interface_.slots_.take(device_);
        if (slot == nullptr) return keep(header, front, payload, &target);
        std::copy(payload.begin(), payload.end(), slot->memory);
        from = slot->memory;
        ++statistics_.copied;
    }
    post_write(target.address, target.key, from, std::uint32_t(payload.size()),
               Slots::key(*slot, device_), {.slot = slot}, unsignalled_ + 1 >= signal_every_slot);
    post_frame(header, front, {});
}

// ---- credits of core and of frames ----

// Precondition: can_post(1), and a credit if the frame needs one.
void VerbsChannel::post_control(const ControlFrame& frame, const Out& out) {
    if (frame.frame == Frame::grant || frame.frame == Frame::notice) ++controls_sent_;
    post_frame(as_header(frame), {}, {}, out);
}

void VerbsChannel::grant(CreditWord credits) {
    to_grant_ += credits;
    push_controls();
}

void VerbsChannel::push_controls() {
    if (controls_taken_ - controls_told_ >= frame_credits / 2 && can_post(1))
        post_control({.frame = Frame::credit});
    if (to_grant_ != 0 && has_frame_credit() && can_post(1))
        post_control({.credits = std::exchange(to_grant_, 0), .frame = Frame::grant});
}

// ---- remote writes ----

bool VerbsChannel::can_write(const RemoteMemory& remote) const {
    return state_ < State::finished && can_ever_write(remote);
}

Transfer VerbsChannel::write(const RemoteMemory& remote, std::size_t offset,
                             std::span<const ConstBytes> local, std::uint64_t cookie,
                             std::optional<std::uint64_t> notice) {
    corked_ = false;
    if (local.size() != 1) return Transfer::refused;
    const ConstBytes from = local[0];
    if (!can_write(remote) || offset > remote.length || from.size() > remote.length - offset)
        return Transfer::refused;
    if (from.empty() && !notice) return Transfer::done;
    const Device* const device = &device_;
    Registration* const registration =
        from.empty() ? nullptr : interface_.registrations_.acquire(from, {&device, 1}, false);
    writes_.push_back(
        {remote.address + offset, key_of(remote), from, cookie, notice, registration});
    ++interface_.awaited_;
    push_writes();
    if (!interface_.polling_) hand_over();
    return Transfer::pending;
}

void VerbsChannel::push_writes() {
    while (!writes_.empty() && pieces_ < pieces_at_once && can_post(requests_of_a_write)) {
        if (!push_piece(writes_.front())) return;
        if (writes_.front().posted) writes_.pop_front();
    }
}

// Posts the next piece of a write, with the notice after the last one. Returns false if it has to
// wait for a slot or for a credit.
bool VerbsChannel::push_piece(Write& write) {
    const bool straight = write.registration != nullptr || write.left.empty();
    const std::size_t most = straight ? piece_bytes_ : interface_.slots_.bytes();
    const std::size_t bytes = std::min(write.left.size(), most);
    const bool last = bytes == write.left.size();
    if (last && write.notice && !has_frame_credit()) return false;
    Slot* slot = nullptr;
    const std::byte* from = write.left.data();
    std::uint32_t key = 0;
    if (!straight) {
        slot = interface_.slots_.take(device_);
        if (slot == nullptr) return false;
        std::memcpy(slot->memory, from, bytes);
        from = slot->memory;
        key = Slots::key(*slot, device_);
    } else if (bytes != 0) {
        key = write.registration->local_key(device_);
    }
    (straight ? statistics_.written : statistics_.bounced) += bytes;
    const Out end{.registration = write.registration, .cookie = write.cookie, .notifies = true};
    if (bytes != 0) {
        Out piece{.slot = slot, .piece = true};
        if (last && !write.notice) {
            piece.registration = end.registration;
            piece.cookie = end.cookie;
            piece.notifies = true;
        }
        ++pieces_;
        post_write(write.to, write.key, from, std::uint32_t(bytes), key, piece,
                   !last || !write.notice);
    }
    if (last && write.notice) {
        post_control({.frame = Frame::notice, .notice = *write.notice}, end);
    }
    write.to += bytes;
    write.left = write.left.subspan(bytes);
    write.posted = last;
    return true;
}

void VerbsChannel::push() {
    if (state_ != State::open) return;
    if (!kept_.empty()) push_kept();
    push_controls();
    if (!writes_.empty()) push_writes();
}

// An empty write: the peer's device acknowledges it as long as the peer lives, without its process.
void VerbsChannel::ask_for_life() {
    if (alive_asked_ || !can_post(1)) return;
    alive_asked_ = true;
    post_write(0, 0, nullptr, 0, 0, {.sign_of_life = true}, true);
}

}  // namespace torusmp::transport::verbs
