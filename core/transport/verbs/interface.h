// SPDX-License-Identifier: BSD-3-Clause
// Verbs between the nodes of a torus: a reliable-connected queue pair for each link, on the RDMA
// device of the link's network device, and direct ones to ranks further away, if the kernels in
// between forward RoCE v2 packets.
//
// The bootstrap's exchange distributes what a peer must know: for each port the device's addresses
// and the number of its datagram queue pair (greeter.h). By datagrams, both ends of a channel
// exchange their queue pairs, prove that they belong to the job, and announce when they can
// receive. This happens inside poll(), in parallel with traffic (channel.h describes the states).
//
// A link whose cable has died may be connected again, and waits for the cable to return
// (returning.cpp).
//
// Polling reads the completion queues, which are in this process's memory; waiting arms them and
// sleeps in epoll.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/transport/common/alarm.h"
#include "core/transport/common/exposures.h"
#include "core/transport/common/network.h"
#include "core/transport/verbs/channel.h"
#include "core/transport/verbs/greeter.h"
#include "core/transport/verbs/settings.h"

namespace torusmp::transport::verbs {

// Every port has a device.
struct InterfaceOptions : NetworkOptions {
    int gid_index = setting::gid_index.initial();  // auto_number: the GID of the link's address
    std::size_t cache = setting::cache.initial();  // bytes of registered memory to keep
};

class VerbsInterface final : public Network<VerbsChannel> {
  public:
    // Throws std::runtime_error that names the device, the reason and the remedy.
    VerbsInterface(const std::vector<PortOptions>& ports, InterfaceOptions options);
    ~VerbsInterface() override;

    Channel& connect(ConstBytes peer_address, const ChannelOptions& options) override;
    int poll(Sink& sink) override;
    RemoteMemory register_memory(Bytes memory, const Channel* channel) override;
    void deregister_memory(const RemoteMemory& memory) override;
    Bytes registered(const RemoteMemory& memory, std::size_t offset, std::size_t bytes) override {
        return exposures_.find(memory.handle, offset, bytes);
    }
    Bytes place(const RemoteAddress& target, std::uint32_t port, std::size_t bytes) override;
    bool idle() const override;
    std::string statistics() const override;
    void say_goodbye() override;
    void* allocate(std::size_t bytes, std::size_t alignment) override;
    void free(void* memory) override;
    void prepare_sleep() override;
    void cancel_sleep() override;
    void sleep(Clock::time_point deadline) override;

    // For tests.
    const RegistrationStatistics& registrations() const { return registrations_.statistics(); }
    ChannelStatistics traffic() const;         // of all channels
    Device::Counters device_counters() const;  // of all devices

  private:
    friend class VerbsChannel;

    Device& device_of(std::uint32_t port) const;

    // parts of poll()
    int take_receive_completions(Device& device, Sink& sink);
    void take_send_completions(Device& device);
    void look(int timeout);
    void hand_over_all();
    void look_at_the_clock();

    // connection establishment
    void hear(const Hello& hello);
    void greet(VerbsChannel& channel);
    bool try_to_reach(VerbsChannel& channel);
    bool find_way(VerbsChannel& channel);
    // Gives the last frames of a channel that is being closed time to be sent.
    void give_time(VerbsChannel& channel);

    // time, and links whose cable has died (returning.cpp)
    void await_peer(VerbsChannel& channel, Clock::time_point now, Clock::duration gap);
    bool begin_again(VerbsChannel& channel);
    void bury();
    void read_monitor();
    void read_trouble(Device& device);
    void call_again();

    // reported by channels
    void make_dirty(VerbsChannel& channel);

    InterfaceOptions options_;
    std::vector<std::unique_ptr<Device>> devices_;
    std::map<std::uint32_t, Device*> device_of_port_;
    std::vector<std::unique_ptr<Greeter>> greeters_;  // by device
    Slots slots_;
    Registrations registrations_;
    Exposures exposures_;                     // by RemoteMemory::handle
    std::vector<Registration*> exposed_by_;   // by the index of an exposure
    std::map<std::uint32_t, Hello> pending_;  // proven, but not connected here yet, by port
    std::vector<std::uint32_t> knocked_;      // their ports, until reported to core
    std::vector<VerbsChannel*> dirty_;
    // Channels whose device accepted no more requests, with the reason: brought down at the end of
    // the poll, not while they are sending.
    std::vector<std::pair<VerbsChannel*, std::string>> broken_;
    Slot* delivering_ = nullptr;  // the slot that is being delivered to core
    Device* hot_ = nullptr;       // the last one to receive something, likely the busiest
    // Owners of requests, by the index in the requests' numbers.
    std::vector<VerbsChannel*> posting_;
    // Down and replaced; kept until the device has returned what they had posted.
    std::vector<std::unique_ptr<VerbsChannel>> replaced_;
    Clock::time_point last_look_at_clock_{};
    Clock::time_point next_look_at_clock_{};
    bool impatient_ = false;  // channels wait for their peers, so the clock is read often
    // For how long this process could have noticed an answer, since the last look at all channels.
    Clock::duration attended_{};
    Clock::duration slept_{};  // since the clock was read
    Clock::time_point fell_asleep_{};
    Alarm alarm_;              // for a sleeper, when the clock must be read
    std::size_t awaited_ = 0;  // writes whose completion core awaits
    // Channels that are connecting for the first time and are not open yet.
    std::size_t waiting_ = 0;
    bool said_goodbye_ = false;
    bool thorough_ = true;  // the next poll() polls everything
    bool looked_ = false;   // since the last prepare_sleep()
};

}  // namespace torusmp::transport::verbs
