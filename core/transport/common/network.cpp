// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/common/network.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "base/assert.h"
#include "core/transport/common/settings.h"

namespace torusmp::transport {

void NetworkOptions::take(const config::Settings& settings, const Surroundings& surroundings) {
    secret = surroundings.secret;
    host = surroundings.host;
    devices = surroundings.devices;
    spares_links = surroundings.spares_links;
    oversubscribed = surroundings.oversubscribed;
    timeout = settings[setting::timeout];
    checksum = settings[setting::checksum];
    log = surroundings.log;
}

void NetworkChannel::report_down(Sink& sink) {
    if (!std::exchange(down_told_, true)) sink.on_down(*this, fmt::format("{} ({})", why_, name_));
}

void NetworkChannel::take_grant(CreditWord credits) {
    TORUSMP_ASSERT((granted_ & credit_guard_bits) == 0, granted_, credits);
    // Checked lane by lane: a lane that overflows would be taken for credits of the next one.
    if ((credits & credit_guard_bits) != 0 || ((granted_ + credits) & credit_guard_bits) != 0)
        fail("more credits arrived than exist");
    else
        granted_ += credits;
}

NetworkInterface::NetworkInterface(std::string_view name, const Capabilities& capabilities,
                                   const std::vector<PortOptions>& ports, const std::string& host)
    : Interface(name, capabilities),
      ports_(ports),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      bell_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (!epoll_ || !bell_) refuse("cannot open epoll or an eventfd", errno);
    draw(address_.id);
    address_.host = host;
}

void NetworkInterface::refuse(std::string_view what, int error) const {
    throw std::runtime_error(fmt::format("{}: {}: {}", name(), what, std::strerror(error)));
}

void NetworkInterface::watch(int descriptor, std::uint64_t number) {
    if (descriptor < 0) return;  // it does not exist, so it never reports anything
    epoll_event event{EPOLLIN, {.u64 = number}};
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) refuse("epoll_ctl", errno);
}

void NetworkInterface::wake() noexcept {
    const std::uint64_t one = 1;
    if (write(bell_.get(), &one, sizeof one) >= 0)  // otherwise it has already been rung
        rung_.store(true, std::memory_order_release);
}

void NetworkInterface::silence_bell() {
    // A bell that is being rung just now ends the next sleep immediately, and is silenced before
    // the one after that.
    if (!rung_.exchange(false, std::memory_order_acquire)) return;
    std::uint64_t rings = 0;
    if (read(bell_.get(), &rings, sizeof rings) < 0) return;  // it was not rung
}

bool NetworkInterface::has_port(std::uint32_t port) const {
    return std::any_of(ports_.begin(), ports_.end(),
                       [&](const PortOptions& it) { return it.port == port; });
}

const PortOptions& NetworkInterface::port_options(std::uint32_t port) const {
    for (const PortOptions& options : ports_)
        if (options.port == port) return options;
    throw std::runtime_error(fmt::format("{}: port {} was not opened", name(), port));
}

void NetworkInterface::report_news(Sink& sink) {
    for (const Finished& it : std::exchange(transfers_, {}))
        sink.on_transfer(*it.channel, it.cookie, it.ok);
    for (NetworkChannel* it : std::exchange(fallen_, {})) it->report_down(sink);
}

int milliseconds_until(Clock::time_point deadline) {
    if (deadline == Clock::time_point::max()) return -1;
    using std::chrono::milliseconds;
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
    return int(std::clamp<std::int64_t>(left, 0, 1 << 30));
}

}  // namespace torusmp::transport
