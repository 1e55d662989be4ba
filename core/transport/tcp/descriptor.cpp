// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/tcp/descriptor.h"

#include "core/transport/tcp/interface.h"
#include "core/transport/tcp/settings.h"

namespace torusmp::transport::tcp {
namespace {

const Probe probe;

std::unique_ptr<Interface> make(const config::Settings& settings, const Surroundings& surroundings,
                                const std::vector<PortOptions>& ports) {
    InterfaceOptions options;
    options.take(settings, surroundings);
    options.socket_buffer = settings[setting::socket_buffer];
    return std::make_unique<TcpInterface>(ports, std::move(options));
}

}  // namespace

const Descriptor descriptor{.name = "tcp",
                            .title = "TCP",
                            .help = "TCP, over the cables and wherever routes lead",
                            .rank = 10,
                            .capabilities = capabilities,
                            .probe = probe,
                            .settings = setting::table,
                            .make = make};

}  // namespace torusmp::transport::tcp
