// SPDX-License-Identifier: BSD-3-Clause
// The RDMA device behind one network device: its completion queues and capabilities.
//
// Three completion queues share one event channel: for received packets, for sent ones, and for the
// datagrams that establish connections. An armed queue stays armed until it has rung, so a rank
// that sleeps often has to rearm only those that did.
//
// Owned by the VerbsInterface and used under the Runtime's lock.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/transport/common/address.h"
#include "core/transport/verbs/handles.h"
#include "core/transport/verbs/rdma.h"

namespace torusmp::transport::verbs {

class Device {
  public:
    enum Queue { receives, sends, greetings };
    static constexpr std::size_t queues = 3;

    // `index` distinguishes it from the others of an interface. `gid_index` is the GID to use, or
    // -1 for the GID of the link's address. `may_be_down` means that its cable may be dead, and its
    // addresses may appear later. Throws std::runtime_error that names the device, the reason and
    // the remedy.
    Device(const std::string& netdev, std::size_t index, int gid_index, bool may_be_down);

    const std::string& netdev() const { return facts_.netdev; }
    unsigned netdev_index() const { return netdev_index_; }
    std::string text() const;  // "rxe_xp on enp1s0f0"
    std::size_t index() const { return index_; }
    std::uint8_t port() const { return std::uint8_t(facts_.port); }
    ibv_context* context() const { return context_.get(); }
    ibv_pd* domain() const { return domain_.get(); }
    ibv_mtu mtu() const { return port_.active_mtu; }
    const ibv_device_attr& limits() const { return limits_; }

    // Addresses of the network device that a queue pair can use.
    const std::vector<DeviceAddress>& addresses() const { return addresses_; }
    // The present index of that address in the port's GID table: GIDs appear and disappear with
    // their addresses, and may return at another index.
    std::optional<std::uint8_t> gid_of(const base::Address& address) const;
    // Why nothing can be sent by it now, such as "is down"; empty if it can.
    std::string trouble();

    ibv_cq* queue(Queue which) const { return queues_[which].get(); }
    // Makes room for the completions of one more queue pair. Throws std::runtime_error.
    void add_room(int receives, int sends);

    // Requests, before sleep, an event at the next completion of these queues, unless one is
    // pending.
    void arm(bool with_sends);
    int events_descriptor() const { return events_->fd; }
    int trouble_descriptor() const { return context_->async_fd; }
    void take_events();
    // Calls report(queue pair, or null for the whole device, reason) for everything that failed.
    // Returns true if the device can be used and may not have been usable before.
    bool read_trouble(const std::function<void(const ibv_qp*, std::string_view)>& report);

    // The device's counters of abnormal events since it was opened here.
    struct Counters {
        std::uint64_t receiver_not_ready = 0;  // a packet found no slot, which is our bug
        std::uint64_t retries = 0;  // packets were resent, which is a fault of the fabric
    };
    Counters counters() const;

  private:
    void open(bool may_be_down);
    void choose_addresses(bool may_be_down);
    std::uint64_t counter(const char* name) const;
    Counters read_counters() const;

    RdmaPort facts_;
    std::size_t index_;
    int gid_index_;  // the GID index to use; negative: any
    unsigned netdev_index_ = 0;
    Context context_;
    Domain domain_;
    EventChannel events_;
    std::array<CompletionQueue, queues> queues_;
    std::array<bool, queues> armed_{};
    std::array<int, queues> room_{};
    ibv_port_attr port_{};
    ibv_device_attr limits_{};
    std::vector<DeviceAddress> addresses_;
    Counters before_;
};

// The GID of an address; IPv4 is mapped into IPv6.
ibv_gid gid_from(const base::Address& address);

}  // namespace torusmp::transport::verbs
