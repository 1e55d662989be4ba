// SPDX-License-Identifier: BSD-3-Clause
// The constructors of datatypes (MPI-1.1, section 3.12.1; MPI-2.2, section 4.1).
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "mpi11/datatype/datatype.h"
#include "mpi11/entry.h"
#include "mpi11/error/check.h"

namespace torusmp::mpi {
namespace {

void give(TypeMap map, Recipe recipe, MPI_Datatype* newtype) {
    *newtype = handle_of(make<Datatype>(std::move(map), std::move(recipe)));
}

void check_block_length(MPI_Count found) {
    if (found < 0) [[unlikely]]
        fail(MPI_ERR_ARG, "found block length {}, expected 0 or more", found);
}

void check_array(const char* name, const void* array, MPI_Count count) {
    if (array == nullptr && count > 0) [[unlikely]]
        fail(MPI_ERR_ARG, "found a null pointer for {}, expected {} entries", name, count);
}

// `count` blocks of `length` elements, each block `stride` bytes after the one before.
TypeMap strided(const TypeMap& element, MPI_Count count, MPI_Count length, std::ptrdiff_t stride) {
    return element.repeated(std::size_t(length), element.extent())
        .repeated(std::size_t(count), stride);
}

// Blocks of elements of one type, each of its own length, at displacements in bytes.
class Blocks {
  public:
    explicit Blocks(const TypeMap& element) : element_(element) {}

    void add(MPI_Count length, std::ptrdiff_t displacement) {
        if (length == 0) return;
        parts_.push_back({displacement, &block(length)});
    }
    TypeMap join() const { return TypeMap(parts_); }

  private:
    // Blocks of equal length form one map, so that regular lists become loops.
    const TypeMap& block(MPI_Count length) {
        const auto found = by_length_.find(length);
        if (found != by_length_.end()) return found->second;
        return by_length_.emplace(length, element_.repeated(std::size_t(length), element_.extent()))
            .first->second;
    }

