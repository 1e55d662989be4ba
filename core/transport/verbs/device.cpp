// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/verbs/device.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "core/transport/common/monitor.h"

namespace torusmp::transport::verbs {
namespace {

constexpr int first_room = 256;  // completions

Context open_device(const std::string& name) {
    int count = 0;
    const std::unique_ptr<ibv_device*, Destroy<ibv_free_device_list>> list(
        ibv_get_device_list(&count));
    for (int i = 0; i < count; ++i)
        if (name == ibv_get_device_name(list.get()[i]))
            return Context(ibv_open_device(list.get()[i]));
    errno = ENODEV;
    return {};
}

void make_nonblocking(int descriptor) {
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

}  // namespace

ibv_gid gid_from(const base::Address& address) {
    ibv_gid gid{};
    if (address.v6) {
        std::memcpy(gid.raw, address.bytes.data(), 16);
    } else {
        gid.raw[10] = gid.raw[11] = 0xff;
        std::memcpy(gid.raw + 12, address.bytes.data(), 4);
    }
    return gid;
}

Device::Device(const std::string& netdev, std::size_t index, int gid_index, bool may_be_down)
    : index_(index), gid_index_(gid_index) {
    const auto facts = rdma_port_of(netdev);
    if (!facts)
        throw std::runtime_error(fmt::format(
            "device {} has no RDMA device: expected a RoCE adapter, or soft-RoCE on it (`rdma link "
            "add rxe_{} type rxe netdev {}`)",
            netdev, netdev, netdev));
    if (!facts->trouble.empty())
        throw std::runtime_error(
            fmt::format("RDMA device {} on {}: {}", facts->device, netdev, facts->trouble));
    facts_ = *facts;
    netdev_index_ = if_nametoindex(netdev.c_str());
    open(may_be_down);
    choose_addresses(may_be_down);
    before_ = read_counters();
}

void Device::open(bool may_be_down) {
    const auto refuse = [&](std::string_view what) {
        throw std::runtime_error(
            fmt::format("RDMA device {}: {}: {}", text(), what, std::strerror(errno)));
    };
    context_ = open_device(facts_.device);
    if (!context_)
        throw std::runtime_error(fmt::format(
            "RDMA device {} cannot be opened: {}; expected the module ib_uverbs loaded and "
            "read and write permission on /dev/infiniband/uverbs*",
            text(), std::strerror(errno)));
    if (ibv_query_port(context_.get(), port(), &port_) != 0) refuse("cannot query its port");
    if (port_.state != IBV_PORT_ACTIVE && !may_be_down)
        throw std::runtime_error(fmt::format(
            "RDMA device {}: its port is {}, expected {}: is the cable in, and {} up (`ip link set "
            "{} up`)?",
            text(), ibv_port_state_str(port_.state), ibv_port_state_str(IBV_PORT_ACTIVE), netdev(),
            netdev()));
    if (ibv_query_device(context_.get(), &limits_) != 0) refuse("cannot query it");
    domain_.reset(ibv_alloc_pd(context_.get()));
    if (!domain_) refuse("no protection domain");
    events_.reset(ibv_create_comp_channel(context_.get()));
    if (!events_) refuse("no completion channel");
    make_nonblocking(events_->fd);
    make_nonblocking(context_->async_fd);
    for (std::size_t i = 0; i < queues; ++i) {
        room_[i] = first_room;
        queues_[i].reset(ibv_create_cq(context_.get(), first_room, reinterpret_cast<void*>(i),
                                       events_.get(), 0));
        if (!queues_[i]) refuse("no completion queue");
    }
}

void Device::choose_addresses(bool may_be_down) {
    const auto usable = [this](const RdmaGid& gid) {
        return gid.roce_v2 && (gid_index_ < 0 || gid.index == gid_index_);
    };
    for (const DeviceAddress& address :
         may_be_down ? addresses_kept_by(netdev()) : addresses_of(netdev())) {
        const ibv_gid wanted = gid_from(address);
        for (const RdmaGid& gid : facts_.gids)
            if (usable(gid) && std::memcmp(gid.bytes.data(), wanted.raw, 16) == 0)
                addresses_.push_back(address);
    }
    if (!addresses_.empty()) return;
    if (may_be_down) {
        // A device that is down has lost its link-local address, but not the GID for it.
        for (const RdmaGid& gid : facts_.gids) {
            DeviceAddress address{gid.address()};
            address.prefix = 64;
            if (usable(gid) && address.link_local()) addresses_.push_back(address);
        }
        return;
    }
    const std::string there = describe_gids(facts_);
    throw std::runtime_error(
        gid_index_ >= 0
            ? fmt::format("RDMA device {}: verbs.gid_index: found {}, expected the index of a RoCE "
                          "v2 GID that is an address of {}: {}",
                          text(), gid_index_, netdev(), there)
            : fmt::format("RDMA device {} has no RoCE v2 GID that is an address of {}; GIDs: {}",
                          text(), netdev(), there));
}

std::string Device::text() const {
    return fmt::format("{} on {}", facts_.device, facts_.netdev);
}

std::optional<std::uint8_t> Device::gid_of(const base::Address& address) const {
    const ibv_gid wanted = gid_from(address);
    std::vector<ibv_gid_entry> entries(std::size_t(port_.gid_tbl_len));
    const ssize_t count = ibv_query_gid_table(context_.get(), entries.data(), entries.size(), 0);
    for (ssize_t i = 0; i < count; ++i) {
        const ibv_gid_entry& it = entries[std::size_t(i)];
        if (it.port_num == port() && it.gid_type == IBV_GID_TYPE_ROCE_V2 &&
            std::memcmp(it.gid.raw, wanted.raw, 16) == 0 &&
            (gid_index_ < 0 || it.gid_index == std::uint32_t(gid_index_)))
            return std::uint8_t(it.gid_index);
    }
    return std::nullopt;
}

std::string Device::trouble() {
    if (const std::string_view what = trouble_of_device(netdev()); !what.empty())
        return fmt::format("its device {} {}", netdev(), what);
    if (const int error = ibv_query_port(context_.get(), port(), &port_); error != 0)
        return fmt::format("{} does not answer: {}", text(), std::strerror(error));
    if (port_.state == IBV_PORT_ACTIVE) return "";
    return fmt::format("the port of {} is {}", text(), ibv_port_state_str(port_.state));
}

void Device::add_room(int more_receives, int more_sends) {
    const std::array<int, queues> more{more_receives, more_sends, 0};
    for (std::size_t i = 0; i < queues; ++i) {
        room_[i] += more[i];
        if (room_[i] <= queues_[i]->cqe) continue;
        const int wanted = std::min(std::max(room_[i], 2 * queues_[i]->cqe), limits_.max_cqe);
        if (wanted < room_[i] || ibv_resize_cq(queues_[i].get(), wanted) != 0)
            throw std::runtime_error(fmt::format(
                "RDMA device {}: no completion queue of {} entries; it has at most {}: lower "
                "transport.tokens",
                text(), room_[i], limits_.max_cqe));
    }
}

void Device::arm(bool with_sends) {
    for (std::size_t i = 0; i < queues; ++i) {
        if (armed_[i] || (i == sends && !with_sends)) continue;
        armed_[i] = ibv_req_notify_cq(queues_[i].get(), 0) == 0;
    }
}

void Device::take_events() {
    ibv_cq* queue = nullptr;
    void* which = nullptr;
    while (ibv_get_cq_event(events_.get(), &queue, &which) == 0) {
        armed_[reinterpret_cast<std::uintptr_t>(which)] = false;
        ibv_ack_cq_events(queue, 1);
    }
}

bool Device::read_trouble(const std::function<void(const ibv_qp*, std::string_view)>& report) {
    ibv_async_event event;
    bool usable = false;
    while (ibv_get_async_event(context_.get(), &event) == 0) {
        const char* const what = ibv_event_type_str(event.event_type);
        switch (event.event_type) {
            case IBV_EVENT_PORT_ERR:
                report(nullptr, fmt::format("the port of {} went down", text()));
                break;
            case IBV_EVENT_DEVICE_FATAL:
            case IBV_EVENT_CQ_ERR:
                report(nullptr, fmt::format("{}: {}", text(), what));
                break;
            case IBV_EVENT_QP_FATAL:
            case IBV_EVENT_QP_REQ_ERR:
            case IBV_EVENT_QP_ACCESS_ERR:
                report(event.element.qp, fmt::format("{}: {}", text(), what));
                break;
            case IBV_EVENT_PORT_ACTIVE:
            case IBV_EVENT_GID_CHANGE:
                usable = true;
                break;
            default:
                break;  // a harmless event
        }
        ibv_ack_async_event(&event);
    }
    return usable;
}

std::uint64_t Device::counter(const char* name) const {
    std::ifstream file(fmt::format("/sys/class/infiniband/{}/ports/{}/hw_counters/{}",
                                   facts_.device, facts_.port, name));
    std::uint64_t value = 0;
    return file >> value ? value : 0;
}

// Soft-RoCE's names first, then those of Mellanox adapters; counters that do not exist count as 0.
Device::Counters Device::read_counters() const {
    return {counter("send_rnr_err") + counter("rcvd_rnr_err") + counter("out_of_buffer") +
                counter("rnr_nak_retry_err"),
            counter("completer_retry_err") + counter("local_ack_timeout_err") +
                counter("packet_seq_err")};
}

Device::Counters Device::counters() const {
    const Counters now = read_counters();
    return {now.receiver_not_ready - before_.receiver_not_ready, now.retries - before_.retries};
}

}  // namespace torusmp::transport::verbs
