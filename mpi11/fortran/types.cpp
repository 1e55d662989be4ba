// SPDX-License-Identifier: BSD-3-Clause
// Datatypes: arrays of types, and the routines of MPI-1, whose addresses are INTEGERs.
//
// If an INTEGER cannot hold an address, MPI_ADDRESS returns its lower half, so that differences of
// two are right; MPI_GET_ADDRESS returns all of it. A type of such halves is refused together with
// MPI_BOTTOM.
#include <limits>
#include <vector>

#include "mpi11/datatype/datatype.h"
#include "mpi11/fortran/arguments.h"
#include "mpi11/fortran/handle_array.h"

namespace torusmp::mpi {
namespace {

std::vector<MPI_Aint> widened(const MPI_Fint* displacements, int count) {
    return {displacements, displacements + (count > 0 ? count : 0)};
}

// An extent or a bound; MPI_UNDEFINED if it is too large.
MPI_Fint narrowed(MPI_Aint value) {
    using Limits = std::numeric_limits<MPI_Fint>;
    return value < Limits::min() || value > Limits::max() ? MPI_UNDEFINED : MPI_Fint(value);
}

template <class Query>
int narrow_query(MPI_Fint type, MPI_Fint* result, Query&& query) {
    MPI_Aint value = 0;
    const int code = query(from_fortran<MPI_Datatype>(type), &value);
    if (code == MPI_SUCCESS) *result = narrowed(value);
    return code;
}

// Stores in `newtype` the type that make(MPI_Datatype*) created.
template <class Make>
int make_type(MPI_Fint* newtype, Make&& make) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const int code = make(&type);
    if (code == MPI_SUCCESS) *newtype = to_fortran(type);
    return code;
}

template <class Make>
int make_of_integers(MPI_Fint* newtype, Make&& make) {
    return make_type(newtype, [&](MPI_Datatype* type) {
        const int code = make(type);
        if (code == MPI_SUCCESS) find<Datatype>(*type)->made_of_integers();
        return code;
    });
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

void pmpi_address_(void* location, MPI_Fint* address, Ierror ierror) {
    MPI_Aint whole = 0;
    ierror = PMPI_Get_address(c_buffer(location), &whole);
    *address = MPI_Fint(std::uint32_t(whole));
    if (*address != whole) address_was_cut = true;
}

void pmpi_type_extent_(const MPI_Fint* type, MPI_Fint* extent, Ierror ierror) {
    ierror = narrow_query(*type, extent, PMPI_Type_extent);
}

void pmpi_type_lb_(const MPI_Fint* type, MPI_Fint* displacement, Ierror ierror) {
    ierror = narrow_query(*type, displacement, PMPI_Type_lb);
}

void pmpi_type_ub_(const MPI_Fint* type, MPI_Fint* displacement, Ierror ierror) {
    ierror = narrow_query(*type, displacement, PMPI_Type_ub);
}

void pmpi_type_hvector_(const MPI_Fint* count, const MPI_Fint* blocklength, const MPI_Fint* stride,
                        const MPI_Fint* oldtype, MPI_Fint* newtype, Ierror ierror) {
    ierror = make_of_integers(newtype, [&](MPI_Datatype* type) {
        return PMPI_Type_hvector(*count, *blocklength, *stride,
                                 from_fortran<MPI_Datatype>(*oldtype), type);
    });
}

void pmpi_type_hindexed_(const MPI_Fint* count, MPI_Fint* blocklengths,
                         const MPI_Fint* displacements, const MPI_Fint* oldtype, MPI_Fint* newtype,
                         Ierror ierror) {
    std::vector<MPI_Aint> wide = widened(displacements, *count);
    ierror = make_of_integers(newtype, [&](MPI_Datatype* type) {
        return PMPI_Type_hindexed(*count, blocklengths, wide.data(),
                                  from_fortran<MPI_Datatype>(*oldtype), type);
    });
}

void pmpi_type_struct_(const MPI_Fint* count, MPI_Fint* blocklengths, const MPI_Fint* displacements,
                       const MPI_Fint* types, MPI_Fint* newtype, Ierror ierror) {
    std::vector<MPI_Aint> wide = widened(displacements, *count);
    HandleArray<MPI_Datatype> in_c(types, *count);
    ierror = make_of_integers(newtype, [&](MPI_Datatype* type) {
        return PMPI_Type_struct(*count, blocklengths, wide.data(), in_c.in_c(), type);
    });
}

void pmpi_type_create_struct_(const MPI_Fint* count, const MPI_Fint* blocklengths,
                              const MPI_Aint* displacements, const MPI_Fint* types,
                              MPI_Fint* newtype, Ierror ierror) {
    HandleArray<MPI_Datatype> in_c(types, *count);
    ierror = make_type(newtype, [&](MPI_Datatype* type) {
        return PMPI_Type_create_struct(*count, blocklengths, displacements, in_c.in_c(), type);
    });
}

void pmpi_type_get_contents_(const MPI_Fint* type, const MPI_Fint* max_integers,
                             const MPI_Fint* max_addresses, const MPI_Fint* max_datatypes,
                             MPI_Fint* integers, MPI_Aint* addresses, MPI_Fint* types,
                             Ierror ierror) {
    const MPI_Datatype in_c = from_fortran<MPI_Datatype>(*type);
    std::vector<MPI_Datatype> found(std::size_t(*max_datatypes > 0 ? *max_datatypes : 0),
                                    MPI_DATATYPE_NULL);
    const int code = PMPI_Type_get_contents(in_c, *max_integers, *max_addresses, *max_datatypes,
                                            integers, addresses, found.data());
    ierror = code;
    if (code != MPI_SUCCESS) return;
    for (std::size_t i = 0; i < found.size() && found[i] != MPI_DATATYPE_NULL; ++i)
        types[i] = to_fortran(found[i]);
}
}

FORTRAN_NAME(address)
FORTRAN_NAME(type_extent)
FORTRAN_NAME(type_lb)
FORTRAN_NAME(type_ub)
FORTRAN_NAME(type_hvector)
FORTRAN_NAME(type_hindexed)
FORTRAN_NAME(type_struct)
FORTRAN_NAME_F08(type_create_struct)
FORTRAN_NAME_F08(type_get_contents)
