// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/shm/descriptor.h"

#include "core/transport/shm/channel.h"
#include "core/transport/shm/interface.h"
#include "core/transport/shm/settings.h"

namespace torusmp::transport::shm {
namespace {

const Probe probe;

std::unique_ptr<Interface> make(const config::Settings& settings, const Surroundings& surroundings,
                                const std::vector<PortOptions>& ports) {
    return std::make_unique<ShmInterface>(
        ports, InterfaceOptions{.copy = settings[setting::copy],
                                .large_blocks = settings[setting::large_blocks],
                                .oversubscribed = surroundings.oversubscribed,
                                .by_descriptor = surroundings.beside_others});
}

}  // namespace

const Descriptor descriptor{.name = "shm",
                            .title = "shared memory",
                            .help = "shared memory, between the ranks of a host",
                            .rank = 100,
                            .inside_host = true,
                            .capabilities = capabilities,
                            .probe = probe,
                            .settings = setting::table,
                            .make = make};

}  // namespace torusmp::transport::shm