    const TypeMap& element_;
    std::map<MPI_Count, TypeMap> by_length_;
    std::vector<TypeMap::Part> parts_;
};

int make_contiguous(const char* call, Form form, MPI_Count count, MPI_Datatype oldtype,
                    MPI_Datatype* newtype) {
    return api(call, [&] {
        check_count(count);
        check_output("newtype", newtype);
        Datatype& old = checked<Datatype>(oldtype);
        give(old.map().repeated(std::size_t(count), old.extent()),
             Recipe(MPI_COMBINER_CONTIGUOUS, form).number(count).type(old), newtype);
    });
}

int make_vector(const char* call, Form form, MPI_Count count, MPI_Count blocklength,
                MPI_Count stride, MPI_Datatype oldtype, MPI_Datatype* newtype) {
    return api(call, [&] {
        check_count(count);
        check_block_length(blocklength);
        check_output("newtype", newtype);
        Datatype& old = checked<Datatype>(oldtype);
        give(strided(old.map(), count, blocklength, product(stride, old.extent())),
             Recipe(MPI_COMBINER_VECTOR, form)
                 .number(count)
                 .number(blocklength)
                 .number(stride)
                 .type(old),
             newtype);
    });
}

int make_hvector(const char* call, Form form, MPI_Count count, MPI_Count blocklength,
                 MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype* newtype) {
    return api(call, [&] {
        check_count(count);
        check_block_length(blocklength);
        check_output("newtype", newtype);
        Datatype& old = checked<Datatype>(oldtype);
        give(strided(old.map(), count, blocklength, stride),
             Recipe(MPI_COMBINER_HVECTOR, form)
                 .number(count)
                 .number(blocklength)
                 .stride(stride)
                 .type(old),
             newtype);
    });
}

int make_indexed(const char* call, Form form, MPI_Count count, Numbers lengths,
                 Numbers displacements, MPI_Datatype oldtype, MPI_Datatype* newtype) {
    return api(call, [&] {
        check_count(count);
        check_array("array_of_blocklengths", lengths.array(), count);
        check_array("array_of_displacements", displacements.array(), count);
        check_output("newtype", newtype);
        Datatype& old = checked<Datatype>(oldtype);
        Blocks blocks(old.map());
        for (MPI_Count i = 0; i < count; ++i) {
            check_block_length(lengths[i]);
            blocks.add(lengths[i], product(displacements[i], old.extent()));
        }
        give(blocks.join(),
             Recipe(MPI_COMBINER_INDEXED, form)
                 .number(count)
                 .numbers(lengths, count)
                 .numbers(displacements, count)
                 .type(old),
             newtype);
    });
}

int make_hindexed(const char* call, Form form, MPI_Count count, Numbers lengths,
                  const MPI_Aint displacements[], MPI_Datatype oldtype, MPI_Datatype* newtype) {
    return api(call, [&] {
        check_count(count);
        check_array("array_of_blocklengths", lengths.array(), count);
        check_array("array_of_displacements", displacements, count);
        check_output("newtype", newtype);
        Datatype& old = checked<Datatype>(oldtype);
        Blocks blocks(old.map());
        for (MPI_Count i = 0; i < count; ++i) {
            check_block_length(lengths[i]);
            blocks.add(lengths[i], displacements[i]);
        }
        give(blocks.join(),
             Recipe(MPI_COMBINER_HINDEXED, form)
                 .number(count)
                 .numbers(lengths, count)
                 .strides(displacements, count)
                 .type(old),
             newtype);
    });
}

int make_indexed_block(const char* call, Form form, MPI_Count count, MPI_Count blocklength,
                       Numbers displacements, MPI_Datatype oldtype, MPI_Datatype* newtype) {
    return api(call, [&] {
        check_count(count);
        check_block_length(blocklength);
        check_array("array_of_displacements", displacements.array(), count);
        check_output("newtype", newtype);
        Datatype& old = checked<Datatype>(oldtype);
        Blocks blocks(old.map());
        for (MPI_Count i = 0; i < count; ++i)
            blocks.add(blocklength, product(displacements[i], old.extent()));
        give(blocks.join(),
             Recipe(MPI_COMBINER_INDEXED_BLOCK, form)
                 .number(count)
                 .number(blocklength)
                 .numbers(displacements, count)
                 .type(old),
             newtype);
    });
}

int make_hindexed_block(const char* call, Form form, MPI_Count count, MPI_Count blocklength,
                        const MPI_Aint displacements[], MPI_Datatype oldtype,
                        MPI_Datatype* newtype) {
    return api(call, [&] {
        check_count(count);
        check_block_length(blocklength);
        check_array("array_of_displacements", displacements, count);
        check_output("newtype", newtype);
        Datatype& old = checked<Datatype>(oldtype);
        Blocks blocks(old.map());
        for (MPI_Count i = 0; i < count; ++i) blocks.add(blocklength, displacements[i]);
        give(blocks.join(),
             Recipe(MPI_COMBINER_HINDEXED_BLOCK, form)
                 .number(count)
                 .number(blocklength)
                 .strides(displacements, count)
                 .type(old),
             newtype);
    });
}

int make_struct(const char* call, Form form, MPI_Count count, Numbers lengths,
                const MPI_Aint displacements[], const MPI_Datatype oldtypes[],
                MPI_Datatype* newtype) {
    return api(call, [&] {
        check_count(count);
        check_array("array_of_blocklengths", lengths.array(), count);
        check_array("array_of_displacements", displacements, count);
        check_array("array_of_types", oldtypes, count);
        check_output("newtype", newtype);
        Recipe recipe(MPI_COMBINER_STRUCT, form);
        recipe.number(count).numbers(lengths, count).strides(displacements, count);
        std::vector<TypeMap> fields;
        fields.reserve(std::size_t(count));
        std::vector<TypeMap::Part> parts;
        for (MPI_Count i = 0; i < count; ++i) {
            check_block_length(lengths[i]);
            Datatype& type = checked<Datatype>(oldtypes[i]);
            recipe.type(type);
            if (lengths[i] == 0) continue;
            fields.push_back(type.map().repeated(std::size_t(lengths[i]), type.extent()));
            parts.push_back({displacements[i], &fields.back()});
        }
        TypeMap map(parts);
        map.pad();
        give(std::move(map), std::move(recipe), newtype);
    });
}

int make_resized(const char* call, Form form, MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent,
                 MPI_Datatype* newtype) {
    return api(call, [&] {
        check_output("newtype", newtype);
        Datatype& old = checked<Datatype>(oldtype);
        TypeMap map = old.map();
        map.resize(lb, extent);
        give(std::move(map), Recipe(MPI_COMBINER_RESIZED, form).stride(lb).stride(extent).type(old),
             newtype);
    });
}

}  // namespace
}  // namespace torusmp::mpi

