// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/spawn/port_call.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/hex.hpp>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "config/geometry.h"
#include "launch/far_port.h"
#include "launch/meeting_socket.h"
#include "launch/port_name.h"
#include "launch/published_names.h"
#include "launch/stand_in.h"
#include "mpi11/spawn/joined.h"
#include "mpi11/spawn/meeting.h"

namespace torusmp::mpi {
namespace {

using Strings = std::vector<std::string>;

// What torus-stand-ins on other hosts do, and a socket to them.
struct Carried {
    std::unique_ptr<job::Subjob> carrier;
    base::Descriptor socket;
};
Carried carry(Strings arguments, const Strings& what) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        throw std::runtime_error(fmt::format("cannot open a socket: {}", std::strerror(errno)));
    base::Descriptor here(ends[0]), there(ends[1]);
    arguments.insert(arguments.end(),
                     {"--bind", "none", "--", launch::stand_in_path(job::torus_run_path())});
    arguments.insert(arguments.end(), what.begin(), what.end());
    auto carrier = std::make_unique<job::Subjob>("torus-run", std::move(arguments), Strings{}, true,
                                                 there, there);
    return {std::move(carrier), std::move(here)};
}

[[noreturn]] void cannot_reach(const std::string& host, job::Subjob& carrier) {
    wait_idly([&] { return carrier.ended().has_value(); });
    throw std::runtime_error(fmt::format("cannot reach {}: {}", host, carrier.errors()));
}

// `known` means that the host of the port is this one. Otherwise this host may have another name in
// the geometry of the other job.
std::shared_ptr<Talk> call_here(const launch::PortName& port, bool known) {
    base::Descriptor socket;
    // Too many callers may wait there at present.
    wait_idly([&] {
        socket = launch::connect_to(port.socket, SOCK_NONBLOCK);
        return socket || errno != EAGAIN;
    });
    if (!socket && errno == ECONNREFUSED && !known)
        throw std::runtime_error(fmt::format("{} is not a host of this job's machine", port.host));
    const std::string why =
        launch::why_not_connected(socket, port.host.empty() ? "this host" : port.host);
    if (!why.empty()) throw std::runtime_error(why);
    fcntl(socket.get(), F_SETFL, 0);  // it blocks from now on
    return std::make_shared<SocketTalk>(std::move(socket));
}

std::shared_ptr<Talk> call_there(const launch::PortName& port, const Introduction& introduction,
                                 const job::Process& job) {
    auto place = job::place_ranks(job.settings(), own_node(job), 1, {port.host});
    place.options.insert(place.options.end(), {"-np", "1"});
    Carried carried = carry(std::move(place.options), {"--port", port.socket, port.host});
    job::Subjob& carrier = *carried.carrier;
    const auto talk =
        std::make_shared<SocketTalk>(std::move(carried.socket), std::move(carried.carrier));
    talk->introduce(port.secret, introduction);
    std::string why;
    try {
        why = await_message(*talk);
    } catch (const std::runtime_error&) {
        cannot_reach(port.host, carrier);
    }
    if (!why.empty()) throw std::runtime_error(why);
    return talk;
}

std::string read_to_end(const base::Descriptor& socket) {
    std::string text;
    wait_idly([&] {
        std::array<char, 4096> piece;
        const ssize_t n = recv(socket.get(), piece.data(), piece.size(), MSG_DONTWAIT);
        if (n < 0) return errno != EINTR && errno != EAGAIN;
        text.append(piece.data(), std::size_t(n));
        return n == 0;
    });
    return text;
}

std::optional<std::string> ask_hosts(const std::string& service, const job::Process& job,
                                     Hosts hosts) {
    Carried carried =
        carry(job::options_of_hosts(job.settings(), own_node(job), hosts == Hosts::of_machine),
              {"--look-up", service});
    const std::string found = read_to_end(carried.socket);
    const std::string digits = found.substr(0, found.find('\n'));
    job::Subjob& carrier = *carried.carrier;
    wait_idly([&] { return carrier.ended().has_value(); });
    if (*carrier.ended() != 0) cannot_reach("the other hosts", carrier);
    if (digits.empty()) return std::nullopt;
    return boost::algorithm::unhex(digits);
}

}  // namespace

std::string own_host(const job::Process& job) {
    return job::host_of(job.settings(), own_node(job));
}

std::shared_ptr<Talk> call_port(const std::string& name, const Introduction& introduction,
                                const job::Process& job) {
    const auto port = launch::PortName::read(name);
    if (!port)
        throw std::runtime_error(
            "not the name of a port: expected a name that MPI_Open_port returned");
    const Strings& hosts = job::machine_hosts(job.settings());
    const bool known = std::ranges::count(hosts, port->host) != 0;
    if (known && port->host != own_host(job)) return call_there(*port, introduction, job);
    auto talk = call_here(*port, known || port->host.empty());
    talk->introduce(port->secret, introduction);
    return talk;
}

std::optional<std::string> look_up_on_hosts(const std::string& service, const job::Process& job,
                                            Hosts hosts) {
    const std::size_t own = host_names(job.settings()).size();
    const std::size_t all = job::machine_hosts(job.settings()).size();
    auto port = launch::look_up(service);
    if (!port && own > 1) port = ask_hosts(service, job, Hosts::of_job);
    if (!port && hosts == Hosts::of_machine && all > own)
        port = ask_hosts(service, job, Hosts::of_machine);
    return port;
}

}  // namespace torusmp::mpi
