// Datatypes of parts of arrays (MPI-2.2, sections 4.1.3 and 4.1.4).
#include <utility>

#include "mpi11/check.h"
#include "mpi11/datatype.h"
#include "mpi11/entry.h"

namespace torusmp::mpi {
namespace {

struct Subarray {
    int dims;
    Numbers sizes;
    Numbers subsizes;
    Numbers starts;
    int order;
};

void check(const Subarray& part) {
    if (part.dims < 1) fail(MPI_ERR_ARG, "found {} dimensions, expected 1 or more", part.dims);
    if (!part.sizes.given() || !part.subsizes.given() || !part.starts.given())
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
        const MPI_Count last = part.sizes[i] - part.subsizes[i];
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

}  // namespace
}  // namespace torusmp::mpi

TORUSMP_ENTRIES(Type_create_subarray,
                (int ndims, const Count array_of_sizes[], const Count array_of_subsizes[],
                 const Count array_of_starts[], int order, MPI_Datatype oldtype,
                 MPI_Datatype* newtype),
                make_subarray(name, form,
                              {ndims, array_of_sizes, array_of_subsizes, array_of_starts, order},
                              oldtype, newtype))
