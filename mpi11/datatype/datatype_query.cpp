// SPDX-License-Identifier: BSD-3-Clause
// Queries of datatypes: commitment, lifetime, bounds, names, and their construction.
#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "mpi11/attribute/attributes.h"
#include "mpi11/datatype/datatype.h"
#include "mpi11/entry.h"
#include "mpi11/error/check.h"

namespace torusmp::mpi {
namespace {

template <class Result>
int query(const char* call, MPI_Datatype handle, const char* name, Result* result,
          std::ptrdiff_t (Datatype::*figure)() const) {
    return api(call, [&] {
        const Datatype& type = checked<Datatype>(handle);
        check_output(name, result);
        *result = (type.*figure)();
    });
}

int query_extent(const char* call, MPI_Datatype handle, MPI_Aint* lb, MPI_Aint* extent,
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

template <class Count>
int type_size(const char* call, MPI_Datatype datatype, Count* size) {
    return api(call, [&] {
        const Datatype& type = checked<Datatype>(datatype);
        check_output("size", size);
        *size = fitting<Count>(type.size());
    });
}

// The arguments of a constructor of the wide form do not fit into int (MPI-4.0, section 5.1.13).
void check_narrow(const Recipe& recipe) {
    if (!recipe.counts.empty())
        fail(MPI_ERR_TYPE,
             "found a datatype that was made with counts of 64 bits (expected one with counts of "
             "int): use MPI_Type_get_envelope_c and MPI_Type_get_contents_c");
}

// `num_counts` is null in the narrow form.
template <class Count>
int get_envelope(const char* call, MPI_Datatype datatype, Count* num_integers, Count* num_addresses,
                 Count* num_counts, Count* num_datatypes, int* combiner) {
    return api(call, [&] {
        const Recipe& recipe = checked<Datatype>(datatype).recipe();
        check_output("num_integers", num_integers);
        check_output("num_addresses", num_addresses);
        check_output("num_datatypes", num_datatypes);
        check_output("combiner", combiner);
        if constexpr (std::is_same_v<Count, int>) {
            check_narrow(recipe);
        } else {
            check_output("num_large_counts", num_counts);
            *num_counts = Count(recipe.counts.size());
        }
        *num_integers = Count(recipe.integers.size());
        *num_addresses = Count(recipe.addresses.size());
        *num_datatypes = Count(recipe.types.size());
        *combiner = recipe.combiner;
    });
}

// One kind of constructor argument, and the memory for it.
template <class Value>
struct Contents {
    const char* what;
    MPI_Count room;
    Value* to;

    void check(std::size_t needed) const {
        if (room < 0 || std::size_t(room) < needed)
            fail(MPI_ERR_ARG, "found room for {} {}, expected {} or more", room, what, needed);
        if (needed != 0 && to == nullptr)
            fail(MPI_ERR_ARG, "found a null pointer for {} {}", needed, what);
    }
};

void get_contents(const Recipe& recipe, const Contents<int>& integers,
                  const Contents<MPI_Aint>& addresses, const Contents<MPI_Count>& counts,
                  const Contents<MPI_Datatype>& types) {
    if (recipe.combiner == MPI_COMBINER_NAMED)
        fail(MPI_ERR_TYPE, "found a predefined datatype, which has no contents");
    integers.check(recipe.integers.size());
    addresses.check(recipe.addresses.size());
    counts.check(recipe.counts.size());
    types.check(recipe.types.size());
    std::copy(recipe.integers.begin(), recipe.integers.end(), integers.to);
    std::copy(recipe.addresses.begin(), recipe.addresses.end(), addresses.to);
    std::copy(recipe.counts.begin(), recipe.counts.end(), counts.to);
    // The program gets handles of its own and frees those that are not predefined.
    MPI_Datatype* handle = types.to;
    for (const Reference<Datatype>& type : recipe.types) {
        if (!type->predefined()) retain(*type).hand_out();
        *handle++ = handle_of(*type);
    }
}

Basic sized(Family family, std::size_t size) {
    static constexpr Basic candidates[] = {
        Basic::integer1, Basic::integer2,  Basic::integer4, Basic::integer8, Basic::integer16,
        Basic::real2,    Basic::real4,     Basic::real8,    Basic::real16,   Basic::complex4,
        Basic::complex8, Basic::complex16, Basic::complex32};
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
        fail(MPI_ERR_ARG, "found {} bytes, which is not the size of a type of that class", size);
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
        if (type.predefined())
            fail(MPI_ERR_TYPE, "found {}, which is predefined and cannot be freed",
                 type.describe());
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
        *newtype = MPI_DATATYPE_NULL;  // the result if a copy function refuses
        std::shared_ptr<Attributes> attributes = copy_attributes(old);
        Datatype& made =
            make<Datatype>(old.map(), Recipe(MPI_COMBINER_DUP, Form::narrow).type(old));
        made.attributes = std::move(attributes);
        if (old.committed()) made.commit();
        *newtype = handle_of(made);
    });
}

#pragma weak MPI_Type_extent = PMPI_Type_extent
int PMPI_Type_extent(MPI_Datatype datatype, MPI_Aint* extent) {
    return query("MPI_Type_extent", datatype, "extent", extent, &Datatype::extent);
}

#pragma weak MPI_Type_lb = PMPI_Type_lb
int PMPI_Type_lb(MPI_Datatype datatype, MPI_Aint* displacement) {
    return query("MPI_Type_lb", datatype, "displacement", displacement, &Datatype::lb);
}

#pragma weak MPI_Type_ub = PMPI_Type_ub
int PMPI_Type_ub(MPI_Datatype datatype, MPI_Aint* displacement) {
    return query("MPI_Type_ub", datatype, "displacement", displacement, &Datatype::ub);
}

#pragma weak MPI_Type_get_envelope = PMPI_Type_get_envelope
int PMPI_Type_get_envelope(MPI_Datatype datatype, int* num_integers, int* num_addresses,
                           int* num_datatypes, int* combiner) {
    return get_envelope<int>("MPI_Type_get_envelope", datatype, num_integers, num_addresses,
                             nullptr, num_datatypes, combiner);
}

#pragma weak MPI_Type_get_envelope_c = PMPI_Type_get_envelope_c
int PMPI_Type_get_envelope_c(MPI_Datatype datatype, MPI_Count* num_integers,
                             MPI_Count* num_addresses, MPI_Count* num_large_counts,
                             MPI_Count* num_datatypes, int* combiner) {
    return get_envelope("MPI_Type_get_envelope_c", datatype, num_integers, num_addresses,
                        num_large_counts, num_datatypes, combiner);
}

#pragma weak MPI_Type_get_contents = PMPI_Type_get_contents
int PMPI_Type_get_contents(MPI_Datatype datatype, int max_integers, int max_addresses,
                           int max_datatypes, int array_of_integers[],
                           MPI_Aint array_of_addresses[], MPI_Datatype array_of_datatypes[]) {
    return api("MPI_Type_get_contents", [&] {
        const Recipe& recipe = checked<Datatype>(datatype).recipe();
        check_narrow(recipe);
        get_contents(recipe, {"integers", max_integers, array_of_integers},
                     {"addresses", max_addresses, array_of_addresses}, {"counts", 0, nullptr},
                     {"datatypes", max_datatypes, array_of_datatypes});
    });
}

#pragma weak MPI_Type_get_contents_c = PMPI_Type_get_contents_c
int PMPI_Type_get_contents_c(MPI_Datatype datatype, MPI_Count max_integers, MPI_Count max_addresses,
                             MPI_Count max_large_counts, MPI_Count max_datatypes,
                             int array_of_integers[], MPI_Aint array_of_addresses[],
                             MPI_Count array_of_large_counts[], MPI_Datatype array_of_datatypes[]) {
    return api("MPI_Type_get_contents_c", [&] {
        get_contents(checked<Datatype>(datatype).recipe(),
                     {"integers", max_integers, array_of_integers},
                     {"addresses", max_addresses, array_of_addresses},
                     {"counts", max_large_counts, array_of_large_counts},
                     {"datatypes", max_datatypes, array_of_datatypes});
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
        // For the null handle it is also the name (MPI-4.1, section 7.8).
        const bool null = datatype == MPI_DATATYPE_NULL;
        copy_name(null ? Datatype::null_name : checked<Datatype>(datatype).name, "type_name",
                  type_name, resultlen);
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

// Computed on addresses as unsigned numbers, so that differences do not overflow (MPI-3.1, section
// 4.1.5).
#pragma weak MPI_Aint_add = PMPI_Aint_add
MPI_Aint PMPI_Aint_add(MPI_Aint base, MPI_Aint disp) {
    return MPI_Aint(std::uintptr_t(base) + std::uintptr_t(disp));
}

#pragma weak MPI_Aint_diff = PMPI_Aint_diff
MPI_Aint PMPI_Aint_diff(MPI_Aint addr1, MPI_Aint addr2) {
    return MPI_Aint(std::uintptr_t(addr1) - std::uintptr_t(addr2));
}

// Only the named pairs exist; MPI_DATATYPE_NULL stands for all others (MPI-4.1, section 6.9.4).
#pragma weak MPI_Type_get_value_index = PMPI_Type_get_value_index
int PMPI_Type_get_value_index(MPI_Datatype value_type, MPI_Datatype index_type,
                              MPI_Datatype* pair_type) {
    return api("MPI_Type_get_value_index", [&] {
        checked<Datatype>(value_type);
        checked<Datatype>(index_type);
        check_output("pair_type", pair_type);
        *pair_type = MPI_DATATYPE_NULL;
        for (const BasicFacts& pair : basic_types())
            if (pair.family == Family::pair && facts(pair.value).handle == value_type &&
                facts(pair.index).handle == index_type)
                *pair_type = pair.handle;
    });
}
}

TORUSMP_ENTRIES(Type_size, (MPI_Datatype datatype, Count* size), type_size(name, datatype, size))
TORUSMP_ENTRY(Type_size_x, wide, (MPI_Datatype datatype, Count* size),
              type_size(name, datatype, size))

#define EXTENTS(Name, counts)                                                          \
    TORUSMP_ENTRY(Name, counts, (MPI_Datatype datatype, Stride * lb, Stride * extent), \
                  query_extent(name, datatype, lb, extent, &Datatype::lb, &Datatype::extent))
EXTENTS(Type_get_extent, narrow)
EXTENTS(Type_get_extent_x, wide)
EXTENTS(Type_get_extent_c, wide)

#define TRUE_EXTENTS(Name, counts)                                                               \
    TORUSMP_ENTRY(Name, counts, (MPI_Datatype datatype, Stride * true_lb, Stride * true_extent), \
                  query_extent(name, datatype, true_lb, true_extent, &Datatype::true_lb,         \
                               &Datatype::true_extent))
TRUE_EXTENTS(Type_get_true_extent, narrow)
TRUE_EXTENTS(Type_get_true_extent_x, wide)
TRUE_EXTENTS(Type_get_true_extent_c, wide)
