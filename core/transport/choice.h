// SPDX-License-Identifier: BSD-3-Clause
// Chooses the transport of a link, with the reason: one inside the host if both ends are on one
// host, else the best between hosts that nothing prevents at either end and that suits the job.
//
// The rule depends on facts only: both ranks of a link reach the same result, since each has the
// facts of both ends and the same settings. Pure; any thread may call.
#pragma once

#include <span>
#include <string>

#include "config/cable.h"
#include "config/settings.h"
#include "core/transport/api/descriptor.h"
#include "core/transport/list.h"

namespace torusmp::transport {

struct LinkChoice {
    const Descriptor* carrier = nullptr;
    std::string reason;   // "enp1s0f1 of qcd011 has no RDMA device"
    std::string warning;  // what could be better, and what to do; empty if nothing
    std::string advice;   // what rules out a better transport that is present, and what to do
};

// The facts on which a choice depends besides machines and settings, as far as they are known; the
// same on all ranks.
struct Placement {
    bool one_host = false;      // the ranks at both ends run on one host
    bool shares_cores = false;  // on some host, the job has more ranks than processors
};

// The result does not depend on which end is named first. If one end was not probed, it is assumed
// to have what the other has, and the reason mentions this. Throws ConfigError if the settings
// request a transport that cannot be used; the error names the link, the devices, what was found,
// and what to do. `among` lists the transports to choose from, highest rank first; the lowest one
// that needs no devices is not probed.
LinkChoice choose_link(const config::Settings& settings, config::CableEnd one,
                       config::CableEnd other, Placement placement = {},
                       std::span<const Descriptor* const> among = transports());

// The choice for two ranks without a common cable, between which the kernels of other nodes
// forward: each end is the link by which the connection leaves its node (routing/pair_path.h). If
// an end was not probed, the result is a transport that needs no devices.
LinkChoice choose_forwarded(const config::Settings& settings, config::CableEnd one,
                            config::CableEnd other, Placement placement = {},
                            std::span<const Descriptor* const> among = transports());

}  // namespace torusmp::transport
