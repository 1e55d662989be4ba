// SPDX-License-Identifier: BSD-3-Clause
// Prepares one host for its ranks, or reports what prevents it. Starts no process.
#pragma once

#include <vector>

#include "config/cpus.h"
#include "programs/torus_run/streams/messages.h"

namespace torusmp::torus_run {

struct Prepared {
    HostFacts facts;
    std::vector<config::CpuList> cpus;  // by local rank
};

// Prepares a host that an agent reached: adopts the working directory, the file mode mask and the
// environment of the order, finds the program, and checks the geometry file. Changes this process,
// and adapts `order` to this host.
Prepared prepare_remote_host(HostOrder& order);
// On the user's own host, where the environment is already in place but for the devices by which
// ranks meet.
Prepared prepare_own_host(HostOrder& order);

// Removes the binding if torus-run chose it: hosts that share a machine would all bind their ranks
// to the same processors.
void unbind(config::Bind bind, std::vector<config::CpuList>& cpus);

// Whether a variable describes a host or a login on it, rather than the job.
bool belongs_to_a_host(std::string_view variable);

}  // namespace torusmp::torus_run
