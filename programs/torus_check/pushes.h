// SPDX-License-Identifier: BSD-3-Clause
// Transfers over cables: each sends bytes over one TCP connection from a device of this host to the
// device at the far end, and measures how long they take until the far end has them. This host is
// also the far end of others', whose bytes it takes and counts.
//
// Owned by the probe and used by its one thread.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <list>
#include <optional>
#include <string>

#include "base/descriptor.h"
#include "programs/torus_check/protocol.h"
#include "programs/torus_run/streams/loop.h"

namespace torusmp::torus_check {

class Pushes {
  public:
    using Done = std::function<void(const Pushed&)>;

    // `job` must outlive this.
    Pushes(torus_run::Loop& loop, const Job& job, Done done);
    ~Pushes();

    // Accepts connections on a device. If this fails, the other ends notice.
    void listen(const std::string& device);
    // `far` is the address of the far end on that cable, with a port that does not matter.
    void start(const Push& push, sockaddr_storage far);
    bool busy() const { return !outgoing_.empty(); }
    // Ends transfers that take too long.
    void tick();

  private:
    using Clock = std::chrono::steady_clock;

    struct Outgoing {
        Push push;
        base::Descriptor socket;
        Clock::time_point started, first_byte{};
        std::uint64_t sent = 0;
        bool connected = false, finished = false;
        bool over = false;  // removed at the next tick
    };
    struct Incoming {
        base::Descriptor socket;
        std::string device;
        std::vector<std::byte> hello;
        std::uint64_t taken = 0;
        bool over = false;
    };

    void watch_listener(base::Descriptor socket, const std::string& device);
    void accept(int listener, const std::string& device);
    void take(Incoming& from);
    void give(Outgoing& to);
    bool say_hello(Outgoing& to);
    void fill(Outgoing& to);
    void hear_confirmation(Outgoing& to);
    void end(Outgoing& to, std::uint64_t confirmed, const std::string& trouble);
    void end(Incoming& from);

    torus_run::Loop& loop_;
    const Job& job_;
    Done done_;
    std::list<base::Descriptor> listeners_;
    std::list<Outgoing> outgoing_;
    std::list<Incoming> incoming_;
};

}  // namespace torusmp::torus_check
