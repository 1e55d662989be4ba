// SPDX-License-Identifier: BSD-3-Clause
// The list of all settings: the tables of their owners, and the settings of the job itself.
#pragma once

#include "config/schema.h"
#include "config/types.h"

namespace torusmp::job {
namespace setting {

inline const config::Setting<bool> mpi_check{
    "mpi.check", config::boolean(), false,
    "Whether MPI_Finalize lists what a program leaves behind: requests that nobody completed, "
    "messages that nobody received, objects that nobody freed."};

inline const config::Table table{&mpi_check};

}  // namespace setting

// The schema by which every program and every rank reads its settings.
const config::Schema& schema();

}  // namespace torusmp::job
