// SPDX-License-Identifier: BSD-3-Clause
#include "job/transports.h"

#include <fmt/format.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "config/geometry.h"
#include "core/transport/common/secret.h"
#include "core/transport/list.h"
#include "job/wiring.h"

namespace torusmp::job {
namespace {

using Factory = core::Runtime::InterfaceFactory;
using Ports = std::vector<transport::PortOptions>;
using transport::Descriptor;

std::string host_name(const config::Settings& settings, core::Rank rank) {
    if (!host_names(settings).empty() && !settings[config::setting::dims].empty())
        return host_names(settings)[std::size_t(node_of(settings, rank))];
    char name[256] = "localhost";
    gethostname(name, sizeof name - 1);
    return name;
}

// `settings` outlives the construction of the Runtime, in which interfaces are created.
Factory factory_of(const Descriptor& descriptor, const config::Settings& settings,
                   const launch::Bootstrap& bootstrap, const core::Options& options,
                   std::vector<transport::PortDevice> devices, bool beside_others) {
    transport::Surroundings surroundings{.secret = transport::derive_secret(bootstrap.secret()),
                                         .host = host_name(settings, options.rank),
                                         .devices = std::move(devices),
                                         .oversubscribed = options.oversubscribed,
                                         .beside_others = beside_others,
                                         .spares_links = options.detour,
                                         .log = options.log};
    return [&descriptor, &settings, surroundings](const Ports& ports) {
        return descriptor.make(settings, surroundings, ports);
    };
}

[[noreturn]] void refuse(const config::Settings& settings, std::string_view what) {
    const std::string& where = settings.origin(transport::setting::use).where;
    const bool named = where.find("transport.use") != std::string::npos;  // by the flag itself
    throw config::ConfigError(fmt::format("{}{}{}", where.empty() ? "" : where + ": ",
                                          named ? "" : "transport.use: ", what));
}

// One transport for the ranks of this host, and for the others the best that each link allows.
std::unique_ptr<core::Runtime> open_mixed(const config::Settings& settings,
                                          launch::Bootstrap& bootstrap, core::Options options) {
    const Wiring wiring(settings, bootstrap, options);
    const Descriptor* const wanted = transport::wanted_transport(settings);
    // Ranks of other nodes are reached over the links, even if one host acts as many nodes.
    if (wanted != nullptr && wanted->needs_devices)
        std::erase_if(options.direct, [&, node = node_of(settings, options.rank)](core::Rank rank) {
            return node_of(settings, rank) != node;
        });
    const Descriptor& rest = transport::fallback_transport();
    std::vector<core::Runtime::LinkTransport> link_transports;
    for (const Descriptor* it : transport::transports())
        if (!it->inside_host && it != &rest)
            link_transports.push_back(
                {factory_of(*it, settings, bootstrap, options, wiring.devices(*it), true),
                 [wiring, it](core::Rank peer, std::optional<routing::Direction> link) {
                     return wiring.carrier(peer, link) == it;
                 }});
    link_transports.push_back(
        {factory_of(rest, settings, bootstrap, options, wiring.devices(rest), true),
         [wiring](core::Rank peer, std::optional<routing::Direction> link) {
             return wiring.carrier(peer, link) != nullptr;
         }});
    const Factory inside =
        factory_of(transport::host_transport(), settings, bootstrap, options, {}, true);
    return std::make_unique<core::Runtime>(std::move(options), inside, std::move(link_transports));
}

}  // namespace

std::unique_ptr<core::Runtime> open_runtime(const config::Settings& settings,
                                            launch::Bootstrap& bootstrap, core::Options options) {
    const int elsewhere = bootstrap.size() - int(bootstrap.local_ranks().size());
    const bool torus = !settings[config::setting::dims].empty();
    const auto make = [&](const Descriptor& descriptor, bool beside_others) {
        return factory_of(descriptor, settings, bootstrap, options, link_devices(settings, options),
                          beside_others);
    };
    const Descriptor* const wanted = transport::wanted_transport(settings);
    if (wanted != nullptr && wanted->needs_devices && bootstrap.size() > 1) {
        if (!torus)
            refuse(settings,
                   fmt::format("found {}, but no torus is set, so no link has a device: give a "
                               "geometry file with [torus] and [links], or choose {}",
                               wanted->name, transport::those_that([](const Descriptor& it) {
                                   return !it.needs_devices;
                               })));
        return open_mixed(settings, bootstrap, std::move(options));
    }
    if (wanted != nullptr && wanted->inside_host && elsewhere != 0)
        refuse(settings, fmt::format("found {}, but {} of {} ranks are on other hosts: expected {}",
                                     wanted->name, elsewhere, bootstrap.size(),
                                     transport::those_that(
                                         [](const Descriptor& it) { return !it.inside_host; })));
    if (wanted != nullptr && !wanted->needs_devices && !wanted->inside_host) {
        const Factory alone = make(*wanted, false);
        return std::make_unique<core::Runtime>(std::move(options), alone);
    }
    if (elsewhere != 0 && torus) return open_mixed(settings, bootstrap, std::move(options));
    const Factory inside = make(transport::host_transport(), elsewhere != 0);
    std::vector<core::Runtime::LinkTransport> link_transports;
    if (elsewhere != 0) link_transports.push_back({make(transport::fallback_transport(), true)});
    return std::make_unique<core::Runtime>(std::move(options), inside, std::move(link_transports));
}

}  // namespace torusmp::job
