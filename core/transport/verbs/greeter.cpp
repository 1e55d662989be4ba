// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/verbs/greeter.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "core/transport/verbs/slots.h"

namespace torusmp::transport::verbs {
namespace {

constexpr std::uint32_t queue_key = 0x746f7275;  // the same for all greeters; hellos carry proofs
constexpr std::uint64_t is_send = 1u << 16;      // in a request's number, beside the slot

}  // namespace

Greeter::Greeter(Device& device) : device_(device) {
    static_assert(sizeof(Slot) >= route_bytes + sizeof(Hello));
    const auto refuse = [&](std::string_view what) {
        throw std::runtime_error(
            fmt::format("RDMA device {}: {}: {}", device.text(), what, std::strerror(errno)));
    };
    region_.reset(
        ibv_reg_mr(device.domain(), memory_.data(), sizeof memory_, IBV_ACCESS_LOCAL_WRITE));
    if (!region_) throw std::runtime_error(registration_trouble(device, sizeof memory_, errno));
    ibv_qp_init_attr options{};
    options.qp_type = IBV_QPT_UD;
    options.send_cq = options.recv_cq = device.queue(Device::greetings);
    options.cap = {.max_send_wr = slots,
                   .max_recv_wr = slots,
                   .max_send_sge = 1,
                   .max_recv_sge = 1,
                   .max_inline_data = sizeof(Hello)};
    options.sq_sig_all = 1;
    queue_pair_.reset(ibv_create_qp(device.domain(), &options));
    if (!queue_pair_) refuse("no datagram queue pair");
    ibv_qp_attr state{};
    state.qp_state = IBV_QPS_INIT;
    state.port_num = device.port();
    state.qkey = queue_key;
    if (ibv_modify_qp(queue_pair_.get(), &state,
                      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) != 0)
        refuse("the datagram queue pair cannot be initialised");
    state.qp_state = IBV_QPS_RTR;
    if (ibv_modify_qp(queue_pair_.get(), &state, IBV_QP_STATE) != 0)
        refuse("the datagram queue pair cannot receive");
    state.qp_state = IBV_QPS_RTS;
    state.sq_psn = 0;
    if (ibv_modify_qp(queue_pair_.get(), &state, IBV_QP_STATE | IBV_QP_SQ_PSN) != 0)
        refuse("the datagram queue pair cannot send");
    for (std::size_t i = 0; i < slots; ++i) post(i);
}

void Greeter::post(std::size_t slot) {
    ibv_sge part{reinterpret_cast<std::uintptr_t>(memory_[slot].data()), sizeof(Slot),
                 region_->lkey};
    ibv_recv_wr request{};
    request.wr_id = slot;
    request.sg_list = &part;
    request.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    ibv_post_recv(queue_pair_.get(), &request, &bad);
}

void Greeter::send(ibv_ah* to, std::uint32_t number, const Hello& hello) {
    ibv_sge part{reinterpret_cast<std::uintptr_t>(&hello), sizeof hello, 0};
    ibv_send_wr request{};
    request.wr_id = is_send;
    request.sg_list = &part;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
    request.wr.ud.ah = to;
    request.wr.ud.remote_qpn = number;
    request.wr.ud.remote_qkey = queue_key;
    ibv_send_wr* bad = nullptr;
    // If the queue is full this hello is lost, as it may also be on the way.
    ibv_post_send(queue_pair_.get(), &request, &bad);
}

void Greeter::poll(const std::function<void(const Hello&)>& hear) {
    std::array<ibv_wc, 16> completions;
    const int count =
        ibv_poll_cq(device_.queue(Device::greetings), int(completions.size()), completions.data());
    for (int i = 0; i < count; ++i) {
        const ibv_wc& it = completions[std::size_t(i)];
        if (it.wr_id == is_send) continue;
        const auto slot = std::size_t(it.wr_id);
        Hello hello;
        const bool whole = it.status == IBV_WC_SUCCESS && it.byte_len == route_bytes + sizeof hello;
        if (whole) std::memcpy(&hello, memory_[slot].data() + route_bytes, sizeof hello);
        post(slot);
        if (whole) hear(hello);
    }
}

}  // namespace torusmp::transport::verbs
