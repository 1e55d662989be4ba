#include "programs/torus_check/probe.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/in6.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <system_error>

#include "base/descriptor.h"
#include "config/network.h"
#include "config/options.h"
#include "core/transport/machine.h"
#include "programs/torus_check/protocol.h"

namespace torusmp::check {

namespace {

using base::Descriptor;
using Clock = std::chrono::steady_clock;

constexpr auto tick = std::chrono::milliseconds(1);  // between two probes on one device
constexpr int largest_burst = 8;
constexpr auto patience = std::chrono::seconds(5);  // with a device that takes no packets
constexpr std::size_t most_far_ends = 4096;         // a device that has more is on no cable
constexpr int receive_buffer = 1 << 20;

// ---- Sockets ----

template <class Value>
void set_option(int socket, int level, int option, const Value& value) {
    // Where an option is refused the probes still go out; the report shows what is missing.
    (void)::setsockopt(socket, level, option, &value, sizeof value);
}

base::Descriptor open_socket(int family, const config::Device& device) {
    base::Descriptor socket(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return socket;
    if (::setsockopt(socket.get(), SOL_SOCKET, SO_BINDTODEVICE, device.name.c_str(),
                     socklen_t(device.name.size())) != 0)
        throw std::system_error(errno, std::generic_category(),
                                fmt::format("cannot bind a socket to {}", device.name));
    set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    set_option(socket.get(), SOL_SOCKET, SO_RCVBUF, receive_buffer);
    set_option(socket.get(), SOL_SOCKET, SO_RXQ_OVFL, 1);
    return socket;
}

base::Descriptor open_v6(const config::Device& device, int port) {
    base::Descriptor socket = open_socket(AF_INET6, device);
    if (!socket) return socket;
    set_option(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
    set_option(socket.get(), IPPROTO_IPV6, IPV6_MULTICAST_IF, device.index);
    set_option(socket.get(), IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0);
    set_option(socket.get(), IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(std::uint16_t(port));
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0) return {};
    return socket;
}

base::Descriptor open_v4(const config::Device& device, int port) {
    base::Descriptor socket = open_socket(AF_INET, device);
    if (!socket) return socket;
    set_option(socket.get(), SOL_SOCKET, SO_BROADCAST, 1);
    set_option(socket.get(), IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = htons(std::uint16_t(port));
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0) return {};
    return socket;
}

// ---- One device ----

class DeviceProbe {
  public:
    DeviceProbe(const config::Device& device, const Job& job, bool sends)
        : device_(device), job_(job), sends_(sends) {
        v6_ = open_v6(device, job.port);
        v4_ = open_v4(device, job.port);
        by_v6_ = v6_ && device.ipv6_link_local();
        sent_.device = device.name;
        sent_.large_bytes = device.mtu;
        if (!v6_ && !v4_)
            sent_.trouble = fmt::format("no socket on port {}: {}", job.port, std::strerror(errno));
    }

    void add_polls(std::vector<pollfd>& polls) const {
        for (const base::Descriptor* socket : {&v6_, &v4_})
            if (*socket) polls.push_back({socket->get(), POLLIN, 0});
    }

    bool done() const { return !sends_ || !sent_.trouble.empty() || next_ == total(); }

    // One probe, unless the device is busy.
    void send() {
        const bool large = next_ >= job_.small_probes;
        const ProbePacket packet = encode(job_.nonce, {job_.node, device_.name, next_});
        std::vector<std::byte> bytes(large ? large_payload() : sizeof packet);
        std::memcpy(bytes.data(), &packet, sizeof packet);
        if (transmit(bytes) >= 0) {
            ++(large ? sent_.large : sent_.small);
            ++next_;
            blocked_since_.reset();
        } else if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR) {
            if (!blocked_since_) blocked_since_ = Clock::now();
            if (Clock::now() - *blocked_since_ > patience)
                sent_.trouble = "the device takes no packets";
        } else {
            sent_.trouble = fmt::format("cannot send: {}", std::strerror(errno));
        }
    }

    // Everything that has arrived.
    void receive() {
        for (const base::Descriptor* socket : {&v6_, &v4_})
            while (*socket && receive_one(socket->get())) {
            }
    }

    void add_to(ProbeReport& report) const {
        Sent sent = sent_;
        for (const auto& [socket, count] : overflow_) sent.overflow += count;
        report.sent.push_back(sent);
        for (const auto& [end, sequences] : heard_) {
            const auto limit = sequences.lower_bound(job_.small_probes);
            report.heard.push_back({device_.name, end.first, end.second,
                                    int(std::distance(sequences.begin(), limit)),
                                    int(std::distance(limit, sequences.end()))});
        }
    }

  private:
    int total() const { return job_.small_probes + job_.large_probes; }

    std::size_t large_payload() const {
        const int headers = by_v6_ ? 40 + 8 : 20 + 8;
        return std::max(sizeof(ProbePacket), std::size_t(std::max(0, device_.mtu - headers)));
    }

    ssize_t transmit(std::span<const std::byte> bytes) const {
        if (by_v6_) {
            sockaddr_in6 all{};
            all.sin6_family = AF_INET6;
            all.sin6_port = htons(std::uint16_t(job_.port));
            all.sin6_scope_id = std::uint32_t(device_.index);
            ::inet_pton(AF_INET6, "ff02::1", &all.sin6_addr);
            return ::sendto(v6_.get(), bytes.data(), bytes.size(), 0,
                            reinterpret_cast<const sockaddr*>(&all), sizeof all);
        }
        sockaddr_in all{};
        all.sin_family = AF_INET;
        all.sin_port = htons(std::uint16_t(job_.port));
        all.sin_addr.s_addr = htonl(INADDR_BROADCAST);
        return ::sendto(v4_.get(), bytes.data(), bytes.size(), 0,
                        reinterpret_cast<const sockaddr*>(&all), sizeof all);
    }

    bool receive_one(int socket) {
        std::byte bytes[sizeof(ProbePacket)];
        alignas(cmsghdr) char control[64];
        iovec part{bytes, sizeof bytes};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        const ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT);
        if (got < 0) return errno == EINTR;
        note_overflow(socket, message);
        if (const auto identity = decode({bytes, std::size_t(got)}, job_.nonce, job_.nodes))
            note(*identity);
        return true;
    }

    void note_overflow(int socket, msghdr& message) {
        for (cmsghdr* at = CMSG_FIRSTHDR(&message); at; at = CMSG_NXTHDR(&message, at))
            if (at->cmsg_level == SOL_SOCKET && at->cmsg_type == SO_RXQ_OVFL)
                std::memcpy(&overflow_[socket], CMSG_DATA(at), sizeof(std::uint32_t));
    }

    void note(const Identity& identity) {
        // A broadcast comes back to its own device.
        if (identity.node == job_.node && identity.device == device_.name) return;
        if (identity.sequence >= total()) return;
        const std::pair end{identity.node, identity.device};
        if (heard_.size() >= most_far_ends && !heard_.count(end)) return;
        heard_[end].insert(identity.sequence);
    }

    config::Device device_;
    const Job& job_;
    bool sends_;
    bool by_v6_ = false;
    base::Descriptor v6_, v4_;
    int next_ = 0;
    std::optional<Clock::time_point> blocked_since_;
    Sent sent_;
    std::map<int, int> overflow_;  // by socket
    std::map<std::pair<int, std::string>, std::set<int>> heard_;
};

// ---- The probe ----

void say(std::string_view text) {
    while (!text.empty()) {
        const ssize_t put = ::write(STDOUT_FILENO, text.data(), text.size());
        if (put < 0 && errno == EINTR) continue;
        if (put < 0)
            throw std::system_error(errno, std::generic_category(), "torus-check does not listen");
        text.remove_prefix(std::size_t(put));
    }
}

// Standard input, a line at a time.
class Orders {
  public:
    // False at the end of standard input. Blocks only where there is nothing to read yet.
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
        open_devices(facts);
        say(config::format_facts(facts) + "ready\n");
        while (!finished_ && step()) {
        }
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

