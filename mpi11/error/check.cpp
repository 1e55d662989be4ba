// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/error/check.h"

namespace torusmp::mpi::wrong {

void count(MPI_Count found) {
    fail(MPI_ERR_COUNT, "found count {}, expected 0 or more", found);
}

void total() {
    fail(MPI_ERR_COUNT, "found counts whose sum exceeds any memory");
}

void dest(const Communicator& comm, int found) {
    fail(MPI_ERR_RANK, "found destination {}, expected 0 to {} or MPI_PROC_NULL", found,
         comm.remote_size() - 1);
}

void source(const Communicator& comm, int found) {
    fail(MPI_ERR_RANK, "found source {}, expected 0 to {}, MPI_ANY_SOURCE or MPI_PROC_NULL", found,
         comm.remote_size() - 1);
}

void send_tag(int found) {
    if (found == MPI_ANY_TAG) fail(MPI_ERR_TAG, "found MPI_ANY_TAG, which only receives accept");
    fail(MPI_ERR_TAG, "found tag {}, expected 0 or more", found);
}

void receive_tag(int found) {
    fail(MPI_ERR_TAG, "found tag {}, expected 0 or more, or MPI_ANY_TAG", found);
}

void root(const Communicator& comm, int found) {
    fail(MPI_ERR_ROOT, "found root {}, expected 0 to {}", found, comm.size() - 1);
}

void output(const char* name) {
    fail(MPI_ERR_ARG, "found a null pointer for {}, expected memory for the result", name);
}

}  // namespace torusmp::mpi::wrong

void torusmp::mpi::copy_name(std::string_view found, const char* parameter, char* name,
                             int* resultlen) {
    check_output(parameter, name);
    check_output("resultlen", resultlen);
    found.copy(name, found.size());
    name[found.size()] = '\0';
    *resultlen = int(found.size());
}
