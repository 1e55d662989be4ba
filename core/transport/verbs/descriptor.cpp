// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/verbs/descriptor.h"

#include "core/transport/verbs/interface.h"
#include "core/transport/verbs/probe.h"
#include "core/transport/verbs/settings.h"

namespace torusmp::transport::verbs {
namespace {

const RdmaProbe probe;

std::unique_ptr<Interface> make(const config::Settings& settings, const Surroundings& surroundings,
                                const std::vector<PortOptions>& ports) {
    InterfaceOptions options;
    options.take(settings, surroundings);
    options.gid_index = settings[setting::gid_index];
    options.cache = settings[setting::cache];
    return std::make_unique<VerbsInterface>(ports, std::move(options));
}

}  // namespace

const Descriptor descriptor{
    .name = "verbs",
    .title = "RDMA",
    .help = "RDMA by verbs (RoCE v2), over cables that have it at both ends",
    .rank = 50,
    .needs_devices = true,
    .reaches_link_addresses = true,
    .capabilities = capabilities,
    .probe = probe,
    .settings = setting::table,
    .make = make};

}  // namespace torusmp::transport::verbs
