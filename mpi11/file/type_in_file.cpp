// SPDX-License-Identifier: BSD-3-Clause
// Types as they are in a file whose elements have other sizes than those of memory: made once more,
// by the constructors that the program has called, from elements of those sizes.
#include <vector>

#include "mpi11/error/check.h"
#include "mpi11/file/representation.h"

namespace torusmp::mpi {
namespace {

// A type that is made for a while; freed unless it is taken.
class Made {
  public:
    Made() = default;
    ~Made() {
        if (handle != MPI_DATATYPE_NULL) PMPI_Type_free(&handle);
    }
    Made(const Made&) = delete;
    Made& operator=(const Made&) = delete;
    MPI_Datatype handle = MPI_DATATYPE_NULL;
};

void check(int code) {
    if (code != MPI_SUCCESS) fail(code, "cannot make a datatype as it is in the file");
}

// The counts, strides and displacements of a constructor, in the order of its arguments.
std::vector<MPI_Count> numbers_of(const Recipe& recipe) {
    if (recipe.form == Form::wide) return recipe.counts;
    std::vector<MPI_Count> numbers(recipe.integers.begin(), recipe.integers.end());
    numbers.insert(numbers.end(), recipe.addresses.begin(), recipe.addresses.end());
    return numbers;
}

void rebuild(Datatype& type, const Representation& representation, MPI_Datatype* made);

// A predefined datatype becomes the number of bytes that it has in the file.
void rebuild_basic(const Datatype& type, const Representation& representation, MPI_Datatype* made) {
    check(PMPI_Type_contiguous_c(MPI_Count(representation.size_of(type)), MPI_BYTE, made));
}

void rebuild_array(const Recipe& recipe, MPI_Datatype old, MPI_Datatype* made) {
    const std::vector<int>& integers = recipe.integers;
    const bool wide = recipe.form == Form::wide;
    if (recipe.combiner == MPI_COMBINER_SUBARRAY) {
        const int dims = integers[0];
        std::vector<MPI_Count> all = recipe.counts;
        if (!wide) all.assign(integers.begin() + 1, integers.begin() + 1 + 3 * dims);
        return check(PMPI_Type_create_subarray_c(dims, all.data(), all.data() + dims,
                                                 all.data() + 2 * dims, integers.back(), old,
                                                 made));
    }
    const int dims = integers[2];
    std::vector<MPI_Count> sizes = recipe.counts;
    if (!wide) sizes.assign(integers.begin() + 3, integers.begin() + 3 + dims);
    const int* const rest = integers.data() + 3 + (wide ? 0 : dims);
    check(PMPI_Type_create_darray_c(integers[0], integers[1], dims, sizes.data(), rest, rest + dims,
                                    rest + 2 * dims, integers.back(), old, made));
}

void rebuild_struct(const Recipe& recipe, const Representation& representation,
                    MPI_Datatype* made) {
    const std::vector<MPI_Count> numbers = numbers_of(recipe);
    const auto count = std::size_t(numbers[0]);
    std::vector<Made> parts(count);
    std::vector<MPI_Datatype> types(count);
    for (std::size_t i = 0; i < count; ++i) {
        rebuild(*recipe.types[i], representation, &parts[i].handle);
        types[i] = parts[i].handle;
    }
    check(PMPI_Type_create_struct_c(MPI_Count(count), numbers.data() + 1,
                                    numbers.data() + 1 + count, types.data(), made));
}

void rebuild(Datatype& type, const Representation& representation, MPI_Datatype* made) {
    const Recipe& recipe = type.recipe();
    if (recipe.types.empty()) return rebuild_basic(type, representation, made);
    if (recipe.combiner == MPI_COMBINER_STRUCT) return rebuild_struct(recipe, representation, made);
    Made part;
    rebuild(*recipe.types[0], representation, &part.handle);
    const MPI_Datatype old = part.handle;
    const std::vector<MPI_Count> all = numbers_of(recipe);
    const MPI_Count* const n = all.data();
    switch (recipe.combiner) {
        case MPI_COMBINER_DUP:
            return check(PMPI_Type_dup(old, made));
        case MPI_COMBINER_CONTIGUOUS:
            return check(PMPI_Type_contiguous_c(n[0], old, made));
        case MPI_COMBINER_VECTOR:
            return check(PMPI_Type_vector_c(n[0], n[1], n[2], old, made));
        case MPI_COMBINER_HVECTOR:
            return check(PMPI_Type_create_hvector_c(n[0], n[1], n[2], old, made));
        case MPI_COMBINER_INDEXED:
            return check(PMPI_Type_indexed_c(n[0], n + 1, n + 1 + n[0], old, made));
        case MPI_COMBINER_HINDEXED:
            return check(PMPI_Type_create_hindexed_c(n[0], n + 1, n + 1 + n[0], old, made));
        case MPI_COMBINER_INDEXED_BLOCK:
            return check(PMPI_Type_create_indexed_block_c(n[0], n[1], n + 2, old, made));
        case MPI_COMBINER_HINDEXED_BLOCK:
            return check(PMPI_Type_create_hindexed_block_c(n[0], n[1], n + 2, old, made));
        case MPI_COMBINER_RESIZED:
            return check(PMPI_Type_create_resized_c(old, n[0], n[1], made));
        case MPI_COMBINER_SUBARRAY:
        case MPI_COMBINER_DARRAY:
            return rebuild_array(recipe, old, made);
        default:
            fail(MPI_ERR_UNSUPPORTED_OPERATION,
                 "found {}, whose elements have other sizes in the file than in memory",
                 type.describe());
    }
}

}  // namespace

Reference<Datatype> type_in_file(Datatype& type, const Representation& representation) {
    if (representation.keeps_sizes(type)) return Reference<Datatype>(type);
    Made made;
    rebuild(type, representation, &made.handle);
    check(PMPI_Type_commit(&made.handle));
    return Reference<Datatype>(*find<Datatype>(made.handle));
}

}  // namespace torusmp::mpi
