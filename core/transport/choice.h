// SPDX-License-Identifier: BSD-3-Clause
// Which transport carries a link, and why: one inside the host if both ends are on one, else the
// best between hosts whose use nothing prevents at either end, and that suits the job.
//
// A rule on facts: both ranks of a link come to the same answer, since each has the facts of both
// ends and the same settings. Pure; any thread may call.
#pragma once

#include <string>

#include "config/cable.h"
#include "config/settings.h"
#include "core/transport/api/descriptor.h"

namespace torusmp::transport {

struct LinkChoice {
    const Descriptor* carrier = nullptr;
    std::string reason;   // "enp1s0f1 of qcd011 has no RDMA device"
    std::string warning;  // what could be better, and what to do; empty: nothing
    std::string advice;   // what keeps it from a better one that is there, and what to do
};

// What a choice hangs on beside machines and settings, as far as it is known; all ranks know alike.
struct Placement {
    bool one_host = false;      // the ranks at both ends run on one host
    bool shares_cores = false;  // somewhere, more ranks of the job than processors
};

// The same whichever end is named first. If one end was not asked, it is taken to have what the
// other has, and the reason says so. Throws ConfigError if the settings ask for a transport that
// cannot be used: it names link, devices, what was found, and what to do.
LinkChoice choose_link(const config::Settings& settings, config::CableEnd one,
                       config::CableEnd other, Placement placement = {});

// The same for two ranks without a common cable, between which the kernels of other nodes forward:
// each end is the link by which the connection leaves its node (routing/pair_path.h). If an end was
// not asked, the answer is a transport that needs no devices.
LinkChoice choose_forwarded(const config::Settings& settings, config::CableEnd one,
                            config::CableEnd other, Placement placement = {});

}  // namespace torusmp::transport
