// SPDX-License-Identifier: BSD-3-Clause
// Duplicating a communicator with its attributes (MPI-1.1, section 5.4.2): MPI_Comm_dup and its
// variants, in a file of their own because they can be under way while the program goes on.
#pragma once

#include "mpi11/environment/info.h"
#include "mpi11/pt2pt/request.h"

namespace torusmp::mpi {

// Work that writes the handle of the copy to `newcomm` when it is finished. info: the hints of the
// copy. Attributes are copied at once; throws Failure if one refuses, on this process alone.
Work& make_duplicate(Communicator& from, Info::Entries info, MPI_Comm* newcomm);

}  // namespace torusmp::mpi
