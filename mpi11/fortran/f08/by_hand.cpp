// SPDX-License-Identifier: BSD-3-Clause
// The routines of mpi_f08 that take arrays of datatypes or large counts of functions of the
// program, and what the modules have without a function in C.
#include <cstring>

#include "mpi11/coll/operation.h"
#include "mpi11/error/check.h"
#include "mpi11/fortran/exchange.h"
#include "mpi11/fortran/f08/call.h"

namespace torusmp::mpi {
namespace {

// If the buffer of an exchange is a section, changes each of its `count` types to one that
// describes elements of the section.
void use_section(Sections& sections, Buffer& buffer, int place, HandleArray<MPI_Datatype>& types,
                 int count) {
    if (buffer.block()) return;
    const Section section = buffer.section(place);
    for (int i = 0; i < count; ++i) types.in_c()[i] = sections.type_of(types[i], {section});
    buffer.set(section.address());
}

// exchange() with buffers by descriptor.
template <auto function, class Count, class Displacement, class... More>
int exchange_described(Partners (*partners_of)(MPI_Comm), const CFI_cdesc_t* sendbuf,
                       const Count* sendcounts, const Displacement* sdispls,
                       const MPI_Fint* sendtypes, const CFI_cdesc_t* recvbuf,
                       const Count* recvcounts, const Displacement* rdispls,
                       const MPI_Fint* recvtypes, const MPI_Fint* comm, More&&... more) {
    Buffer send(sendbuf), receive(recvbuf);
    const MPI_Comm in_c = from_fortran<MPI_Comm>(*comm);
    const Partners partners = partners_of(in_c);
    const int sent = send.in_c() == MPI_IN_PLACE ? 0 : partners.out;
    HandleArray<MPI_Datatype> out(sendtypes, sent), in(recvtypes, partners.in);
    Sections sections;
    use_section(sections, send, 0, out, sent);
    use_section(sections, receive, 1, in, partners.in);
    return function(send.in_c(), sendcounts, sdispls, out.in_c(), receive.in_c(), recvcounts,
                    rdispls, in.in_c(), in_c, more.in_c()...);
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

// Blocking, non-blocking and persistent.
#define DESCRIBED(Count, Displacement)                                                  \
    const CFI_cdesc_t *sendbuf, const Count *sendcounts, const Displacement *sdispls,   \
        const MPI_Fint *sendtypes, const CFI_cdesc_t *recvbuf, const Count *recvcounts, \
        const Displacement *rdispls, const MPI_Fint *recvtypes, const MPI_Fint *comm
#define DESCRIBED_NAMES \
    sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm
#define EXCHANGES_F08(Count, Displacement, partners, lower, Name, ilower, IName, wide)             \
    extern "C" void pmpi_##lower##wide##_f08ts_(DESCRIBED(Count, Displacement), Ierror ierror) {   \
        ierror = exchange_described<PMPI_##Name##wide>(partners, DESCRIBED_NAMES);                 \
    }                                                                                              \
    extern "C" void pmpi_##ilower##wide##_f08ts_(DESCRIBED(Count, Displacement),                   \
                                                 MPI_Fint* request, Ierror ierror) {               \
        ierror = exchange_described<PMPI_##IName##wide>(partners, DESCRIBED_NAMES,                 \
                                                        Argument<MPI_Request*>(request));          \
    }                                                                                              \
    extern "C" void pmpi_##lower##_init##wide##_f08ts_(                                            \
        DESCRIBED(Count, Displacement), const MPI_Fint* info, MPI_Fint* request, Ierror ierror) {  \
        ierror = exchange_described<PMPI_##Name##_init##wide>(                                     \
            partners, DESCRIBED_NAMES, Argument<MPI_Info>(info), Argument<MPI_Request*>(request)); \
    }                                                                                              \
    F08TS_NAME(lower##wide)                                                                        \
    F08TS_NAME(ilower##wide)                                                                       \
    F08TS_NAME(lower##_init##wide)

EXCHANGES_F08(MPI_Fint, MPI_Fint, everybody, alltoallw, Alltoallw, ialltoallw, Ialltoallw, )
EXCHANGES_F08(MPI_Count, MPI_Aint, everybody, alltoallw, Alltoallw, ialltoallw, Ialltoallw, _c)
EXCHANGES_F08(MPI_Fint, MPI_Aint, neighbours, neighbor_alltoallw, Neighbor_alltoallw,
              ineighbor_alltoallw, Ineighbor_alltoallw, )
EXCHANGES_F08(MPI_Count, MPI_Aint, neighbours, neighbor_alltoallw, Neighbor_alltoallw,
              ineighbor_alltoallw, Ineighbor_alltoallw, _c)

extern "C" {

void pmpi_type_create_struct_c_f08ts_(const MPI_Count* count, const MPI_Count* blocklengths,
                                      const MPI_Count* displacements, const MPI_Fint* types,
                                      MPI_Fint* newtype, Ierror ierror) {
    HandleArray<MPI_Datatype> in_c(types, int(*count));
    ierror = PMPI_Type_create_struct_c(*count, blocklengths, displacements, in_c.in_c(),
                                       Argument<MPI_Datatype*>(newtype).in_c());
}

void pmpi_type_get_contents_c_f08ts_(const MPI_Fint* type, const MPI_Count* max_integers,
                                     const MPI_Count* max_addresses,
                                     const MPI_Count* max_large_counts,
                                     const MPI_Count* max_datatypes, MPI_Fint* integers,
                                     MPI_Aint* addresses, MPI_Count* large_counts, MPI_Fint* types,
                                     Ierror ierror) {
    std::vector<MPI_Datatype> found(std::size_t(*max_datatypes > 0 ? *max_datatypes : 0),
                                    MPI_DATATYPE_NULL);
    const int code = PMPI_Type_get_contents_c(from_fortran<MPI_Datatype>(*type), *max_integers,
                                              *max_addresses, *max_large_counts, *max_datatypes,
                                              integers, addresses, large_counts, found.data());
    ierror = code;
    if (code != MPI_SUCCESS) return;
    for (std::size_t i = 0; i < found.size() && found[i] != MPI_DATATYPE_NULL; ++i)
        types[i] = to_fortran(found[i]);
}

// Nothing is to be done: the compiler sees that the buffer may have changed.
void pmpi_f_sync_reg_f08ts_(const CFI_cdesc_t*) {}
}

F08TS_NAME(type_create_struct_c)
F08TS_NAME(type_get_contents_c)
F08TS_NAME(f_sync_reg)
