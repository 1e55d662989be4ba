// SPDX-License-Identifier: BSD-3-Clause
// The states of a verbs channel's queue pair, and received packets.
#include "core/transport/verbs/channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "core/transport/verbs/interface.h"

namespace torusmp::transport::verbs {
namespace {

constexpr std::uint32_t send_queue_requests = 256;  // a power of two
constexpr int most_send_slots = 48;
constexpr std::size_t write_piece = 512u << 10;  // bytes; packets can pass between pieces
constexpr std::uint32_t sequence_bits = 0xffffff;
constexpr std::size_t longest_reason = 200;

int slots_of(const PortOptions& port) {
    int count = 0;
    for (int k = 0; k < port.virtual_channels; ++k) count += port.credits[std::size_t(k)];
    return count;
}

int mtu_bytes(std::uint32_t mtu) {
    return 128 << mtu;
}

// Retransmissions of a packet without an acknowledgement, before the link is dead. With 7,
// soft-RoCE retries forever.
constexpr std::uint8_t most_resends = 6;
// Codes for a receiver that is not ready, which credits prevent: the sender waits for 0.64 ms and
// retries without limit.
constexpr std::uint8_t receiver_not_ready_timer = 12, receiver_not_ready_retries = 7;

// The code of the time that a packet waits for an answer, chosen so that all retries together fit
// into the timeout.
std::uint8_t ack_code(const InterfaceOptions& options) {
    constexpr double unit = 4.096e-6;  // seconds
    const double each = std::chrono::duration<double>(options.timeout).count() / (most_resends + 1);
    int code = 1;
    while (code < 31 && unit * double(1u << (code + 1)) <= each) ++code;
    return std::uint8_t(code);
}

}  // namespace

VerbsChannel::VerbsChannel(VerbsInterface& interface, std::uint32_t index, Device& device,
                           const PortOptions& port)
    : NetworkChannel(interface.can(), port), interface_(interface), index_(index), device_(device) {
    send_queue_.resize(std::min<std::uint32_t>(
        send_queue_requests, std::bit_floor(std::uint32_t(device.limits().max_qp_wr))));
    piece_bytes_ = write_piece;
}

VerbsChannel::~VerbsChannel() = default;

std::uint32_t VerbsChannel::receives() const {
    return std::uint32_t(slots_of(port_)) + spare_slots;
}

void VerbsChannel::make_room() {
    device_.add_room(int(receives()), int(send_queue_.size()));
    const int to_send = std::min(slots_of(port_), most_send_slots);
    interface_.slots_.add(device_, receives() + std::size_t(to_send));
}

void VerbsChannel::begin() {
    make_queue_pair();
    for (std::uint32_t i = 0; i < receives(); ++i) post_again(interface_.slots_.take(device_));
    post_slots();
    draw(std::as_writable_bytes(std::span(&first_packet_, 1)));
    first_packet_ &= sequence_bits;
}

void VerbsChannel::make_queue_pair() {
    const auto refuse = [&](std::string_view what) {
        queue_pair_.reset();
        throw std::runtime_error(fmt::format("RDMA device {}: {} ({} receives, {} sends): {}",
                                             device_.text(), what, receives(), send_queue_.size(),
                                             std::strerror(errno)));
    };
    ibv_qp_init_attr options{};
    options.qp_type = IBV_QPT_RC;
    options.send_cq = device_.queue(Device::sends);
    options.recv_cq = device_.queue(Device::receives);
    options.cap = {.max_send_wr = std::uint32_t(send_queue_.size()),
                   .max_recv_wr = receives(),
                   .max_send_sge = 1,
                   .max_recv_sge = 1,
                   .max_inline_data = std::uint32_t(most_inline)};
    queue_pair_.reset(ibv_create_qp(device_.domain(), &options));
    if (!queue_pair_) {  // some devices allow less inline data
        options.cap.max_inline_data = 128;
        queue_pair_.reset(ibv_create_qp(device_.domain(), &options));
    }
    if (!queue_pair_) refuse("cannot create a queue pair; lower transport.tokens");
    inline_bytes_ = std::min<std::size_t>(options.cap.max_inline_data, most_inline);
    ibv_qp_attr state{};
    state.qp_state = IBV_QPS_INIT;
    state.port_num = device_.port();
    state.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    if (ibv_modify_qp(queue_pair_.get(), &state,
                      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0)
        refuse("the queue pair cannot be initialised");
}

// ---- connection establishment ----

CreditWord VerbsChannel::all_credits() const {
    CreditWord credits = 0;
    for (int k = 0; k < port_.virtual_channels; ++k)
        credits += CreditWord(port_.credits[std::size_t(k)]) * credit_of(k);
    return credits;
}

// Checks that the peer's end fits ours. Throws std::runtime_error with the difference.
void VerbsChannel::check(const Hello& hello) const {
    const CreditWord credits = all_credits();
    if (hello.slot_bytes == port_.slot_bytes && hello.credits == credits) return;
    throw std::runtime_error(fmt::format(
        "the ends do not match: slots of {} B and credits {:x} there, {} B and {:x} here; were all "
        "ranks started with the same settings?",
        hello.slot_bytes, hello.credits, port_.slot_bytes, credits));
}

// Takes the queue pair from INIT through RTR to RTS. Returns false if that is not possible now
// (trouble_ has the reason); the neighbour may still have to be resolved.
bool VerbsChannel::reach(const Hello& hello) {
    const InterfaceOptions& options = interface_.options_;
    const auto mtu = std::min(std::uint32_t(device_.mtu()), hello.mtu);
    if (hello.mtu != std::uint32_t(device_.mtu()) && options.log)
        options.log(fmt::format(
            "verbs: {}: RDMA MTU {} B here and {} B there; {} B is used. Give the network devices "
            "at both ends the same MTU.",
            name_, mtu_bytes(device_.mtu()), mtu_bytes(hello.mtu), mtu_bytes(mtu)));
    ibv_qp_attr state{};
    state.qp_state = IBV_QPS_RTR;
    state.path_mtu = ibv_mtu(mtu);
    state.dest_qp_num = hello.queue_pair;
    state.rq_psn = hello.first_packet & sequence_bits;
    state.max_dest_rd_atomic = 1;
    state.min_rnr_timer = receiver_not_ready_timer;
    state.ah_attr = path_;
    int error = ibv_modify_qp(queue_pair_.get(), &state,
                              IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    if (error != 0) {
        trouble_ = fmt::format("the queue pair cannot reach the other: {}", std::strerror(error));
        return false;
    }
    state = {};
    state.qp_state = IBV_QPS_RTS;
    state.timeout = ack_code(options);
    state.retry_cnt = most_resends;
    state.rnr_retry = receiver_not_ready_retries;
    state.sq_psn = first_packet_;
    state.max_rd_atomic = 1;
    error = ibv_modify_qp(queue_pair_.get(), &state,
                          IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                              IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    if (error != 0)
        throw std::runtime_error(
            fmt::format("the queue pair cannot send: {}", std::strerror(error)));
    state_ = State::meeting;
    bound_ = hello.serial;
    return true;
}

void VerbsChannel::open() {
    if (state_ != State::meeting) return;
    state_ = State::open;
    patience_.met = true;
    patience_.give_up_at = Clock::time_point::max();
    if (!patience_.again) --interface_.waiting_;
    // The peer may not know yet that this end receives, and a datagram may be lost unnoticed by its
    // process: a frame arrives in any case.
    post_control({.frame = Frame::grant});
    push();
}

void VerbsChannel::fail(std::string why) {
    if (state_ >= State::finished) return;
    if (state_ < State::open && !patience_.again) --interface_.waiting_;
    why_ = std::move(why) + what_is_lost();
    state_ = State::down;
    if (queue_pair_) {
        ibv_qp_attr state{};
        state.qp_state = IBV_QPS_ERR;
        ibv_modify_qp(queue_pair_.get(), &state, IBV_QP_STATE);
    }
    give_up_waiting();
    interface_.fallen_.push_back(this);
}

// Ends requests that have not been posted; posted ones return flushed.
void VerbsChannel::give_up_waiting() {
    kept_.clear();
    for (const Write& write : writes_) {
        if (write.registration != nullptr) interface_.registrations_.release(write.registration);
        --interface_.awaited_;
        interface_.transfers_.push_back({this, write.cookie, false});
    }
    writes_.clear();
    for (; again_count_ != 0; --again_count_)
        interface_.slots_.give(
            reinterpret_cast<Slot*>(std::uintptr_t(again_[again_count_ - 1].wr_id)));
    if (held_count_ != 0) --interface_.holding_;
    held_count_ = 0;
    for (Held& held : held_)
        for (; !held.empty(); held.pop_front()) interface_.slots_.give(held.front());
}

std::string VerbsChannel::what_is_lost() const {
    const std::size_t writes = writes_.size() + (pieces_ != 0 ? 1 : 0);
    const std::size_t frames = kept_.size() + (posted_ - retired_);
    if (frames == 0 && writes == 0) return "";
    return fmt::format("; {} requests and {} remote writes were in progress", frames, writes);
}

void VerbsChannel::close(std::string_view why) {
    if (state_ >= State::finished) return;
    // A partly sent write must not precede the reason.
    if (can_post(1) && pieces_ == 0) {
        const auto reason = std::as_bytes(std::span(why.substr(0, longest_reason)));
        const ControlFrame closed{.length = std::uint32_t(reason.size()), .frame = Frame::closed};
        corked_ = false;
        post_frame(as_header(closed), {}, reason);
        hand_over();
        interface_.give_time(*this);
    }
    closed_by_core();
    fail(std::string(why));
}

// ---- in ----

// Handles a completed receive. Returns how many packets core took.
int VerbsChannel::arrived(Slot* slot, std::size_t bytes, Sink& sink) {
    if (state_ >= State::finished) {
        interface_.slots_.give(slot);
        return 0;
    }
    PacketHeader header;
    std::memcpy(&header, slot->memory, sizeof header);
    if (bytes < sizeof header || header.length != bytes - sizeof header ||
        header.transport_byte > std::uint8_t(Frame::last) ||
        header.virtual_channel >= port_.virtual_channels || !take_stamp(header)) {
        interface_.slots_.give(slot);
        fail(
            fmt::format("an invalid frame of {} B arrived (kind {}, virtual channel {}, length {})",
                        bytes, header.transport_byte, header.virtual_channel, header.length));
        return 0;
    }
    heard_something_ = true;
    if (state_ == State::meeting) open();
    const auto frame = Frame(header.transport_byte);
    if (frame == Frame::packet) return take_packet(slot, header, sink);
    if (frame == Frame::grant || frame == Frame::notice) {
        ++controls_taken_;
        push_controls();
    }
    const int taken = take_control(std::bit_cast<ControlFrame>(header), slot, sink);
    post_again(slot);
    return taken;
}

// Handles the count of our control frames that the peer has taken since the start. Returns false if
// it claims more than were sent.
bool VerbsChannel::take_stamp(const PacketHeader& header) {
    if (header.stamp == controls_home_) return true;
    if (header.stamp - controls_home_ > controls_sent_ - controls_home_) return false;
    controls_home_ = header.stamp;
    push();
    return true;
}

int VerbsChannel::take_control(const ControlFrame& frame, const Slot* slot, Sink& sink) {
    switch (frame.frame) {
        case Frame::grant:
            take_grant(frame.credits);
            // The first one only reports that its sender receives.
            return frame.credits != 0 ? 1 : 0;
        case Frame::notice:
            sink.on_notice(*this, frame.notice);
            return 1;
        case Frame::closed:
            fail(std::string(reinterpret_cast<const char*>(slot->memory + sizeof frame),
                             std::min<std::size_t>(frame.length, longest_reason)));
            return 0;
        case Frame::goodbye:
            state_ = State::finished;
            give_up_waiting();
            return 0;
        default:
            return 0;  // a credit frame carries only its stamp
    }
}

int VerbsChannel::take_packet(Slot* slot, const PacketHeader& header, Sink& sink) {
    Held& held = held_[header.virtual_channel];
    if (held.empty()) {
        const int taken = deliver(slot, header, sink);
        if (taken != 0 || state_ >= State::finished) return taken;
    } else if (held.size() >= port_.credits[header.virtual_channel]) {
        interface_.slots_.give(slot);
        fail("more packets arrived than credits exist");
        return 0;
    }
    held.push_back(slot);
    if (held_count_++ == 0) ++interface_.holding_;
    return 0;
}

// Offers a packet to core. Returns 0 if core holds it, so the slot remains the caller's, unless the
// channel went down meanwhile.
int VerbsChannel::deliver(Slot* slot, const PacketHeader& header, Sink& sink) {
    interface_.delivering_ = slot;
    const Verdict verdict = sink.on_packet(*this, header, slot->memory + sizeof header);
    Slot* const left = std::exchange(interface_.delivering_, nullptr);
    if (verdict == Verdict::held && state_ < State::finished) return 0;
    post_again(left);
    return verdict == Verdict::taken ? 1 : 0;
}

int VerbsChannel::offer_held(Sink& sink) {
    int taken = 0;
    for (int k = 0; k < port_.virtual_channels && state_ < State::finished; ++k) {
        Held& held = held_[std::size_t(k)];
        while (!held.empty()) {
            Slot* const slot = held.front();
            PacketHeader header;
            std::memcpy(&header, slot->memory, sizeof header);
            // Removed from the queue before it is offered, because core may bring the channel down.
            held.pop_front();
            if (--held_count_ == 0) --interface_.holding_;
            if (deliver(slot, header, sink) != 0) {
                ++taken;
                continue;
            }
            if (state_ >= State::finished) return taken;
            held.push_front(slot);
            if (held_count_++ == 0) ++interface_.holding_;
            break;
        }
    }
    return taken;
}

// Reposts free slots for receiving, a few at a time.
void VerbsChannel::post_again(Slot* slot) {
    if (state_ >= State::finished) return interface_.slots_.give(slot);
    slot->channel = this;
    again_parts_[again_count_] = {std::uint64_t(reinterpret_cast<std::uintptr_t>(slot->memory)),
                                  std::uint32_t(sizeof(PacketHeader) + port_.slot_bytes),
                                  Slots::key(*slot, device_)};
    again_[again_count_] = {};
    again_[again_count_].wr_id = std::uint64_t(reinterpret_cast<std::uintptr_t>(slot));
    again_[again_count_].sg_list = &again_parts_[again_count_];
    again_[again_count_].num_sge = 1;
    if (++again_count_ == posted_together) post_slots();
}

void VerbsChannel::post_slots() {
    if (again_count_ == 0) return;
    for (std::size_t i = 0; i + 1 < again_count_; ++i) again_[i].next = &again_[i + 1];
    receiving_ += std::uint32_t(std::exchange(again_count_, 0));
    ibv_recv_wr* bad = nullptr;
    const int error = ibv_post_recv(queue_pair_.get(), &again_[0], &bad);
    if (error == 0) [[likely]]
        return;
    interface_.broken_.emplace_back(this,
                                    fmt::format("cannot post slots: {}", std::strerror(error)));
    for (; bad != nullptr; bad = bad->next, --receiving_)
        interface_.slots_.give(reinterpret_cast<Slot*>(std::uintptr_t(bad->wr_id)));
}

}  // namespace torusmp::transport::verbs
