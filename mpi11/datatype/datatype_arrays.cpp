// SPDX-License-Identifier: BSD-3-Clause
// Datatypes for parts of arrays (MPI-2.2, sections 4.1.3 and 4.1.4).
#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "mpi11/datatype/datatype.h"
#include "mpi11/entry.h"
#include "mpi11/error/check.h"

namespace torusmp::mpi {
namespace {

struct Subarray {
    int dims;
    Numbers sizes;
    Numbers subsizes;
    Numbers starts;
    int order;
};

void check_dims(int dims) {
    if (dims < 1) fail(MPI_ERR_ARG, "found {} dimensions, expected 1 or more", dims);
}

void check_order(int order) {
    if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN)
        fail(MPI_ERR_ARG, "found order {}, expected MPI_ORDER_C or MPI_ORDER_FORTRAN", order);
}

void check_size(MPI_Count size, int dim) {
    if (size < 1) fail(MPI_ERR_ARG, "found size {} in dimension {}, expected 1 or more", size, dim);
}

// The i-th dimension, counted from the one along which elements are adjacent in memory.
int dimension(int i, int dims, int order) {
    return order == MPI_ORDER_C ? dims - 1 - i : i;
}

void check(const Subarray& part) {
    check_dims(part.dims);
    if (!part.sizes.given() || !part.subsizes.given() || !part.starts.given())
        fail(MPI_ERR_ARG, "found a null pointer for sizes, subsizes or starts, expected {} entries",
             part.dims);
    check_order(part.order);
    for (int i = 0; i < part.dims; ++i) {
        check_size(part.sizes[i], i);
        if (part.subsizes[i] < 1 || part.subsizes[i] > part.sizes[i])
            fail(MPI_ERR_ARG, "found subsize {} in dimension {}, expected 1 to {}",
                 part.subsizes[i], i, part.sizes[i]);
        const MPI_Count last = part.sizes[i] - part.subsizes[i];
        if (part.starts[i] < 0 || part.starts[i] > last)
            fail(MPI_ERR_ARG, "found start {} in dimension {}, expected 0 to {}", part.starts[i], i,
                 last);
    }
}

// The part of the array, with the bounds of the whole array.
TypeMap map_of(const Subarray& part, const TypeMap& element) {
    TypeMap map = element;
    std::ptrdiff_t stride = element.extent();  // of the next dimension
    std::ptrdiff_t start = 0;
    for (int i = 0; i < part.dims; ++i) {
        const int dim = dimension(i, part.dims, part.order);
        const std::ptrdiff_t whole = product(part.sizes[dim], stride);
        map = map.repeated(std::size_t(part.subsizes[dim]), stride);
        start += part.starts[dim] * stride;
        stride = whole;
    }
    const TypeMap::Part placed[] = {{start, &map}};
    TypeMap result(placed);
    result.resize(0, stride);
    return result;
}

int make_subarray(const char* call, Form form, const Subarray& part, MPI_Datatype oldtype,
                  MPI_Datatype* newtype) {
    return api(call, [&] {
        check(part);
        check_output("newtype", newtype);
        Datatype& old = checked<Datatype>(oldtype);
        Recipe recipe(MPI_COMBINER_SUBARRAY, form);
        recipe.integers.push_back(part.dims);
        for (const Numbers& array : {part.sizes, part.subsizes, part.starts})
            recipe.numbers(array, part.dims);
        recipe.integers.push_back(part.order);
        recipe.type(old);
        *newtype = handle_of(make<Datatype>(map_of(part, old.map()), std::move(recipe)));
    });
}

// ---- arrays distributed over a grid of processes ----

struct Darray {
    int ranks;
    int rank;
    int dims;
    Numbers sizes;
    const int* distributions;
    const int* arguments;
    const int* grid;
    int order;
};

// The number of adjacent elements in dimension `dim` that belong to one process.
MPI_Count block_of(const Darray& array, int dim) {
    const MPI_Count size = array.sizes[dim];
    const int processes = array.grid[dim], argument = array.arguments[dim];
    const MPI_Count share = size / processes + (size % processes != 0 ? 1 : 0);
    const bool asked = argument != MPI_DISTRIBUTE_DFLT_DARG;
    switch (array.distributions[dim]) {
        case MPI_DISTRIBUTE_NONE:
            if (processes != 1)
                fail(MPI_ERR_ARG,
                     "found {} processes in dimension {}, which MPI_DISTRIBUTE_NONE leaves whole; "
                     "expected 1",
                     processes, dim);
            return size;
        case MPI_DISTRIBUTE_BLOCK:
            if (!asked) return share;
            if (argument < 1 || MPI_Count(argument) * processes < size)
                fail(MPI_ERR_ARG,
                     "found blocks of {} in dimension {}, which do not hold {} elements in {} "
                     "processes; expected {} or more, or MPI_DISTRIBUTE_DFLT_DARG",
                     argument, dim, size, processes, share);
            return argument;
        case MPI_DISTRIBUTE_CYCLIC:
            if (!asked) return 1;
            if (argument < 1)
                fail(MPI_ERR_ARG,
                     "found blocks of {} in dimension {}, expected 1 or more, or "
                     "MPI_DISTRIBUTE_DFLT_DARG",
                     argument, dim);
            return argument;
        default:
            fail(MPI_ERR_ARG,
                 "found distribution {} in dimension {}, expected MPI_DISTRIBUTE_BLOCK, "
                 "MPI_DISTRIBUTE_CYCLIC or MPI_DISTRIBUTE_NONE",
                 array.distributions[dim], dim);
    }
}

void check(const Darray& array) {
    check_dims(array.dims);
    for (const void* const list :
         {array.sizes.array(), static_cast<const void*>(array.distributions),
          static_cast<const void*>(array.arguments), static_cast<const void*>(array.grid)})
        if (list == nullptr)
            fail(MPI_ERR_ARG,
                 "found a null pointer for gsizes, distribs, dargs or psizes, expected {} entries",
                 array.dims);
    check_order(array.order);
    if (array.rank < 0 || array.rank >= array.ranks)
        fail(MPI_ERR_ARG, "found rank {} of {}, expected 0 to {}", array.rank, array.ranks,
             array.ranks - 1);
    MPI_Count processes = 1;
    for (int i = 0; i < array.dims; ++i) {
        check_size(array.sizes[i], i);
        // So that the ends of all blocks can be computed.
        if (array.sizes[i] > std::numeric_limits<MPI_Count>::max() / 2)
            fail(MPI_ERR_ARG, "found size {} in dimension {}, which is larger than any memory",
                 array.sizes[i], i);
        if (array.grid[i] < 1)
            fail(MPI_ERR_ARG, "found {} processes in dimension {}, expected 1 or more",
                 array.grid[i], i);
        processes = std::min(processes * array.grid[i], MPI_Count(array.ranks) + 1);
    }
    if (processes != array.ranks)
        fail(MPI_ERR_ARG, "found a grid of {} processes, expected {}",
             processes > array.ranks ? "more" : std::to_string(processes), array.ranks);
}

// One process's part of a line of `size` elements at `stride`, distributed in blocks of which the
// first begins at `first` and the others follow at intervals of `period`.
TypeMap dealt(const TypeMap& element, std::ptrdiff_t stride, MPI_Count size, MPI_Count first,
              MPI_Count block, MPI_Count period) {
    const MPI_Count whole = first + block > size ? 0 : (size - first - block) / period + 1;
    const MPI_Count last = first + whole * period;
    const MPI_Count rest = std::clamp<MPI_Count>(size - last, 0, block);
    std::vector<TypeMap> blocks;
    blocks.reserve(2);
    std::vector<TypeMap::Part> parts;
    if (whole > 0) {
        blocks.push_back(element.repeated(std::size_t(block), stride)
                             .repeated(std::size_t(whole), whole > 1 ? period * stride : 0));
        parts.push_back({first * stride, &blocks.back()});
    }
    if (rest > 0) {
        blocks.push_back(element.repeated(std::size_t(rest), stride));
        parts.push_back({last * stride, &blocks.back()});
    }
    return TypeMap(parts);
}

// The process's part of the array, with the bounds of the whole array. Processes are numbered with
// the last dimension of their grid fastest, whatever the order of the array.
TypeMap map_of(const Darray& array, const TypeMap& element) {
    std::vector<int> coordinates(std::size_t(array.dims));
    for (int dim = array.dims - 1, left = array.rank; dim >= 0; --dim) {
        coordinates[std::size_t(dim)] = left % array.grid[dim];
        left /= array.grid[dim];
    }
    TypeMap map = element;
    std::ptrdiff_t stride = element.extent();
    for (int i = 0; i < array.dims; ++i) {
        const int dim = dimension(i, array.dims, array.order);
        const MPI_Count block = block_of(array, dim);
        const std::ptrdiff_t whole = product(array.sizes[dim], stride);
        map = dealt(map, stride, array.sizes[dim], coordinates[std::size_t(dim)] * block, block,
                    block * array.grid[dim]);
        stride = whole;
    }
    map.resize(0, stride);
    return map;
}

int make_darray(const char* call, Form form, const Darray& array, MPI_Datatype oldtype,
                MPI_Datatype* newtype) {
    return api(call, [&] {
        check(array);
        check_output("newtype", newtype);
        Datatype& old = checked<Datatype>(oldtype);
        Recipe recipe(MPI_COMBINER_DARRAY, form);
        recipe.integers = {array.ranks, array.rank, array.dims};
        recipe.numbers(array.sizes, array.dims);
        for (const int* list : {array.distributions, array.arguments, array.grid})
            recipe.integers.insert(recipe.integers.end(), list, list + array.dims);
        recipe.integers.push_back(array.order);
        recipe.type(old);
        *newtype = handle_of(make<Datatype>(map_of(array, old.map()), std::move(recipe)));
    });
}

}  // namespace
}  // namespace torusmp::mpi

TORUSMP_ENTRIES(Type_create_subarray,
                (int ndims, const Count array_of_sizes[], const Count array_of_subsizes[],
                 const Count array_of_starts[], int order, MPI_Datatype oldtype,
                 MPI_Datatype* newtype),
                make_subarray(name, form,
                              {ndims, array_of_sizes, array_of_subsizes, array_of_starts, order},
                              oldtype, newtype))

TORUSMP_ENTRIES(Type_create_darray,
                (int size, int rank, int ndims, const Count array_of_gsizes[],
                 const int array_of_distribs[], const int array_of_dargs[],
                 const int array_of_psizes[], int order, MPI_Datatype oldtype,
                 MPI_Datatype* newtype),
                make_darray(name, form,
                            {size, rank, ndims, array_of_gsizes, array_of_distribs, array_of_dargs,
                             array_of_psizes, order},
                            oldtype, newtype))
