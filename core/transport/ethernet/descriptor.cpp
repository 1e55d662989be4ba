// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/ethernet/descriptor.h"

#include "core/transport/ethernet/forwarding.h"
#include "core/transport/ethernet/interface.h"
#include "core/transport/ethernet/probe.h"
#include "core/transport/tcp/settings.h"

namespace torusmp::transport::ethernet {
namespace {

const FrameProbe probe;
const FrameForwarding forwarding;
const config::Table no_settings;

std::unique_ptr<Interface> make(const config::Settings& settings, const Surroundings& surroundings,
                                const std::vector<PortOptions>& ports) {
    InterfaceOptions options;
    options.take(settings, surroundings);
    options.socket_buffer = settings[tcp::setting::socket_buffer];
    return std::make_unique<EthernetInterface>(ports, std::move(options));
}

}  // namespace

const Descriptor descriptor{
    .name = "ethernet",
    .title = "Ethernet frames",
    .help =
        "Ethernet frames for short messages, TCP for the others, over cables at both ends of "
        "which ranks get packet sockets",
    .rank = 20,
    .needs_devices = true,
    .wants_cores = true,
    .capabilities = capabilities,
    .probe = probe,
    .settings = no_settings,
    .forwarding = &forwarding,
    .make = make};

}  // namespace torusmp::transport::ethernet
