// SPDX-License-Identifier: BSD-3-Clause
// Collectives with an array of types for each process, whose length is the number of its partners.
#pragma once

#include "mpi11/fortran/arguments.h"
#include "mpi11/fortran/handle_array.h"

namespace torusmp::mpi {

// The number of types, to send and to receive; 0 if the call will refuse its arguments.
struct Partners {
    int out = 0, in = 0;
};
Partners everybody(MPI_Comm comm);
Partners neighbours(MPI_Comm comm);

// function(sends, counts, displacements, types, receives, counts, displacements, types, comm, ...)
template <auto function, class Count, class Displacement, class... More>
int exchange(Partners (*partners_of)(MPI_Comm), void* sendbuf, const Count* sendcounts,
             const Displacement* sdispls, const MPI_Fint* sendtypes, void* recvbuf,
             const Count* recvcounts, const Displacement* rdispls, const MPI_Fint* recvtypes,
             const MPI_Fint* comm, More&&... more) {
    const MPI_Comm in_c = from_fortran<MPI_Comm>(*comm);
    void* const sends = c_buffer(sendbuf);
    const Partners partners = partners_of(in_c);
    // With MPI_IN_PLACE there is nothing to read.
    HandleArray<MPI_Datatype> out(sendtypes, sends == MPI_IN_PLACE ? 0 : partners.out);
    HandleArray<MPI_Datatype> in(recvtypes, partners.in);
    return function(sends, sendcounts, sdispls, out.in_c(), c_buffer(recvbuf), recvcounts, rdispls,
                    in.in_c(), in_c, more.in_c()...);
}

}  // namespace torusmp::mpi
