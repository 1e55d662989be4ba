// SPDX-License-Identifier: BSD-3-Clause
// Datatypes: the elements of a message and their layout in memory (MPI-1.1, section 3.12).
//
// A Datatype is immutable except for its commitment, its name and its attributes. It keeps the
// layout of one element, as core copies it, and its signature; the types it was constructed from
// are kept only for queries. A message in flight holds the layout, so a type may be freed before
// the message arrives. Any thread may use one.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/layout/layout.h"
#include "mpi11/datatype/basic_types.h"
#include "mpi11/datatype/section.h"
#include "mpi11/datatype/signature.h"
#include "mpi11/error/error.h"
#include "mpi11/numbers.h"
#include "mpi11/object.h"

namespace torusmp::mpi {

class Attributes;
class Datatype;

// The contents of a datatype, without its handle: composed by the constructors.
struct TypeMap {
    core::Shape shape;
    Signature signature;
    std::ptrdiff_t lb = 0, ub = 0;            // with markers and padding
    std::ptrdiff_t true_lb = 0, true_ub = 0;  // of the data alone
    std::size_t alignment = 1;                // the largest of its parts
    // The bounds come from markers or a resize, which override the data's.
    bool marked_lb = false, marked_ub = false;

    std::ptrdiff_t extent() const { return ub - lb; }
    std::size_t size() const { return signature.bytes(); }

    explicit TypeMap(Basic basic);
    struct Part;
    // One after the other, each at its displacement.
    explicit TypeMap(std::span<const Part> parts);
    // `count` copies of it, each `stride` bytes after the one before.
    TypeMap repeated(std::size_t count, std::ptrdiff_t stride) const;
    // Rounds the extent up to the alignment, as a C compiler does with structures.
    void pad();
    void resize(std::ptrdiff_t new_lb, std::ptrdiff_t new_extent);
};
struct TypeMap::Part {
    std::ptrdiff_t displacement;
    const TypeMap* map;
};

// The constructor call of a type, for MPI_Type_get_contents. The counts, strides and displacements
// given to a constructor of the wide form are all among the counts, and only the wide query returns
// them.
struct Recipe {
    Recipe() = default;
    Recipe(int made_by, Form with) : combiner(made_by), form(with) {}
    // In the order of the constructor's arguments.
    Recipe& number(MPI_Count given);
    Recipe& numbers(Numbers given, MPI_Count count);
    Recipe& stride(MPI_Aint given);  // in bytes
    Recipe& strides(const MPI_Aint given[], MPI_Count count);
    Recipe& type(Datatype& given);

    int combiner = MPI_COMBINER_NAMED;
    Form form = Form::narrow;
    std::vector<int> integers;
    std::vector<MPI_Aint> addresses;
    std::vector<MPI_Count> counts;
    std::vector<Reference<Datatype>> types;
};

// A stride in bytes times a count; throws Failure if the product exceeds the range of addresses.
std::ptrdiff_t product(MPI_Count number, std::ptrdiff_t stride);

// The layout of a type together with its basic elements, so that a receive can determine whether a
// message ends inside one of them.
class ElementLayout : public core::Layout {
  public:
    explicit ElementLayout(const TypeMap& map)
        : Layout(map.shape, map.extent()), signature_(map.signature) {}
    // The layout of one message.
    ElementLayout(core::Shape shape, Signature signature)
        : Layout(std::move(shape)), signature_(std::move(signature)) {}
    const Signature& signature() const { return signature_; }

  private:
    Signature signature_;
};

// Keeps the layout of a message's memory while the message is in flight; null if it is one block.
using LayoutHold = std::shared_ptr<const ElementLayout>;

class Datatype : public Object {
  public:
    using Handle = MPI_Datatype;
    static constexpr Kind kind_of_class = Kind::datatype;
    static constexpr int error_class = MPI_ERR_TYPE;
    static inline const Handle null_handle = MPI_DATATYPE_NULL;
    static constexpr const char* null_name = "MPI_DATATYPE_NULL";
    static constexpr const char* noun = "datatype";

    // A predefined type: with a name, or without one if it is described by a recipe.
    explicit Datatype(const BasicFacts& is, Recipe made_by = {});
    Datatype(TypeMap described, Recipe made_by);
    // A datatype for one call, made of `element` in buffers some of which are array sections, given
    // as Section::address(). Committed; the program never sees it.
    Datatype(Datatype& element, std::vector<Section> sections);

