// SPDX-License-Identifier: BSD-3-Clause
// Calls on arrays of requests. Indices count from 1 in Fortran.
#include "mpi11/fortran/arguments.h"
#include "mpi11/fortran/handle_array.h"

namespace torusmp::mpi {
namespace {

// The number of a request that has ended is released, and may already be reused: changes are found
// by comparing with the value that C left, instead of looking the number up again.
class Requests {
  public:
    Requests(MPI_Fint* numbers, int count)
        : numbers_(numbers), count_(count), before_(numbers, count), now_(numbers, count) {}
    MPI_Request* in_c() { return now_.in_c(); }
    void give_back() const {
        for (int i = 0; i < count_; ++i)
            if (now_[i] != before_[i]) numbers_[i] = to_fortran(now_[i]);
    }

  private:
    MPI_Fint* const numbers_;
    const int count_;
    const HandleArray<MPI_Request> before_;
    HandleArray<MPI_Request> now_;
};

int from_one(int index) {
    return index == MPI_UNDEFINED ? index : index + 1;
}

void from_one(int code, int count, MPI_Fint* indices) {
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) return;
    for (int i = 0; i < count; ++i) ++indices[i];  // MPI_UNDEFINED is negative, so none
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

void pmpi_startall_(const MPI_Fint* count, MPI_Fint* requests, Ierror ierror) {
    Requests array(requests, *count);
    ierror = PMPI_Startall(*count, array.in_c());
    array.give_back();
}

void pmpi_waitall_(const MPI_Fint* count, MPI_Fint* requests, MPI_Fint* statuses, Ierror ierror) {
    Requests array(requests, *count);
    ierror = PMPI_Waitall(*count, array.in_c(), c_status(statuses));
    array.give_back();
}

void pmpi_testall_(const MPI_Fint* count, MPI_Fint* requests, MPI_Fint* flag, MPI_Fint* statuses,
                   Ierror ierror) {
    Requests array(requests, *count);
    ierror = PMPI_Testall(*count, array.in_c(), flag, c_status(statuses));
    array.give_back();
}

void pmpi_waitany_(const MPI_Fint* count, MPI_Fint* requests, MPI_Fint* index, MPI_Fint* status,
                   Ierror ierror) {
    Requests array(requests, *count);
    int found = MPI_UNDEFINED;
    ierror = PMPI_Waitany(*count, array.in_c(), &found, c_status(status));
    *index = from_one(found);
    array.give_back();
}

void pmpi_testany_(const MPI_Fint* count, MPI_Fint* requests, MPI_Fint* index, MPI_Fint* flag,
                   MPI_Fint* status, Ierror ierror) {
    Requests array(requests, *count);
    int found = MPI_UNDEFINED;
    ierror = PMPI_Testany(*count, array.in_c(), &found, flag, c_status(status));
    *index = from_one(found);
    array.give_back();
}

void pmpi_waitsome_(const MPI_Fint* count, MPI_Fint* requests, MPI_Fint* outcount,
                    MPI_Fint* indices, MPI_Fint* statuses, Ierror ierror) {
    Requests array(requests, *count);
    const int code = PMPI_Waitsome(*count, array.in_c(), outcount, indices, c_status(statuses));
    ierror = code;
    from_one(code, *outcount, indices);
    array.give_back();
}

void pmpi_testsome_(const MPI_Fint* count, MPI_Fint* requests, MPI_Fint* outcount,
                    MPI_Fint* indices, MPI_Fint* statuses, Ierror ierror) {
    Requests array(requests, *count);
    const int code = PMPI_Testsome(*count, array.in_c(), outcount, indices, c_status(statuses));
    ierror = code;
    from_one(code, *outcount, indices);
    array.give_back();
}

void pmpi_request_get_status_all_(const MPI_Fint* count, const MPI_Fint* requests, MPI_Fint* flag,
                                  MPI_Fint* statuses, Ierror ierror) {
    HandleArray<MPI_Request> array(requests, *count);
    ierror = PMPI_Request_get_status_all(*count, array.in_c(), flag, c_status(statuses));
}

void pmpi_request_get_status_any_(const MPI_Fint* count, const MPI_Fint* requests, MPI_Fint* index,
                                  MPI_Fint* flag, MPI_Fint* status, Ierror ierror) {
    HandleArray<MPI_Request> array(requests, *count);
    int found = MPI_UNDEFINED;
    ierror = PMPI_Request_get_status_any(*count, array.in_c(), &found, flag, c_status(status));
    *index = from_one(found);
}

void pmpi_request_get_status_some_(const MPI_Fint* count, const MPI_Fint* requests,
                                   MPI_Fint* outcount, MPI_Fint* indices, MPI_Fint* statuses,
                                   Ierror ierror) {
    HandleArray<MPI_Request> array(requests, *count);
    const int code =
        PMPI_Request_get_status_some(*count, array.in_c(), outcount, indices, c_status(statuses));
    ierror = code;
    from_one(code, *outcount, indices);
}
}

FORTRAN_NAME_F08(request_get_status_all)
FORTRAN_NAME_F08(request_get_status_any)
FORTRAN_NAME_F08(request_get_status_some)
FORTRAN_NAME_F08(startall)
FORTRAN_NAME_F08(waitall)
FORTRAN_NAME_F08(testall)
FORTRAN_NAME_F08(waitany)
FORTRAN_NAME_F08(testany)
FORTRAN_NAME_F08(waitsome)
FORTRAN_NAME_F08(testsome)
