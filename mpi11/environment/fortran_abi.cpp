// SPDX-License-Identifier: BSD-3-Clause
// How Fortran's types are in memory (MPI-5.0, section 20.5): those of gfortran, which are fixed, so
// that setting them only compares.
#include <bit>
#include <cstring>

#include "mpi11/datatype/basic_types.h"
#include "mpi11/environment/info.h"
#include "mpi11/error/check.h"

namespace torusmp::mpi {
namespace {

struct TypeKey {
    Basic basic;
    const char* key;
};
constexpr TypeKey sizes[] = {{Basic::logical, "mpi_logical_size"},
                             {Basic::integer, "mpi_integer_size"},
                             {Basic::real, "mpi_real_size"},
                             {Basic::double_precision, "mpi_double_precision_size"}};
constexpr TypeKey supported[] = {{Basic::logical1, "mpi_logical1_supported"},
                                 {Basic::logical2, "mpi_logical2_supported"},
                                 {Basic::logical4, "mpi_logical4_supported"},
                                 {Basic::logical8, "mpi_logical8_supported"},
                                 {Basic::logical16, "mpi_logical16_supported"},
                                 {Basic::integer1, "mpi_integer1_supported"},
                                 {Basic::integer2, "mpi_integer2_supported"},
                                 {Basic::integer4, "mpi_integer4_supported"},
                                 {Basic::integer8, "mpi_integer8_supported"},
                                 {Basic::integer16, "mpi_integer16_supported"},
                                 {Basic::real2, "mpi_real2_supported"},
                                 {Basic::real4, "mpi_real4_supported"},
                                 {Basic::real8, "mpi_real8_supported"},
                                 {Basic::real16, "mpi_real16_supported"},
                                 {Basic::complex4, "mpi_complex4_supported"},
                                 {Basic::complex8, "mpi_complex8_supported"},
                                 {Basic::complex16, "mpi_complex16_supported"},
                                 {Basic::complex32, "mpi_complex32_supported"},
                                 {Basic::double_complex, "mpi_double_complex_supported"}};

Info::Entries fortran_facts() {
    Info::Entries entries;
    for (const auto& [basic, key] : sizes)
        entries.emplace_back(key, fmt::to_string(facts(basic).size));
    for (const auto& [basic, key] : supported) entries.emplace_back(key, "true");
    return entries;
}

bool is_logical_size(int bytes) {
    for (const BasicFacts& type : basic_types())
        if (type.family == Family::logical && type.size == bytes) return true;
    return false;
}

// The value of a LOGICAL of that size; gfortran's .TRUE. is 1 on machines of either byte order.
bool holds(const void* logical, int bytes, bool value) {
    std::byte expected[16]{};
    const int low = std::endian::native == std::endian::little ? 0 : bytes - 1;
    expected[low] = std::byte(value ? 1 : 0);
    return std::memcmp(logical, expected, std::size_t(bytes)) == 0;
}
void put(void* logical, int bytes, bool value) {
    std::memset(logical, 0, std::size_t(bytes));
    const int low = std::endian::native == std::endian::little ? 0 : bytes - 1;
    static_cast<std::byte*>(logical)[low] = std::byte(value ? 1 : 0);
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Abi_get_fortran_info = PMPI_Abi_get_fortran_info
int PMPI_Abi_get_fortran_info(MPI_Info* info) {
    return api_at_any_time("MPI_Abi_get_fortran_info", [&] {
        check_output("info", info);
        *info = handle_of(make<Info>(fortran_facts()));
    });
}

#pragma weak MPI_Abi_set_fortran_info = PMPI_Abi_set_fortran_info
int PMPI_Abi_set_fortran_info(MPI_Info info) {
    return api_at_any_time("MPI_Abi_set_fortran_info", [&] {
        const Info given(checked<Info>(info).entries);
        for (const auto& [key, value] : fortran_facts())
            if (const std::string* const found = given.find(key);
                found != nullptr && *found != value)
                fail(MPI_ERR_ABI, "found {} = {}, expected {}: the library serves gfortran", key,
                     *found, value);
    });
}

#pragma weak MPI_Abi_get_fortran_booleans = PMPI_Abi_get_fortran_booleans
int PMPI_Abi_get_fortran_booleans(int logical_size, void* logical_true, void* logical_false,
                                  int* is_set) {
    return api_at_any_time("MPI_Abi_get_fortran_booleans", [&] {
        check_output("is_set", is_set);
        *is_set = is_logical_size(logical_size) ? 1 : 0;
        if (*is_set == 0) return;
        check_output("logical_true", logical_true);
        check_output("logical_false", logical_false);
        put(logical_true, logical_size, true);
        put(logical_false, logical_size, false);
    });
}

#pragma weak MPI_Abi_set_fortran_booleans = PMPI_Abi_set_fortran_booleans
int PMPI_Abi_set_fortran_booleans(int logical_size, void* logical_true, void* logical_false) {
    return api_at_any_time("MPI_Abi_set_fortran_booleans", [&] {
        check_output("logical_true", logical_true);
        check_output("logical_false", logical_false);
        if (!is_logical_size(logical_size))
            fail(MPI_ERR_ABI, "found a LOGICAL of {} bytes, expected 1, 2, 4, 8 or 16",
                 logical_size);
        if (!holds(logical_true, logical_size, true) || !holds(logical_false, logical_size, false))
            fail(MPI_ERR_ABI,
                 "found other values than 1 for .TRUE. and 0 for .FALSE.: the library serves "
                 "gfortran");
    });
}
}
