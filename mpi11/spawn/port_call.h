// SPDX-License-Identifier: BSD-3-Clause
// Calls to ports and questions for their names, on this host or another one of the job. A torus-run
// of its own carries them to other hosts.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "job/process.h"
#include "mpi11/spawn/port.h"

namespace torusmp::mpi {

// The host of this process as the geometry names it; empty if it names none.
std::string own_host(const job::Process& job);

// Calls a port, and sends the introduction. Waits, while the own job goes on. Throws
// std::runtime_error if this is not the name of a port, or no process has it open.
std::shared_ptr<Talk> call_port(const std::string& name, const Introduction& introduction,
                                const job::Process& job);

enum class Hosts { of_job, of_machine };
// The port that a process on one of these hosts has published: on this host, or else on another
// host of the job, or else on any. Throws std::runtime_error if these cannot be asked.
std::optional<std::string> look_up_on_hosts(const std::string& service, const job::Process& job,
                                            Hosts hosts);

}  // namespace torusmp::mpi
