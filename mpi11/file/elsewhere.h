// SPDX-License-Identifier: BSD-3-Clause
// Files on hosts without a member of the group that opens them: a rank of the job on that host
// keeps them (io/outside_keeper.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/keeper_client.h"
#include "io/outside_keeper.h"
#include "io/residence.h"
#include "io/settings.h"
#include "mpi11/comm/communicator.h"

namespace torusmp::mpi {

const io::Homes& homes();
// What this host sees at a path.
io::Sight sight_of(const std::string& path);

// Lets this rank keep files for groups of that job.
std::unique_ptr<io::OutsideKeeper> make_outside_keeper(World& world);
// Asks such a rank, given by its machine rank. For reports, the thread is in the call `file_call`.
io::KeeperClient keeper_client(World& world, Rank keeper);

// A rank of another host that can keep a file.
struct OutsideKeeperFound {
    std::optional<Rank> rank;  // its machine rank; nullopt if there is none
    std::string name;          // "rank 3 of MPI_COMM_WORLD on host b"
    std::string refusal;       // why the file cannot be opened at all; empty if it can
};

// Whether the job has a rank on a host without any of the members.
bool has_other_hosts(const World& world, const std::vector<Rank>& members);
// Asks a rank of each such host. `sights` are those of the members' hosts, where the file is not.
OutsideKeeperFound find_outside_keeper(World& world, const std::string& path,
                                       const std::vector<io::Sight>& sights,
                                       const std::vector<Rank>& members, bool creates);

}  // namespace torusmp::mpi
