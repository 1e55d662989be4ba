// Datatypes of parts of arrays (MPI-2.2, sections 4.1.3 and 4.1.4).
#include <span>
#include <utility>
#include <vector>

#include "mpi11/check.h"
#include "mpi11/datatype.h"

namespace torusmp::mpi {
namespace {

struct Subarray {
    int dims;
    const int* sizes;
    const int* subsizes;
    const int* starts;
    int order;
};

void check(const Subarray& part) {
    if (part.dims < 1) fail(MPI_ERR_ARG, "found {} dimensions, expected 1 or more", part.dims);
    if (part.sizes == nullptr || part.subsizes == nullptr || part.starts == nullptr)
        fail(MPI_ERR_ARG, "found a null pointer for sizes, subsizes or starts, expected {} entries",
             part.dims);
    if (part.order != MPI_ORDER_C && part.order != MPI_ORDER_FORTRAN)
        fail(MPI_ERR_ARG, "found order {}, expected MPI_ORDER_C or MPI_ORDER_FORTRAN", part.order);
    for (int i = 0; i < part.dims; ++i) {
        if (part.sizes[i] < 1)
            fail(MPI_ERR_ARG, "found size {} in dimension {}, expected 1 or more", part.sizes[i],
                 i);
        if (part.subsizes[i] < 1 || part.subsizes[i] > part.sizes[i])
            fail(MPI_ERR_ARG, "found subsize {} in dimension {}, expected 1 to {}",
                 part.subsizes[i], i, part.sizes[i]);
        const int last = part.sizes[i] - part.subsizes[i];
        if (part.starts[i] < 0 || part.starts[i] > last)
            fail(MPI_ERR_ARG, "found start {} in dimension {}, expected 0 to {}", part.starts[i], i,
                 last);
    }
}

// The part of the array, with the whole array's bounds.
TypeMap map_of(const Subarray& part, const TypeMap& element) {
    TypeMap map = element;
    std::ptrdiff_t stride = element.extent();  // of the dimension that comes next
    std::ptrdiff_t start = 0;
    for (int i = 0; i < part.dims; ++i) {
        const int dim = part.order == MPI_ORDER_C ? part.dims - 1 - i : i;
        map = map.repeated(std::size_t(part.subsizes[dim]), stride);
        start += part.starts[dim] * stride;
        if (__builtin_mul_overflow(stride, std::ptrdiff_t(part.sizes[dim]), &stride))
            fail(MPI_ERR_ARG, "found an array larger than any memory");
    }
    const TypeMap::Part placed[] = {{start, &map}};
    TypeMap result(placed);
    result.resize(0, stride);
    return result;
}

void make_subarray(const Subarray& part, MPI_Datatype oldtype, MPI_Datatype* newtype) {
    check(part);
    check_output("newtype", newtype);
    Datatype& old = checked<Datatype>(oldtype);
    Recipe recipe{MPI_COMBINER_SUBARRAY, {part.dims}, {}, {}};
    for (const int* array : {part.sizes, part.subsizes, part.starts})
        recipe.integers.insert(recipe.integers.end(), array, array + part.dims);
    recipe.integers.push_back(part.order);
    recipe.types.emplace_back(old);
    *newtype = handle_of(make<Datatype>(map_of(part, old.map()), std::move(recipe)));
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Type_create_subarray = PMPI_Type_create_subarray
int PMPI_Type_create_subarray(int ndims, const int array_of_sizes[], const int array_of_subsizes[],
                              const int array_of_starts[], int order, MPI_Datatype oldtype,
                              MPI_Datatype* newtype) {
    return api("MPI_Type_create_subarray", [&] {
        make_subarray({ndims, array_of_sizes, array_of_subsizes, array_of_starts, order}, oldtype,
                      newtype);
    });
}
}
