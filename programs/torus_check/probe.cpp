// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_check/probe.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <list>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "base/link_counters.h"
#include "base/text.h"
#include "config/network.h"
#include "config/options.h"
#include "core/transport/machine.h"
#include "programs/torus_check/device_probe.h"
#include "programs/torus_check/protocol.h"
#include "programs/torus_check/pushes.h"
#include "programs/torus_run/streams/loop.h"

namespace torusmp::torus_check {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto tick = std::chrono::milliseconds(1);        // between two probes on one device
constexpr auto push_tick = std::chrono::milliseconds(50);  // between two looks for late streams
constexpr int largest_burst = 8;

void say(std::string_view text) {
    while (!text.empty()) {
        const ssize_t put = ::write(STDOUT_FILENO, text.data(), text.size());
        if (put < 0 && errno == EINTR) continue;
        if (put < 0)
            throw std::system_error(errno, std::generic_category(), "torus-check does not listen");
        text.remove_prefix(std::size_t(put));
    }
}

// A cable that has just been plugged in would look dead as long as its devices do not transmit.
void await_transmission(const std::vector<config::Device>& devices) {
    constexpr std::chrono::milliseconds longest(5000), pause(10);
    const auto end = Clock::now() + longest;
    for (const config::Device& device : devices)
        while (device.carrier && !config::transmits(device) && Clock::now() < end)
            std::this_thread::sleep_for(pause);
}

// Reads standard input line by line.
class Orders {
  public:
    // Returns false at the end of standard input. Blocks only until input arrives.
    bool read_more() {
        char bytes[4096];
        ssize_t got;
        do got = ::read(STDIN_FILENO, bytes, sizeof bytes);
        while (got < 0 && errno == EINTR);
        if (got <= 0) return false;
        text_.append(bytes, std::size_t(got));
        return true;
    }

    std::optional<std::string> next() {
        const std::size_t end = text_.find('\n');
        if (end == std::string::npos) return std::nullopt;
        std::string line = text_.substr(0, end);
        text_.erase(0, end + 1);
        return line;
    }

  private:
    std::string text_;
};

class Probe {
  public:
    int run() {
        say(fmt::format("{} {}\n", hello_word, TORUSMP_VERSION));
        if (!read_job()) return config::exit_ok;
        const config::HostFacts facts = transport::this_host(job_.geometry, job_.routes);
        await_transmission(facts.devices);
        open_devices(facts);
        if (!loop_.watch(STDIN_FILENO, EPOLLIN, [this](auto) { hear_orders(); }))
            throw std::runtime_error(
                "standard input is not a pipe: only torus-check starts this worker");
        say(config::format_facts(facts) + "ready\n");
        while (!told_to_end_) step();
        return config::exit_ok;
    }

  private:
    bool read_job() {
        for (;;) {
            while (const auto line = orders_.next())
                if (parse_job_line(*line, job_)) return true;
            if (!orders_.read_more()) return false;
        }
    }

    bool sends_on(const config::Device& device) const {
        return job_.devices.empty() || std::find(job_.devices.begin(), job_.devices.end(),
                                                 device.name) != job_.devices.end();
    }

    // Listens on every device, because a cable may be plugged into a device that should have none.
    void open_devices(const config::HostFacts& facts) {
        for (const config::Device& device : facts.devices) {
            if (device.loopback || !device.up) continue;
            DeviceProbe& probe = probes_.emplace_back(device, job_, sends_on(device));
            for (const int socket : probe.sockets())
                loop_.watch(socket, EPOLLIN, [&probe](auto) { probe.receive(); });
            if (sends_on(device)) pushes_.listen(device.name);
        }
    }

    // Waits for an order, an arrival or the next probe, and acts.
    void step() {
        const int wait = sending_         ? int(tick.count())
                         : pushes_.busy() ? int(push_tick.count())
                                          : -1;
        loop_.step(wait, [] {});
        pushes_.tick();
        if (sending_ && Clock::now() >= next_tick_) send();
    }

    // One probe on every device for each tick that has passed; a busy host catches up in bursts
    // small enough for a receive buffer.
    void send() {
        const auto now = Clock::now();
        const auto due = std::clamp<std::int64_t>((now - next_tick_) / tick + 1, 1, largest_burst);
        next_tick_ = now + tick;
        bool done = true;
        for (DeviceProbe& probe : probes_) {
            for (std::int64_t i = 0; i < due && !probe.done(); ++i) probe.send();
            done = done && probe.done();
        }
        if (!done) return;
        sending_ = false;
        say("sending-done\n");
    }

    void hear_orders() {
        told_to_end_ = !orders_.read_more();
        while (const auto line = orders_.next()) obey(*line);
    }

    void obey(const std::string& order) {
        if (order.starts_with("send ")) {
            const Round round = parse_round(order);
            for (DeviceProbe& probe : probes_) probe.begin(round);
            sending_ = true;
            next_tick_ = Clock::now();
        } else if (order.starts_with("push ")) {
            push(parse_push(order, job_.nodes));
        } else if (order == "report") {
            say(format_report(make_report()));
        } else {
            throw ProtocolError(fmt::format("unknown order \"{}\"", base::printable(order)));
        }
    }

    ProbeReport make_report() {
        ProbeReport report;
        for (DeviceProbe& probe : probes_) {
            probe.receive();
            probe.add_to(report);
        }
        for (const auto& [device, counters] : base::read_counters())
            report.counted.push_back({device, counters});
        return report;
    }

    static sockaddr_storage address_of(const std::string& ipv4) {
        sockaddr_storage storage{};
        auto& address = reinterpret_cast<sockaddr_in&>(storage);
        address.sin_family = AF_INET;
        ::inet_pton(AF_INET, ipv4.c_str(), &address.sin_addr);
        return storage;
    }

    void push(const Push& push) {
        for (const DeviceProbe& probe : probes_)
            if (probe.device().name == push.device)
                if (const auto far = probe.address_of(push.node, push.far))
                    return pushes_.start(push, push.ipv4.empty() ? *far : address_of(push.ipv4));
        Pushed nothing;
        nothing.id = push.id;
        nothing.trouble = "no packet arrived from its other end";
        say(format_pushed(nothing));
    }

    torus_run::Loop loop_;
    Job job_;
    Orders orders_;
    std::list<DeviceProbe> probes_;
    Pushes pushes_{loop_, job_, [](const Pushed& pushed) { say(format_pushed(pushed)); }};
    bool sending_ = false, told_to_end_ = false;
    Clock::time_point next_tick_{};
};

}  // namespace

int run_probe() {
    return Probe().run();
}

}  // namespace torusmp::torus_check
