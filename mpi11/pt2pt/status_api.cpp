// SPDX-License-Identifier: BSD-3-Clause
// The public fields of a status, by functions (MPI-4.1, section 3.2.5).
#include "mpi11/error/check.h"
#include "mpi11/pt2pt/status.h"

namespace torusmp::mpi {
namespace {

int set_field(const char* call, MPI_Status* status, int MPI_Status::*field, int value) {
    return api(call, [&] {
        check_output("status", status);
        status->*field = value;
    });
}

int get_field(const char* call, const MPI_Status* status, int MPI_Status::*field, const char* name,
              int* value) {
    return api(call, [&] {
        check_output("status", status);
        check_output(name, value);
        *value = status->*field;
    });
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Status_set_source = PMPI_Status_set_source
int PMPI_Status_set_source(MPI_Status* status, int source) {
    return set_field("MPI_Status_set_source", status, &MPI_Status::MPI_SOURCE, source);
}

#pragma weak MPI_Status_set_tag = PMPI_Status_set_tag
int PMPI_Status_set_tag(MPI_Status* status, int tag) {
    return set_field("MPI_Status_set_tag", status, &MPI_Status::MPI_TAG, tag);
}

#pragma weak MPI_Status_set_error = PMPI_Status_set_error
int PMPI_Status_set_error(MPI_Status* status, int error) {
    return set_field("MPI_Status_set_error", status, &MPI_Status::MPI_ERROR, error);
}

#pragma weak MPI_Status_get_source = PMPI_Status_get_source
int PMPI_Status_get_source(const MPI_Status* status, int* source) {
    return get_field("MPI_Status_get_source", status, &MPI_Status::MPI_SOURCE, "source", source);
}

#pragma weak MPI_Status_get_tag = PMPI_Status_get_tag
int PMPI_Status_get_tag(const MPI_Status* status, int* tag) {
    return get_field("MPI_Status_get_tag", status, &MPI_Status::MPI_TAG, "tag", tag);
}

#pragma weak MPI_Status_get_error = PMPI_Status_get_error
int PMPI_Status_get_error(const MPI_Status* status, int* error) {
    return get_field("MPI_Status_get_error", status, &MPI_Status::MPI_ERROR, "error", error);
}
}
