// SPDX-License-Identifier: BSD-3-Clause
// Calls the program's functions of an attribute key, by the convention of the language they are
// written in. Returns the code that the function returned.
#pragma once

#include "mpi11/attribute/attributes.h"

namespace torusmp::mpi {

int call_copy(const Attributes::Entry& entry, MPI_Comm from, AttributeValue& out, bool& flag);
int call_copy(const Attributes::Entry& entry, MPI_Datatype from, AttributeValue& out, bool& flag);
int call_copy(const Attributes::Entry& entry, MPI_Win from, AttributeValue& out, bool& flag);
int call_delete(const Attributes::Entry& entry, MPI_Comm owner);
int call_delete(const Attributes::Entry& entry, MPI_Datatype owner);
int call_delete(const Attributes::Entry& entry, MPI_Win owner);

}  // namespace torusmp::mpi
