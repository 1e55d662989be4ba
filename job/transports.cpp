#include "job/transports.h"

#include <fmt/format.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "config/network.h"
#include "core/transport/shm/interface.h"
#include "core/transport/tcp/interface.h"
#include "core/transport/verbs/interface.h"
#include "job/wiring.h"

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

std::string host_name(const config::Settings& settings, core::Rank rank) {
    if (!settings.hosts->empty() && !settings.dims->empty())
        return (*settings.hosts)[std::size_t(settings.node_of(rank))];
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
    tcp.host = host_name(settings, options.rank);
    tcp.devices = link_devices(settings, options);
    tcp.socket_buffer = *settings.socket_buffer;
    tcp.timeout = *settings.timeout;
    tcp.checksum = *settings.checksum;
    return [tcp](const Ports& ports) {
        return std::make_unique<transport::tcp::TcpInterface>(ports, tcp);
    };
}

Factory verbs_factory(const config::Settings& settings, const launch::Bootstrap& bootstrap,
                      const core::Options& options, const Wiring& wiring) {
    transport::verbs::InterfaceOptions verbs;
    verbs.secret = transport::derive_secret(bootstrap.secret());
    verbs.host = host_name(settings, options.rank);
    for (const Wiring::Device& it : wiring.devices()) verbs.devices.push_back({it.port, it.name});
    verbs.timeout = *settings.timeout;
    verbs.ack_timeout = *settings.verbs_ack_timeout;
    verbs.retries = *settings.verbs_retries;
    verbs.rnr_timer = *settings.verbs_rnr_timer;
    verbs.rnr_retries = *settings.verbs_rnr_retries;
    verbs.gid_index = *settings.verbs_gid_index;
    verbs.cache = *settings.verbs_cache;
    verbs.log = options.log;
    return [verbs](const Ports& ports) {
        return std::make_unique<transport::verbs::VerbsInterface>(ports, verbs);
    };
}

[[noreturn]] void refuse(const config::Settings& settings, std::string_view what) {
    const std::string& where = settings.use.origin.where;
    const bool named = where.find("transport.use") != std::string::npos;  // by the flag itself
    throw config::ConfigError(fmt::format("{}{}{}", where.empty() ? "" : where + ": ",
                                          named ? "" : "transport.use: ", what));
}

// Shared memory inside this host, verbs and TCP to others, as each link allows.
std::unique_ptr<core::Runtime> open_mixed(const config::Settings& settings,
                                          launch::Bootstrap& bootstrap, core::Options options) {
    const Wiring wiring(settings, bootstrap, options);
    // Ranks of other nodes are meant to be reached over the links, even where one host plays many
    // nodes.
    if (*settings.use == TransportUse::verbs)
        std::erase_if(options.direct, [&, node = settings.node_of(options.rank)](core::Rank rank) {
            return settings.node_of(rank) != node;
        });
    const bool crowded = options.oversubscribed;
    std::vector<core::Runtime::Wire> wires;
    wires.push_back({verbs_factory(settings, bootstrap, options, wiring),
                     [wiring](core::Rank peer, std::optional<routing::Direction> link) {
                         return wiring.by_verbs(peer, link);
                     }});
    wires.push_back({tcp_factory(settings, bootstrap, options)});
    return std::make_unique<core::Runtime>(std::move(options), shm_factory(settings, crowded, true),
                                           std::move(wires));
}

}  // namespace

std::unique_ptr<core::Runtime> open_runtime(const config::Settings& settings,
                                            launch::Bootstrap& bootstrap, core::Options options) {
    const bool crowded = options.oversubscribed;
    const bool one_host = int(bootstrap.local_ranks().size()) == bootstrap.size();
    switch (*settings.use) {
        case TransportUse::verbs:
            if (settings.dims->empty() && bootstrap.size() > 1)
                refuse(settings,
                       "found verbs, but no torus is set, so no link has a device: give a geometry "
                       "file with [torus] and [links], or expected auto, shm or tcp");
            if (bootstrap.size() > 1) return open_mixed(settings, bootstrap, std::move(options));
            break;
        case TransportUse::shm:
            if (!one_host)
                refuse(settings,
                       fmt::format("found shm, but {} of {} ranks are on other hosts: expected "
                                   "auto, tcp or verbs",
                                   bootstrap.size() - int(bootstrap.local_ranks().size()),
                                   bootstrap.size()));
            break;
        case TransportUse::tcp: {
            const Factory tcp = tcp_factory(settings, bootstrap, options);
            return std::make_unique<core::Runtime>(std::move(options), tcp);
        }
        case TransportUse::automatic:
            break;
    }
    if (one_host)
        return std::make_unique<core::Runtime>(std::move(options),
                                               shm_factory(settings, crowded, false));
    if (!settings.dims->empty()) return open_mixed(settings, bootstrap, std::move(options));
    const Factory tcp = tcp_factory(settings, bootstrap, options);
    return std::make_unique<core::Runtime>(std::move(options), shm_factory(settings, crowded, true),
                                           std::vector<core::Runtime::Wire>{{tcp}});
}

}  // namespace torusmp::job
