#include "job/transports.h"

#include <fmt/format.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "config/geometry.h"
#include "config/network.h"
#include "core/transport/settings.h"
#include "core/transport/shm/interface.h"
#include "core/transport/shm/settings.h"
#include "core/transport/tcp/interface.h"
#include "core/transport/tcp/settings.h"
#include "core/transport/verbs/interface.h"
#include "core/transport/verbs/settings.h"
#include "job/wiring.h"

namespace torusmp::job {
namespace {

using Factory = core::Runtime::InterfaceFactory;
using Ports = std::vector<transport::PortOptions>;

std::string host_name(const config::Settings& settings, core::Rank rank) {
    if (!host_names(settings).empty() && !settings[config::setting::dims].empty())
        return host_names(settings)[std::size_t(node_of(settings, rank))];
    char name[256] = "localhost";
    gethostname(name, sizeof name - 1);
    return name;
}

Factory shm_factory(const config::Settings& settings, bool crowded, bool with_wire) {
    transport::shm::InterfaceOptions shm;
    shm.copy = settings[transport::shm::setting::copy];
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
    if (settings[config::setting::dims].empty()) return devices;
    const int node = node_of(settings, options.rank);
    for (int i = 0; i < 2 * options.torus.dimensions(); ++i) {
        const auto direction = routing::Direction::from_index(i);
        const auto neighbour = options.torus.neighbour(options.rank, direction);
        if (!neighbour || node_of(settings, *neighbour) == node) continue;
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
    tcp.socket_buffer = settings[transport::tcp::setting::socket_buffer];
    tcp.timeout = settings[transport::setting::timeout];
    tcp.checksum = settings[transport::setting::checksum];
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
    verbs.timeout = settings[transport::setting::timeout];
    verbs.ack_timeout = settings[transport::verbs::setting::ack_timeout];
    verbs.retries = settings[transport::verbs::setting::retries];
    verbs.rnr_timer = settings[transport::verbs::setting::rnr_timer];
    verbs.rnr_retries = settings[transport::verbs::setting::rnr_retries];
    verbs.gid_index = settings[transport::verbs::setting::gid_index];
    verbs.cache = settings[transport::verbs::setting::cache];
    verbs.log = options.log;
    return [verbs](const Ports& ports) {
        return std::make_unique<transport::verbs::VerbsInterface>(ports, verbs);
    };
}

[[noreturn]] void refuse(const config::Settings& settings, std::string_view what) {
    const std::string& where = settings.origin(transport::setting::use).where;
    const bool named = where.find("transport.use") != std::string::npos;  // by the flag itself
    throw config::ConfigError(fmt::format("{}{}{}", where.empty() ? "" : where + ": ",
                                          named ? "" : "transport.use: ", what));
}

// Shared memory inside this host, verbs and TCP to others, as each link allows.
std::unique_ptr<core::Runtime> open_mixed(const config::Settings& settings,
                                          launch::Bootstrap& bootstrap, core::Options options) {
    const Wiring wiring(settings, bootstrap, options);
    // Ranks of other nodes are to be reached over the links, even where one host plays several
    // nodes.
    if (settings[transport::setting::use] == "verbs")
        std::erase_if(options.direct, [&, node = node_of(settings, options.rank)](core::Rank rank) {
            return node_of(settings, rank) != node;
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
    const std::string& use = settings[transport::setting::use];
    if (use == "verbs" && bootstrap.size() > 1) {
        if (settings[config::setting::dims].empty())
            refuse(settings,
                   "found verbs, but no torus is set, so no link has a device: give a geometry "
                   "file with [torus] and [links], or expected auto, shm or tcp");
        return open_mixed(settings, bootstrap, std::move(options));
    }
    if (use == "shm" && !one_host)
        refuse(settings, fmt::format("found shm, but {} of {} ranks are on other hosts: expected "
                                     "auto, tcp or verbs",
                                     bootstrap.size() - int(bootstrap.local_ranks().size()),
                                     bootstrap.size()));
    if (use == "tcp") {
        const Factory tcp = tcp_factory(settings, bootstrap, options);
        return std::make_unique<core::Runtime>(std::move(options), tcp);
    }
    if (one_host)
        return std::make_unique<core::Runtime>(std::move(options),
                                               shm_factory(settings, crowded, false));
    if (!settings[config::setting::dims].empty())
        return open_mixed(settings, bootstrap, std::move(options));
    const Factory tcp = tcp_factory(settings, bootstrap, options);
    return std::make_unique<core::Runtime>(std::move(options), shm_factory(settings, crowded, true),
                                           std::vector<core::Runtime::Wire>{{tcp}});
}

}  // namespace torusmp::job
