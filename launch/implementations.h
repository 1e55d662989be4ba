// SPDX-License-Identifier: BSD-3-Clause
// The three ways to connect to the other ranks, one file each, and how connect_bootstrap() chooses.
// Private to launch/; the functions may throw BootstrapError.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "base/descriptor.h"
#include "launch/bootstrap.h"
#include "launch/environment.h"

namespace torusmp::launch {

using Secret = std::array<std::byte, secret_bytes>;
// From the kernel's random source.
Secret random_secret();

// Text for a person: "rank 3 (host qcd001, pid 4711)".
std::string describe_self(int rank);

std::unique_ptr<Bootstrap> connect_torus_run();
// The place of another process of this host, which has passed its two sockets on.
std::unique_ptr<Bootstrap> connect_passed(base::Descriptor socket, base::Descriptor notices);
std::unique_ptr<Bootstrap> connect_pmix();
std::unique_ptr<Bootstrap> connect_single();

// A launcher that started this process as one of several, and whose protocol is not supported.
struct ForeignLauncher {
    std::string name;    // "srun without PMIx"
    std::string found;   // the variables that identify it, such as "SLURM_STEP_ID=0, ..."
    std::string remedy;  // "start it with srun --mpi=pmix, or with torus-run"
};
// Empty for a single process, also inside a batch script or an interactive allocation.
std::optional<ForeignLauncher> find_foreign_launcher();

}  // namespace torusmp::launch