TORUSMP_ENTRIES(Type_contiguous, (Count count, MPI_Datatype oldtype, MPI_Datatype* newtype),
                make_contiguous(name, form, count, oldtype, newtype))
TORUSMP_ENTRIES(Type_vector,
                (Count count, Count blocklength, Count stride, MPI_Datatype oldtype,
                 MPI_Datatype* newtype),
                make_vector(name, form, count, blocklength, stride, oldtype, newtype))
TORUSMP_ENTRIES(Type_create_hvector,
                (Count count, Count blocklength, Stride stride, MPI_Datatype oldtype,
                 MPI_Datatype* newtype),
                make_hvector(name, form, count, blocklength, stride, oldtype, newtype))
TORUSMP_ENTRIES(Type_indexed,
                (Count count, const Count array_of_blocklengths[],
                 const Count array_of_displacements[], MPI_Datatype oldtype, MPI_Datatype* newtype),
                make_indexed(name, form, count, array_of_blocklengths, array_of_displacements,
                             oldtype, newtype))
TORUSMP_ENTRIES(Type_create_hindexed,
                (Count count, const Count array_of_blocklengths[],
                 const Stride array_of_displacements[], MPI_Datatype oldtype,
                 MPI_Datatype* newtype),
                make_hindexed(name, form, count, array_of_blocklengths, array_of_displacements,
                              oldtype, newtype))
TORUSMP_ENTRIES(Type_create_indexed_block,
                (Count count, Count blocklength, const Count array_of_displacements[],
                 MPI_Datatype oldtype, MPI_Datatype* newtype),
                make_indexed_block(name, form, count, blocklength, array_of_displacements, oldtype,
                                   newtype))
TORUSMP_ENTRIES(Type_create_hindexed_block,
                (Count count, Count blocklength, const Stride array_of_displacements[],
                 MPI_Datatype oldtype, MPI_Datatype* newtype),
                make_hindexed_block(name, form, count, blocklength, array_of_displacements, oldtype,
                                    newtype))
TORUSMP_ENTRIES(Type_create_struct,
                (Count count, const Count array_of_blocklengths[],
                 const Stride array_of_displacements[], const MPI_Datatype array_of_types[],
                 MPI_Datatype* newtype),
                make_struct(name, form, count, array_of_blocklengths, array_of_displacements,
                            array_of_types, newtype))
TORUSMP_ENTRIES(Type_create_resized,
                (MPI_Datatype oldtype, Stride lb, Stride extent, MPI_Datatype* newtype),
                make_resized(name, form, oldtype, lb, extent, newtype))

// The names of MPI-1.
TORUSMP_ENTRY(Type_hvector, narrow,
              (Count count, Count blocklength, Stride stride, MPI_Datatype oldtype,
               MPI_Datatype* newtype),
              make_hvector(name, form, count, blocklength, stride, oldtype, newtype))
TORUSMP_ENTRY(Type_hindexed, narrow,
              (Count count, Count array_of_blocklengths[], Stride array_of_displacements[],
               MPI_Datatype oldtype, MPI_Datatype* newtype),
              make_hindexed(name, form, count, array_of_blocklengths, array_of_displacements,
                            oldtype, newtype))
TORUSMP_ENTRY(Type_struct, narrow,
              (Count count, Count array_of_blocklengths[], Stride array_of_displacements[],
               MPI_Datatype array_of_types[], MPI_Datatype* newtype),
              make_struct(name, form, count, array_of_blocklengths, array_of_displacements,
                          array_of_types, newtype))