    std::size_t size() const { return size_; }  // bytes of data in one element
    std::ptrdiff_t extent() const { return extent_; }
    std::ptrdiff_t lb() const { return map_.lb; }
    std::ptrdiff_t ub() const { return map_.ub; }
    std::ptrdiff_t true_lb() const { return map_.true_lb; }
    std::ptrdiff_t true_ub() const { return map_.true_ub; }
    std::ptrdiff_t true_extent() const { return map_.true_ub - map_.true_lb; }
    // Any number of elements is one block of memory, starting at true_lb().
    bool dense() const { return dense_; }
    bool committed() const { return committed_; }
    // Its predefined type, or none.
    Basic basic() const { return basic_; }
    // Lives as long as the library; programs do not free it.
    bool predefined() const { return basic_ != Basic::none; }
    // The type as the program knows it.
    Datatype& element() { return sections_.empty() ? *this : *recipe_.types[0]; }
    const Datatype& element() const { return sections_.empty() ? *this : *recipe_.types[0]; }
    const std::vector<Section>& sections() const { return sections_; }
    // The one basic type of which it consists, or none.
    Basic uniform() const { return map_.signature.uniform(); }
    const Signature& signature() const { return map_.signature; }
    const TypeMap& map() const { return map_; }
    const LayoutHold& layout() const { return layout_; }
    const Recipe& recipe() const { return recipe_; }
    // Its displacements may be parts of addresses, which Fortran's INTEGERs could not hold.
    bool cut_addresses() const;

    void commit() { committed_ = true; }
    // Marks a type created by a routine of MPI-1 in Fortran, whose displacements are INTEGERs. To
    // be called before the program gets it.
    void made_of_integers();
    // Adds a handle of the program.
    void hand_out() { handles_.fetch_add(1, std::memory_order_relaxed); }
    // Removes a handle; true if it was the last: the type may then live on in others, but no new
    // message may use it. Throws Failure if the program has none left.
    bool take_back();
    bool freed() const { return handles_.load(std::memory_order_relaxed) == 0; }
    // Its name in messages: the given name, or "a datatype of N bytes".
    std::string describe() const;

    std::string name;
    std::shared_ptr<Attributes> attributes;  // null if none yet

  private:
    std::size_t size_;
    std::ptrdiff_t extent_;
    bool dense_;
    bool committed_;
    std::atomic<int> handles_{1};  // held by the program
    bool of_integers_ = false;     // made_of_integers(), or constructed from such a type
    Basic basic_;
    LayoutHold layout_;
    TypeMap map_;
    Recipe recipe_;
    std::vector<Section> sections_;
};

// Whether MPI_ADDRESS has returned to Fortran an INTEGER that does not hold the address.
inline constinit std::atomic<bool> address_was_cut{false};

// Creates the predefined types, once, before anything uses a datatype.
void make_datatypes();

inline Datatype& datatype_of(Basic basic) {
    return *find<Datatype>(facts(basic).handle);
}

namespace wrong {
[[noreturn]] void uncommitted(const Datatype& type);
[[noreturn]] void null_buffer(MPI_Count count, const Datatype& type);
[[noreturn]] void beyond_memory(MPI_Count count, const Datatype& type);
}  // namespace wrong

// A type that may be used in messages; throws Failure with MPI_ERR_TYPE for any other.
inline Datatype& committed(MPI_Datatype handle) {
    Datatype& type = checked<Datatype>(handle);
    if (!type.committed()) [[unlikely]]
        wrong::uncommitted(type);
    return type;
}

// MPI_BOTTOM is null, and valid only with types that hold addresses. The functions with int do not
// check the size, since they send the small messages.
template <class Count>
inline void check_buffer(const void* address, Count count, const Datatype& type) {
    if (address == nullptr && count > 0 && type.size() != 0 &&
        (type.true_lb() == 0 || type.cut_addresses())) [[unlikely]]
        wrong::null_buffer(count, type);
    if constexpr (sizeof(Count) > sizeof(int)) {
        std::ptrdiff_t bytes = 0;
        if (__builtin_mul_overflow(count, std::ptrdiff_t(type.size()), &bytes)) [[unlikely]]
            wrong::beyond_memory(count, type);
    }
}

core::Buffer scattered_buffer(const void* address, std::size_t count, const Datatype& type,
                              LayoutHold& hold);

// The memory of a message of a dense type.
inline transport::Bytes block_of(const void* address, std::size_t count, const Datatype& type) {
    return {core::displaced(address, type.true_lb()), count * type.size()};
}

// The memory of a message. Allocates nothing; one block needs no hold.
inline core::Buffer buffer_of(const void* address, std::size_t count, const Datatype& type,
                              LayoutHold& hold) {
    if (type.dense()) [[likely]]
        return {core::displaced(address, type.true_lb()), count * type.size()};
    return scattered_buffer(address, count, type, hold);
}

}  // namespace torusmp::mpi
