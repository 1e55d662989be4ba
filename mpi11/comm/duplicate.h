// Duplicating a communicator, with what hangs on it (MPI-1.1, section 5.4.2): MPI_Comm_dup and its
// likes, here by themselves because they can be under way while the program goes on.
#pragma once

#include "mpi11/environment/info.h"
#include "mpi11/pt2pt/request.h"

namespace torusmp::mpi {

// Work that writes the handle of the copy to `newcomm` when it is finished. info: the hints of the
// copy. Attributes are copied at once; throws Failure where one refuses, on this process alone.
Work& make_duplicate(Communicator& from, Info::Entries info, MPI_Comm* newcomm);

}  // namespace torusmp::mpi