    // It listens on every device, since a cable may be plugged in where none should be.
    void open_devices(const config::HostFacts& facts) {
        for (const config::Device& device : facts.devices)
            if (!device.loopback && device.up) probes_.emplace_back(device, job_, sends_on(device));
    }

    // Waits for an order, an arrival or the next probe, and acts. False: nobody is left to report
    // to.
    bool step() {
        std::vector<pollfd> polls{{STDIN_FILENO, POLLIN, 0}};
        for (const DeviceProbe& probe : probes_) probe.add_polls(polls);
        const int wait = sending_ ? int(tick.count()) : -1;
        if (::poll(polls.data(), polls.size(), wait) < 0 && errno != EINTR)
            throw std::system_error(errno, std::generic_category(), "poll");
        for (DeviceProbe& probe : probes_) probe.receive();
        if (sending_ && Clock::now() >= next_tick_) send();
        if (polls[0].revents == 0) return true;
        if (!orders_.read_more()) return false;
        while (const auto line = orders_.next()) obey(*line);
        return true;
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

    void obey(const std::string& order) {
        if (order == "send") {
            sending_ = true;
            next_tick_ = Clock::now();
        } else if (order == "report") {
            ProbeReport report;
            for (DeviceProbe& probe : probes_) {
                probe.receive();
                probe.add_to(report);
            }
            say(format_report(report));
            finished_ = true;
        } else {
            throw ProtocolError(fmt::format("unknown order \"{}\"", order));
        }
    }

    Job job_;
    Orders orders_;
    std::vector<DeviceProbe> probes_;
    bool sending_ = false, finished_ = false;
    Clock::time_point next_tick_{};
};

}  // namespace

int run_probe() {
    return Probe().run();
}

}  // namespace torusmp::check
