// What a program asks of datatypes: commitment, life, bounds, names, how they were made.
#include <algorithm>
#include <climits>
#include <cstring>
#include <memory>
#include <utility>

#include "mpi11/attributes.h"
#include "mpi11/check.h"
#include "mpi11/datatype.h"

namespace torusmp::mpi {
namespace {

// A figure that may not fit into an int; MPI_UNDEFINED says so (MPI-3.1, section 4.1.5).
int int_or_undefined(std::size_t value) {
    return value > std::size_t(INT_MAX) ? MPI_UNDEFINED : int(value);
}

template <class Result>
int tell(const char* call, MPI_Datatype handle, const char* name, Result* result,
         std::ptrdiff_t (Datatype::*figure)() const) {
    return api(call, [&] {
        const Datatype& type = checked<Datatype>(handle);
        check_output(name, result);
        *result = (type.*figure)();
    });
}

template <class Figure>
int tell_extent(const char* call, MPI_Datatype handle, Figure* lb, Figure* extent,
                std::ptrdiff_t (Datatype::*begin)() const,
                std::ptrdiff_t (Datatype::*length)() const) {
    return api(call, [&] {
        const Datatype& type = checked<Datatype>(handle);
        check_output("lb", lb);
        check_output("extent", extent);
        *lb = (type.*begin)();
        *extent = (type.*length)();
    });
}

void get_contents(const Recipe& recipe, int max_integers, int max_addresses, int max_datatypes,
                  int integers[], MPI_Aint addresses[], MPI_Datatype datatypes[]) {
    if (recipe.combiner == MPI_COMBINER_NAMED)
        fail(MPI_ERR_TYPE, "found a predefined datatype, which has no contents");
    const auto room = [](const char* what, int offered, std::size_t needed, const void* array) {
        if (offered < 0 || std::size_t(offered) < needed)
            fail(MPI_ERR_ARG, "found room for {} {}, expected {} or more", offered, what, needed);
        if (needed != 0 && array == nullptr)
            fail(MPI_ERR_ARG, "found a null pointer for {} {}", needed, what);
    };
    room("integers", max_integers, recipe.integers.size(), integers);
    room("addresses", max_addresses, recipe.addresses.size(), addresses);
    room("datatypes", max_datatypes, recipe.types.size(), datatypes);
    std::copy(recipe.integers.begin(), recipe.integers.end(), integers);
    std::copy(recipe.addresses.begin(), recipe.addresses.end(), addresses);
    // The program gets handles of its own and frees those that are not predefined.
    for (const Reference<Datatype>& type : recipe.types) {
        if (type->constant == 0) retain(*type).hand_out();
        *datatypes++ = handle_of(*type);
    }
}

Basic sized(Family family, std::size_t size) {
    static constexpr Basic candidates[] = {Basic::integer1,  Basic::integer2,  Basic::integer4,
                                           Basic::integer8,  Basic::integer16, Basic::real4,
                                           Basic::real8,     Basic::real16,    Basic::complex8,
                                           Basic::complex16, Basic::complex32};
    for (const Basic basic : candidates)
        if (facts(basic).family == family && facts(basic).size == size) return basic;
    return Basic::none;
}

void match_size(int typeclass, int size, MPI_Datatype* datatype) {
    check_output("datatype", datatype);
    const Family family = typeclass == MPI_TYPECLASS_INTEGER   ? Family::integer
                          : typeclass == MPI_TYPECLASS_REAL    ? Family::floating
                          : typeclass == MPI_TYPECLASS_COMPLEX ? Family::complex
                                                               : Family::none;
    if (family == Family::none)
        fail(MPI_ERR_ARG, "found type class {}, expected one of MPI_TYPECLASS_...", typeclass);
    const Basic basic = size > 0 ? sized(family, std::size_t(size)) : Basic::none;
    if (basic == Basic::none)
        fail(MPI_ERR_ARG, "found {} bytes, of which there is no type of that class", size);
    *datatype = facts(basic).handle;
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Type_commit = PMPI_Type_commit
int PMPI_Type_commit(MPI_Datatype* datatype) {
    return api("MPI_Type_commit", [&] {
        check_output("datatype", datatype);
        checked<Datatype>(*datatype).commit();
    });
}

#pragma weak MPI_Type_free = PMPI_Type_free
int PMPI_Type_free(MPI_Datatype* datatype) {
    return api("MPI_Type_free", [&] {
        check_output("datatype", datatype);
        Datatype& type = checked<Datatype>(*datatype);
        if (type.constant != 0)
            fail(MPI_ERR_TYPE, "found {}, which is predefined and stays", type.describe());
        if (type.take_back()) delete_attributes(type);
        release(type);
        *datatype = MPI_DATATYPE_NULL;
    });
}

#pragma weak MPI_Type_dup = PMPI_Type_dup
int PMPI_Type_dup(MPI_Datatype oldtype, MPI_Datatype* newtype) {
    return api("MPI_Type_dup", [&] {
        Datatype& old = checked<Datatype>(oldtype);
        check_output("newtype", newtype);
        *newtype = MPI_DATATYPE_NULL;  // what it stays where a copy function refuses
        std::shared_ptr<Attributes> attributes = copy_attributes(old);
        Datatype& made =
            make<Datatype>(old.map(), Recipe{MPI_COMBINER_DUP, {}, {}, {Reference<Datatype>(old)}});
        made.attributes = std::move(attributes);
        if (old.committed()) made.commit();
        *newtype = handle_of(made);
    });
}

#pragma weak MPI_Type_size = PMPI_Type_size
int PMPI_Type_size(MPI_Datatype datatype, int* size) {
    return api("MPI_Type_size", [&] {
        const Datatype& type = checked<Datatype>(datatype);
        check_output("size", size);
        *size = int_or_undefined(type.size());
    });
}

#pragma weak MPI_Type_size_x = PMPI_Type_size_x
int PMPI_Type_size_x(MPI_Datatype datatype, MPI_Count* size) {
    return api("MPI_Type_size_x", [&] {
        const Datatype& type = checked<Datatype>(datatype);
        check_output("size", size);
        *size = MPI_Count(type.size());
    });
}

#pragma weak MPI_Type_get_extent = PMPI_Type_get_extent
int PMPI_Type_get_extent(MPI_Datatype datatype, MPI_Aint* lb, MPI_Aint* extent) {
    return tell_extent("MPI_Type_get_extent", datatype, lb, extent, &Datatype::lb,
                       &Datatype::extent);
}

#pragma weak MPI_Type_get_extent_x = PMPI_Type_get_extent_x
int PMPI_Type_get_extent_x(MPI_Datatype datatype, MPI_Count* lb, MPI_Count* extent) {
    return tell_extent("MPI_Type_get_extent_x", datatype, lb, extent, &Datatype::lb,
                       &Datatype::extent);
}

#pragma weak MPI_Type_get_true_extent = PMPI_Type_get_true_extent
int PMPI_Type_get_true_extent(MPI_Datatype datatype, MPI_Aint* true_lb, MPI_Aint* true_extent) {
    return tell_extent("MPI_Type_get_true_extent", datatype, true_lb, true_extent,
                       &Datatype::true_lb, &Datatype::true_extent);
}

#pragma weak MPI_Type_get_true_extent_x = PMPI_Type_get_true_extent_x
int PMPI_Type_get_true_extent_x(MPI_Datatype datatype, MPI_Count* true_lb, MPI_Count* true_extent) {
    return tell_extent("MPI_Type_get_true_extent_x", datatype, true_lb, true_extent,
                       &Datatype::true_lb, &Datatype::true_extent);
}

#pragma weak MPI_Type_extent = PMPI_Type_extent
int PMPI_Type_extent(MPI_Datatype datatype, MPI_Aint* extent) {
    return tell("MPI_Type_extent", datatype, "extent", extent, &Datatype::extent);
}

#pragma weak MPI_Type_lb = PMPI_Type_lb
int PMPI_Type_lb(MPI_Datatype datatype, MPI_Aint* displacement) {
    return tell("MPI_Type_lb", datatype, "displacement", displacement, &Datatype::lb);
}

#pragma weak MPI_Type_ub = PMPI_Type_ub
int PMPI_Type_ub(MPI_Datatype datatype, MPI_Aint* displacement) {
    return tell("MPI_Type_ub", datatype, "displacement", displacement, &Datatype::ub);
}

#pragma weak MPI_Type_get_envelope = PMPI_Type_get_envelope
int PMPI_Type_get_envelope(MPI_Datatype datatype, int* num_integers, int* num_addresses,
                           int* num_datatypes, int* combiner) {
    return api("MPI_Type_get_envelope", [&] {
        const Recipe& recipe = checked<Datatype>(datatype).recipe();
        check_output("num_integers", num_integers);
        check_output("num_addresses", num_addresses);
        check_output("num_datatypes", num_datatypes);
        check_output("combiner", combiner);
        *num_integers = int(recipe.integers.size());
        *num_addresses = int(recipe.addresses.size());
        *num_datatypes = int(recipe.types.size());
        *combiner = recipe.combiner;
    });
}

#pragma weak MPI_Type_get_contents = PMPI_Type_get_contents
int PMPI_Type_get_contents(MPI_Datatype datatype, int max_integers, int max_addresses,
                           int max_datatypes, int array_of_integers[],
                           MPI_Aint array_of_addresses[], MPI_Datatype array_of_datatypes[]) {
    return api("MPI_Type_get_contents", [&] {
        get_contents(checked<Datatype>(datatype).recipe(), max_integers, max_addresses,
                     max_datatypes, array_of_integers, array_of_addresses, array_of_datatypes);
    });
}

#pragma weak MPI_Type_set_name = PMPI_Type_set_name
int PMPI_Type_set_name(MPI_Datatype datatype, const char* type_name) {
    return api("MPI_Type_set_name", [&] {
        Datatype& type = checked<Datatype>(datatype);
        check_output("type_name", type_name);
        type.name.assign(type_name, strnlen(type_name, MPI_MAX_OBJECT_NAME - 1));
    });
}

#pragma weak MPI_Type_get_name = PMPI_Type_get_name
int PMPI_Type_get_name(MPI_Datatype datatype, char* type_name, int* resultlen) {
    return api("MPI_Type_get_name", [&] {
        const Datatype& type = checked<Datatype>(datatype);
        check_output("type_name", type_name);
        check_output("resultlen", resultlen);
        std::memcpy(type_name, type.name.c_str(), type.name.size() + 1);
        *resultlen = int(type.name.size());
    });
}

#pragma weak MPI_Type_match_size = PMPI_Type_match_size
int PMPI_Type_match_size(int typeclass, int size, MPI_Datatype* datatype) {
    return api("MPI_Type_match_size", [&] { match_size(typeclass, size, datatype); });
}

#pragma weak MPI_Get_address = PMPI_Get_address
int PMPI_Get_address(const void* location, MPI_Aint* address) {
    return api("MPI_Get_address", [&] {
        check_output("address", address);
        *address = reinterpret_cast<MPI_Aint>(location);
    });
}

#pragma weak MPI_Address = PMPI_Address
int PMPI_Address(void* location, MPI_Aint* address) {
    return api("MPI_Address", [&] {
        check_output("address", address);
        *address = reinterpret_cast<MPI_Aint>(location);
    });
}

// On addresses as unsigned numbers, so that no difference overflows (MPI-3.1, section 4.1.5).
#pragma weak MPI_Aint_add = PMPI_Aint_add
MPI_Aint PMPI_Aint_add(MPI_Aint base, MPI_Aint disp) {
    return MPI_Aint(std::uintptr_t(base) + std::uintptr_t(disp));
}

#pragma weak MPI_Aint_diff = PMPI_Aint_diff
MPI_Aint PMPI_Aint_diff(MPI_Aint addr1, MPI_Aint addr2) {
    return MPI_Aint(std::uintptr_t(addr1) - std::uintptr_t(addr2));
}
}
