// SPDX-License-Identifier: BSD-3-Clause
// The list of all settings: the tables of all owners, and the settings of the job itself.
#pragma once

#include "config/schema.h"
#include "config/types.h"

namespace torusmp::job {
namespace setting {

inline const config::Setting<bool> mpi_check{
    "mpi.check", config::boolean(), false,
    "Whether MPI_Finalize lists what the program left behind: requests that were not completed, "
    "messages that were not received and objects that were not freed."};

// A level for all modules of the trace, then levels of single ones; see base/trace.h.
config::Type<std::string> trace_levels();

inline const config::Setting<std::string> log_level{
    "log.level",
    trace_levels(),
    "off",
    "What each rank prints about its work on standard error, in lines with time and rank. off: "
    "nothing. info: links that die and return, and connections that are closed. debug: also large "
    "messages, connections and the algorithms of collectives. trace: also every packet. A module "
    "(collective, connection, link, message, packet) can have a level of its own. The last lines "
    "end the report of a hang; those of info are kept for it in any case.",
    {.example = "info,link=trace"}};

inline const config::Table table{&mpi_check, &log_level};

}  // namespace setting

// The schema with which every program and every rank reads its settings.
const config::Schema& schema();

}  // namespace torusmp::job
