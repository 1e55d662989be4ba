// SPDX-License-Identifier: BSD-3-Clause
#include "launch/far_port.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <boost/algorithm/hex.hpp>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "launch/meeting_socket.h"
#include "launch/port_name.h"
#include "launch/published_names.h"

namespace torusmp::launch {
namespace {

bool write_all(int to, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(to, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes.remove_prefix(std::size_t(n));
    }
    return true;
}

// Returns false at the end of one of the two.
bool carry(int from, int to) {
    std::array<char, 65536> bytes;
    const ssize_t n = ::read(from, bytes.data(), bytes.size());
    if (n < 0) return errno == EINTR;
    return n > 0 && write_all(to, {bytes.data(), std::size_t(n)});
}

}  // namespace

std::string why_not_connected(const base::Descriptor& port, const std::string& host) {
    if (port)
        return is_same_user(port) ? std::string() : std::string("the port belongs to another user");
    return errno == ECONNREFUSED
               ? fmt::format("no process of {} has this port open", host)
               : fmt::format("cannot connect to the port: {}", std::strerror(errno));
}

int carry_to_port(const std::string& socket, const std::string& host) {
    const base::Descriptor port = connect_to(socket);
    const std::string why = why_not_connected(port, host);
    const auto length = std::uint32_t(why.size());
    if (!write_all(STDOUT_FILENO, {reinterpret_cast<const char*>(&length), sizeof length}) ||
        !write_all(STDOUT_FILENO, why) || !why.empty())
        return 0;
    std::array<pollfd, 2> ends{{{STDIN_FILENO, POLLIN, 0}, {port.get(), POLLIN, 0}}};
    for (;;) {
        if (poll(ends.data(), ends.size(), -1) < 0) continue;
        if (ends[1].revents != 0 && !carry(port.get(), STDOUT_FILENO)) return 0;
        if (ends[0].revents != 0 && !carry(STDIN_FILENO, port.get())) return 0;
    }
}

int print_port_of(const std::string& service) {
    try {
        if (const auto port = look_up(service))
            fmt::print("{}\n", boost::algorithm::hex_lower(*port));
        return 0;
    } catch (const std::runtime_error& failure) {
        fmt::print(stderr, "torus-stand-in: {}\n", failure.what());
        return 1;
    }
}

}  // namespace torusmp::launch
