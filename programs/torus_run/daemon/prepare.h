// SPDX-License-Identifier: BSD-3-Clause
// Makes one host ready for its ranks, or reports what prevents it. Starts nothing.
#pragma once

#include <vector>

#include "config/cpus.h"
#include "programs/torus_run/streams/messages.h"

namespace torusmp::launch {

struct Prepared {
    HostFacts facts;
    std::vector<config::CpuList> cpus;  // by local rank
};

// On a host that an agent reached: takes on the working directory, the file mode mask and the
// environment of the order, finds the program, and looks at the geometry file. Changes this
// process, and `order` to what holds here.
Prepared prepare_remote_host(HostOrder& order);
// On the user's own host, where all this is in place already.
Prepared prepare_own_host(const HostOrder& order);

// Takes the processors away again where the choice was left to us: hosts that share a machine would
// all bind their ranks to the same ones.
void unbind(config::Bind bind, std::vector<config::CpuList>& cpus);

// Names of variables that describe a host or a login there, and not the job.
bool belongs_to_a_host(std::string_view variable);

}  // namespace torusmp::launch
