// The constructors of datatypes (MPI-1.1, section 3.12.1; MPI-2.2, section 4.1).
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "mpi11/check.h"
#include "mpi11/datatype.h"

namespace torusmp::mpi {
namespace {

std::vector<Reference<Datatype>> references(std::span<Datatype* const> types) {
    std::vector<Reference<Datatype>> result;
    result.reserve(types.size());
    for (Datatype* const type : types) result.emplace_back(*type);
    return result;
}

void give(TypeMap map, int combiner, std::vector<int> integers, std::vector<MPI_Aint> addresses,
          std::span<Datatype* const> types, MPI_Datatype* newtype) {
    Datatype& made = make<Datatype>(
        std::move(map),
        Recipe{combiner, std::move(integers), std::move(addresses), references(types)});
    *newtype = handle_of(made);
}

void check_block_length(int found) {
    if (found < 0) [[unlikely]]
        fail(MPI_ERR_ARG, "found block length {}, expected 0 or more", found);
}

void check_array(const char* name, const void* array, int count) {
    if (array == nullptr && count > 0) [[unlikely]]
        fail(MPI_ERR_ARG, "found a null pointer for {}, expected {} entries", name, count);
}

// `count` blocks of `length` elements, each block `stride` bytes behind the one before.
TypeMap strided(const TypeMap& element, int count, int length, std::ptrdiff_t stride) {
    return element.repeated(std::size_t(length), element.extent())
        .repeated(std::size_t(count), stride);
}

// Blocks of elements of one type, each of its own length, at displacements in bytes.
class Blocks {
  public:
    explicit Blocks(const TypeMap& element) : element_(element) {}

    void add(int length, std::ptrdiff_t displacement) {
        if (length == 0) return;
        parts_.push_back({displacement, &block(length)});
    }
    TypeMap join() const { return TypeMap(parts_); }

  private:
    // Blocks of equal length are one map, so that regular lists become loops.
    const TypeMap& block(int length) {
        const auto found = by_length_.find(length);
        if (found != by_length_.end()) return found->second;
        return by_length_.emplace(length, element_.repeated(std::size_t(length), element_.extent()))
            .first->second;
    }

