// SPDX-License-Identifier: BSD-3-Clause
// Puts new processes in the places of dead members of a communicator (torusmp_replace).
#pragma once

#include <vector>

#include "mpi11/spawn/joined.h"

namespace torusmp::mpi {

// Called in a new process. Joins the survivors, and makes the communicator in which this process
// has taken a place (Library::replaced). `ranks` contains the places of the new processes, in the
// order of their indices. Ends the process in good order if a process dies meanwhile, because the
// survivors then start another. Throws std::exception.
void take_place(const MeetingPlace& place, const std::vector<int>& ranks);

}  // namespace torusmp::mpi
