#include "job/transports.h"

#include <fmt/format.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "config/network.h"
#include "core/transport/shm/interface.h"
#include "core/transport/tcp/interface.h"

namespace torusmp::job {
namespace {

using config::TransportUse;
using Factory = core::Runtime::InterfaceFactory;
using Ports = std::vector<transport::PortOptions>;

transport::shm::CopyMode copy_mode(config::CopyMode mode) {
    switch (mode) {
        case config::CopyMode::cma:
            return transport::shm::CopyMode::one_copy;
        case config::CopyMode::pipeline:
            return transport::shm::CopyMode::packets;
        case config::CopyMode::automatic:
            break;
    }
    return transport::shm::CopyMode::automatic;
}

std::string host_name() {
    char name[256] = "localhost";
    gethostname(name, sizeof name - 1);
    return name;
}

Factory shm_factory(const config::Settings& settings, bool crowded, bool with_wire) {
    transport::shm::InterfaceOptions shm;
    shm.copy = copy_mode(*settings.copy);
    shm.crowded = crowded;
    shm.by_descriptor = with_wire;
    return [shm](const Ports& ports) {
        return std::make_unique<transport::shm::ShmInterface>(ports, shm);
    };
}

// The devices behind the links that leave this rank's node.
std::vector<transport::tcp::InterfaceOptions::Device> link_devices(const config::Settings& settings,
                                                                   const core::Options& options) {
    std::vector<transport::tcp::InterfaceOptions::Device> devices;
    if (settings.dims->empty()) return devices;
    const int node = settings.node_of(options.rank);
    for (int i = 0; i < 2 * options.torus.dimensions(); ++i) {
        const auto direction = routing::Direction::from_index(i);
        const auto neighbour = options.torus.neighbour(options.rank, direction);
        if (!neighbour || settings.node_of(*neighbour) == node) continue;
        const std::string device = config::link_device(settings, node, direction);
        if (!device.empty()) devices.push_back({std::uint32_t(direction.index()), device});
    }
    return devices;
}

Factory tcp_factory(const config::Settings& settings, const launch::Bootstrap& bootstrap,
                    const core::Options& options) {
    transport::tcp::InterfaceOptions tcp;
    tcp.secret = transport::derive_secret(bootstrap.secret());
    tcp.host = settings.hosts->empty() || settings.dims->empty()
                   ? host_name()
                   : (*settings.hosts)[std::size_t(settings.node_of(options.rank))];
    tcp.devices = link_devices(settings, options);
    tcp.socket_buffer = *settings.socket_buffer;
    tcp.timeout = *settings.timeout;
    tcp.checksum = *settings.checksum;
    return [tcp](const Ports& ports) {
        return std::make_unique<transport::tcp::TcpInterface>(ports, tcp);
    };
}

[[noreturn]] void refuse(const config::Settings& settings, std::string_view what) {
    const std::string& where = settings.use.origin.where;
    const bool named = where.find("transport.use") != std::string::npos;  // by the flag itself
    throw config::ConfigError(fmt::format("{}{}{}", where.empty() ? "" : where + ": ",
                                          named ? "" : "transport.use: ", what));
}

}  // namespace

std::unique_ptr<core::Runtime> open_runtime(const config::Settings& settings,
                                            const launch::Bootstrap& bootstrap,
                                            core::Options options) {
    const bool crowded = options.oversubscribed;
    const bool one_host = int(bootstrap.local_ranks().size()) == bootstrap.size();
    const Factory tcp = tcp_factory(settings, bootstrap, options);
    switch (*settings.use) {
        case TransportUse::verbs:
            refuse(settings, "found verbs, expected auto, shm or tcp: this build has no verbs");
        case TransportUse::shm:
            if (!one_host)
                refuse(settings,
                       fmt::format("found shm, but {} of {} ranks are on other hosts: expected "
                                   "auto or tcp",
                                   bootstrap.size() - int(bootstrap.local_ranks().size()),
                                   bootstrap.size()));
            break;
        case TransportUse::tcp:
            return std::make_unique<core::Runtime>(std::move(options), tcp);
        case TransportUse::automatic:
            break;
    }
    if (one_host)
        return std::make_unique<core::Runtime>(std::move(options),
                                               shm_factory(settings, crowded, false));
    return std::make_unique<core::Runtime>(std::move(options), shm_factory(settings, crowded, true),
                                           std::vector<core::Runtime::Wire>{{tcp}});
}

}  // namespace torusmp::job
