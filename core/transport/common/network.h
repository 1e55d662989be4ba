// SPDX-License-Identifier: BSD-3-Clause
// The common base of transports over network devices: the state that every channel has, the
// descriptors that an interface polls and sleeps on, its address, and its reports to core at the
// end of a poll. How connections are established, and what they carry, is up to each transport.
//
// Used under the Runtime's lock; only wake() may be called from anywhere.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "config/settings.h"
#include "core/transport/api/interface.h"
#include "core/transport/api/surroundings.h"
#include "core/transport/common/address.h"
#include "core/transport/common/monitor.h"
#include "core/transport/common/secret.h"

namespace torusmp::transport {

struct NetworkOptions {
    Secret secret{};
    std::string host;                 // the name of this host, for messages at both ends
    std::vector<PortDevice> devices;  // of the ports that are bound to a device
    bool spares_links = false;        // the start does not fail because of a dead link
    bool oversubscribed = false;      // ranks outnumber cores
    std::chrono::nanoseconds timeout = std::chrono::seconds(10);
    bool checksum = false;                      // of every packet, by CRC-32C
    std::function<void(std::string_view)> log;  // of what the user should know; may be empty

    // Sets what every transport over a network needs from them.
    void take(const config::Settings& settings, const Surroundings& surroundings);
};

class NetworkChannel : public Channel {
  public:
    // Packets sent before a channel is open wait in it; packets sent once it is finished (one of
    // the two ends said goodbye) or down are dropped; Sink::on_down() has reported that.
    enum class State { waiting, meeting, open, finished, down };

    NetworkChannel(const Capabilities& capabilities, const PortOptions& port)
        : Channel(capabilities), port_(port) {}

    bool connecting() const override { return state_ < State::open; }
    CreditWord collect_grants() override { return std::exchange(granted_, 0); }
    void cork() override { corked_ = true; }

    std::uint32_t port() const { return port_.port; }
    const std::string& name() const { return name_; }  // both ends, for messages
    // The error of the last attempt to connect; empty if there was none.
    const std::string& trouble() const { return trouble_; }
    // Calls Sink::on_down(), unless core knows already that the channel is down.
    void report_down(Sink& sink);

    // Must be called inside a poll, at whose end on_down() is called.
    virtual void fail(std::string why) = 0;
    // Offers held packets to core again. Returns how many were taken.
    virtual int offer_held(Sink& sink) = 0;

  protected:
    // Takes credits that returned without a packet. Fails the channel if there are more than
    // outstanding.
    void take_grant(CreditWord credits);
    // Core has closed the channel and needs no on_down().
    void closed_by_core() { down_told_ = true; }

    const PortOptions port_;
    State state_ = State::waiting;
    std::string name_;  // both ends, for messages
    Id peer_{};
    std::uint32_t remote_port_ = 0;
    std::string trouble_;  // the error of the last attempt to connect
    std::string why_;      // why the channel went down
    bool down_told_ = false;
    bool corked_ = false;
    bool dirty_ = false;  // it is in the interface's list of channels that have more to send
    CreditWord granted_ = 0;
};

class NetworkInterface : public Interface {
  public:
    std::vector<std::byte> address() const override { return address_.encode(); }
    int descriptor() override { return epoll_.get(); }
    void wake() noexcept override;

  protected:
    // Throws std::runtime_error with the system's reason.
    NetworkInterface(std::string_view name, const Capabilities& capabilities,
                     const std::vector<PortOptions>& ports, const std::string& host);

    // Events of a descriptor are reported under the number with which it is watched.
    void watch(int descriptor, std::uint64_t number);
    void silence_bell();
    [[noreturn]] void refuse(std::string_view what, int error) const;
    bool has_port(std::uint32_t port) const;
    const PortOptions& port_options(std::uint32_t port) const;
    void report_news(Sink& sink);
    bool has_news() const { return !fallen_.empty() || !transfers_.empty(); }

    // A remote write that has ended and is not yet reported to core.
    struct Finished {
        NetworkChannel* channel;
        std::uint64_t cookie;
        bool ok;
    };

    std::vector<PortOptions> ports_;
    Address address_;
    base::Descriptor epoll_;
    base::Descriptor bell_;
    std::atomic<bool> rung_{false};
    Monitor monitor_;
    std::vector<NetworkChannel*> fallen_;  // channels that went down, to be reported
    std::vector<Finished> transfers_;
    unsigned turn_ = 0;        // polls
    std::size_t holding_ = 0;  // channels with held packets
    bool polling_ = false;
};

// An interface whose channels are of the transport's own class.
template <class OwnChannel>
class Network : public NetworkInterface {
  protected:
    using NetworkInterface::NetworkInterface;

    OwnChannel* channel_of(std::uint32_t port) const {
        for (const auto& it : channels_)
            if (it->port() == port) return it.get();
        return nullptr;
    }
    int offer_held(Sink& sink) {
        int taken = 0;
        if (holding_ != 0)  // by index: core may connect further channels meanwhile
            for (std::size_t i = 0; i < channels_.size(); ++i)
                taken += channels_[i]->offer_held(sink);
        return taken;
    }
    // The peers that are still awaited, one per line.
    std::string awaited_peers() const {
        std::string text;
        for (const auto& it : channels_)
            if (it->connecting()) text += awaited(*it);
        return text;
    }

    std::vector<std::unique_ptr<OwnChannel>> channels_;

  private:
    std::string awaited(const NetworkChannel& channel) const {
        return std::string(name()) + ": " + channel.name() +
               ": the other end has not answered yet" + (channel.trouble().empty() ? "" : ": ") +
               channel.trouble() + "\n";
    }
};

// A timeout for epoll_wait(): until the deadline, rounded up; -1 if unlimited.
int milliseconds_until(Clock::time_point deadline);

}  // namespace torusmp::transport
