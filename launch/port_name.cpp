// SPDX-License-Identifier: BSD-3-Clause
#include "launch/port_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "launch/environment.h"
#include "launch/meeting_socket.h"

namespace torusmp::launch {
namespace {

constexpr std::string_view prefix = "torusmp-port:";
constexpr std::size_t place_digits = 16, secret_digits = 2 * secret_bytes;
constexpr std::size_t socket_length = prefix.size() + place_digits;
constexpr std::size_t shortest = socket_length + 1 + secret_digits;

bool are_digits(std::string_view text) {
    return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

bool is_port_socket(std::string_view socket) {
    return socket.size() == socket_length && socket.starts_with(prefix) &&
           are_digits(socket.substr(prefix.size()));
}

PortName PortName::random(std::string host) {
    return {fmt::format("{}{}", prefix, random_digits().substr(0, place_digits)), random_digits(),
            std::move(host)};
}

std::optional<PortName> PortName::read(std::string_view name) {
    if (name.size() < shortest || !is_port_socket(name.substr(0, socket_length)) ||
        name[socket_length] != ':')
        return std::nullopt;
    PortName port{std::string(name.substr(0, socket_length)),
                  std::string(name.substr(socket_length + 1, secret_digits)),
                  {}};
    if (!are_digits(port.secret)) return std::nullopt;
    if (name.size() == shortest) return port;
    port.host = name.substr(shortest + 1);
    if (name[shortest] != ':' || port.host.empty()) return std::nullopt;
    return port;
}

std::string PortName::text() const {
    return fmt::format("{}:{}{}{}", socket, secret, host.empty() ? "" : ":", host);
}

}  // namespace torusmp::launch