    const TypeMap& element_;
    std::map<int, TypeMap> by_length_;
    std::vector<TypeMap::Part> parts_;
};

void make_contiguous(int count, MPI_Datatype oldtype, MPI_Datatype* newtype) {
    check_count(count);
    check_output("newtype", newtype);
    Datatype* const old = &checked<Datatype>(oldtype);
    give(old->map().repeated(std::size_t(count), old->extent()), MPI_COMBINER_CONTIGUOUS, {count},
         {}, {&old, 1}, newtype);
}

void make_vector(int count, int blocklength, int stride, MPI_Datatype oldtype,
                 MPI_Datatype* newtype) {
    check_count(count);
    check_block_length(blocklength);
    check_output("newtype", newtype);
    Datatype* const old = &checked<Datatype>(oldtype);
    give(strided(old->map(), count, blocklength, std::ptrdiff_t(stride) * old->extent()),
         MPI_COMBINER_VECTOR, {count, blocklength, stride}, {}, {&old, 1}, newtype);
}

void make_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
                  MPI_Datatype* newtype) {
    check_count(count);
    check_block_length(blocklength);
    check_output("newtype", newtype);
    Datatype* const old = &checked<Datatype>(oldtype);
    give(strided(old->map(), count, blocklength, stride), MPI_COMBINER_HVECTOR,
         {count, blocklength}, {stride}, {&old, 1}, newtype);
}

void make_indexed(int count, const int lengths[], const int displacements[], MPI_Datatype oldtype,
                  MPI_Datatype* newtype) {
    check_count(count);
    check_array("array_of_blocklengths", lengths, count);
    check_array("array_of_displacements", displacements, count);
    check_output("newtype", newtype);
    Datatype* const old = &checked<Datatype>(oldtype);
    Blocks blocks(old->map());
    std::vector<int> integers{count};
    for (int i = 0; i < count; ++i) {
        check_block_length(lengths[i]);
        blocks.add(lengths[i], displacements[i] * old->extent());
    }
    integers.insert(integers.end(), lengths, lengths + count);
    integers.insert(integers.end(), displacements, displacements + count);
    give(blocks.join(), MPI_COMBINER_INDEXED, std::move(integers), {}, {&old, 1}, newtype);
}

void make_hindexed(int count, const int lengths[], const MPI_Aint displacements[],
                   MPI_Datatype oldtype, MPI_Datatype* newtype) {
    check_count(count);
    check_array("array_of_blocklengths", lengths, count);
    check_array("array_of_displacements", displacements, count);
    check_output("newtype", newtype);
    Datatype* const old = &checked<Datatype>(oldtype);
    Blocks blocks(old->map());
    for (int i = 0; i < count; ++i) {
        check_block_length(lengths[i]);
        blocks.add(lengths[i], displacements[i]);
    }
    std::vector<int> integers{count};
    integers.insert(integers.end(), lengths, lengths + count);
    give(blocks.join(), MPI_COMBINER_HINDEXED, std::move(integers),
         {displacements, displacements + count}, {&old, 1}, newtype);
}

void make_indexed_block(int count, int blocklength, const int displacements[], MPI_Datatype oldtype,
                        MPI_Datatype* newtype) {
    check_count(count);
    check_block_length(blocklength);
    check_array("array_of_displacements", displacements, count);
    check_output("newtype", newtype);
    Datatype* const old = &checked<Datatype>(oldtype);
    Blocks blocks(old->map());
    for (int i = 0; i < count; ++i) blocks.add(blocklength, displacements[i] * old->extent());
    std::vector<int> integers{count, blocklength};
    integers.insert(integers.end(), displacements, displacements + count);
    give(blocks.join(), MPI_COMBINER_INDEXED_BLOCK, std::move(integers), {}, {&old, 1}, newtype);
}

void make_hindexed_block(int count, int blocklength, const MPI_Aint displacements[],
                         MPI_Datatype oldtype, MPI_Datatype* newtype) {
    check_count(count);
    check_block_length(blocklength);
    check_array("array_of_displacements", displacements, count);
    check_output("newtype", newtype);
    Datatype* const old = &checked<Datatype>(oldtype);
    Blocks blocks(old->map());
    for (int i = 0; i < count; ++i) blocks.add(blocklength, displacements[i]);
    give(blocks.join(), MPI_COMBINER_HINDEXED_BLOCK, {count, blocklength},
         {displacements, displacements + count}, {&old, 1}, newtype);
}

void make_struct(int count, const int lengths[], const MPI_Aint displacements[],
                 const MPI_Datatype oldtypes[], MPI_Datatype* newtype) {
    check_count(count);
    check_array("array_of_blocklengths", lengths, count);
    check_array("array_of_displacements", displacements, count);
    check_array("array_of_types", oldtypes, count);
    check_output("newtype", newtype);
    std::vector<Datatype*> types;
    std::vector<TypeMap> fields;
    fields.reserve(std::size_t(count));
    std::vector<TypeMap::Part> parts;
    for (int i = 0; i < count; ++i) {
        check_block_length(lengths[i]);
        types.push_back(&checked<Datatype>(oldtypes[i]));
        if (lengths[i] == 0) continue;
        const TypeMap& field = types.back()->map();
        fields.push_back(field.repeated(std::size_t(lengths[i]), field.extent()));
        parts.push_back({displacements[i], &fields.back()});
    }
    TypeMap map(parts);
    map.pad();
    std::vector<int> integers{count};
    integers.insert(integers.end(), lengths, lengths + count);
    give(std::move(map), MPI_COMBINER_STRUCT, std::move(integers),
         {displacements, displacements + count}, types, newtype);
}

void make_resized(MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent, MPI_Datatype* newtype) {
    check_output("newtype", newtype);
    Datatype* const old = &checked<Datatype>(oldtype);
    TypeMap map = old->map();
    map.resize(lb, extent);
    give(std::move(map), MPI_COMBINER_RESIZED, {}, {lb, extent}, {&old, 1}, newtype);
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Type_contiguous = PMPI_Type_contiguous
int PMPI_Type_contiguous(int count, MPI_Datatype oldtype, MPI_Datatype* newtype) {
    return api("MPI_Type_contiguous", [&] { make_contiguous(count, oldtype, newtype); });
}

#pragma weak MPI_Type_vector = PMPI_Type_vector
int PMPI_Type_vector(int count, int blocklength, int stride, MPI_Datatype oldtype,
                     MPI_Datatype* newtype) {
    return api("MPI_Type_vector",
               [&] { make_vector(count, blocklength, stride, oldtype, newtype); });
}

#pragma weak MPI_Type_create_hvector = PMPI_Type_create_hvector
int PMPI_Type_create_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
                             MPI_Datatype* newtype) {
    return api("MPI_Type_create_hvector",
               [&] { make_hvector(count, blocklength, stride, oldtype, newtype); });
}

#pragma weak MPI_Type_hvector = PMPI_Type_hvector
int PMPI_Type_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
                      MPI_Datatype* newtype) {
    return api("MPI_Type_hvector",
               [&] { make_hvector(count, blocklength, stride, oldtype, newtype); });
}

#pragma weak MPI_Type_indexed = PMPI_Type_indexed
int PMPI_Type_indexed(int count, const int array_of_blocklengths[],
                      const int array_of_displacements[], MPI_Datatype oldtype,
                      MPI_Datatype* newtype) {
    return api("MPI_Type_indexed", [&] {
        make_indexed(count, array_of_blocklengths, array_of_displacements, oldtype, newtype);
    });
}

#pragma weak MPI_Type_create_hindexed = PMPI_Type_create_hindexed
int PMPI_Type_create_hindexed(int count, const int array_of_blocklengths[],
                              const MPI_Aint array_of_displacements[], MPI_Datatype oldtype,
                              MPI_Datatype* newtype) {
    return api("MPI_Type_create_hindexed", [&] {
        make_hindexed(count, array_of_blocklengths, array_of_displacements, oldtype, newtype);
    });
}

#pragma weak MPI_Type_hindexed = PMPI_Type_hindexed
int PMPI_Type_hindexed(int count, int array_of_blocklengths[], MPI_Aint array_of_displacements[],
                       MPI_Datatype oldtype, MPI_Datatype* newtype) {
    return api("MPI_Type_hindexed", [&] {
        make_hindexed(count, array_of_blocklengths, array_of_displacements, oldtype, newtype);
    });
}

#pragma weak MPI_Type_create_indexed_block = PMPI_Type_create_indexed_block
int PMPI_Type_create_indexed_block(int count, int blocklength, const int array_of_displacements[],
                                   MPI_Datatype oldtype, MPI_Datatype* newtype) {
    return api("MPI_Type_create_indexed_block", [&] {
        make_indexed_block(count, blocklength, array_of_displacements, oldtype, newtype);
    });
}

#pragma weak MPI_Type_create_hindexed_block = PMPI_Type_create_hindexed_block
int PMPI_Type_create_hindexed_block(int count, int blocklength,
                                    const MPI_Aint array_of_displacements[], MPI_Datatype oldtype,
                                    MPI_Datatype* newtype) {
    return api("MPI_Type_create_hindexed_block", [&] {
        make_hindexed_block(count, blocklength, array_of_displacements, oldtype, newtype);
    });
}

#pragma weak MPI_Type_create_struct = PMPI_Type_create_struct
int PMPI_Type_create_struct(int count, const int array_of_blocklengths[],
                            const MPI_Aint array_of_displacements[],
                            const MPI_Datatype array_of_types[], MPI_Datatype* newtype) {
    return api("MPI_Type_create_struct", [&] {
        make_struct(count, array_of_blocklengths, array_of_displacements, array_of_types, newtype);
    });
}

#pragma weak MPI_Type_struct = PMPI_Type_struct
int PMPI_Type_struct(int count, int array_of_blocklengths[], MPI_Aint array_of_displacements[],
                     MPI_Datatype array_of_types[], MPI_Datatype* newtype) {
    return api("MPI_Type_struct", [&] {
        make_struct(count, array_of_blocklengths, array_of_displacements, array_of_types, newtype);
    });
}

#pragma weak MPI_Type_create_resized = PMPI_Type_create_resized
int PMPI_Type_create_resized(MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent,
                             MPI_Datatype* newtype) {
    return api("MPI_Type_create_resized", [&] { make_resized(oldtype, lb, extent, newtype); });
}
}
