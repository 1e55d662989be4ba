// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/datatype/datatype.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace torusmp::mpi {
namespace {

std::ptrdiff_t sum(std::ptrdiff_t a, std::ptrdiff_t b) {
    std::ptrdiff_t result = 0;
    if (__builtin_add_overflow(a, b, &result))
        fail(MPI_ERR_ARG,
             "found a displacement of {} bytes from {}, which exceeds the address "
             "space",
             b, a);
    return result;
}

// The least or greatest of the given values; a marker overrides any data.
template <class Better>
class Bound {
  public:
    void offer(std::ptrdiff_t position, bool marked) {
        if (!found_ || (marked && !marked_) || (marked == marked_ && Better()(position, position_)))
            position_ = position;
        else
            return;
        found_ = true;
        marked_ = marked;
    }
    std::ptrdiff_t position() const { return position_; }
    bool marked() const { return marked_; }

  private:
    std::ptrdiff_t position_ = 0;
    bool found_ = false;
    bool marked_ = false;
};

core::Shape shape_of(const BasicFacts& is) {
    if (is.family != Family::pair) return core::Shape::block(is.size);
    const std::size_t value = facts(is.value).size;
    const core::Shape::Placed parts[] = {
        {0, core::Shape::block(value)},
        {std::ptrdiff_t(is.index_at), core::Shape::block(is.size - value)}};
    return core::Shape::sequence(parts);
}

}  // namespace

std::ptrdiff_t product(MPI_Count number, std::ptrdiff_t stride) {
    std::ptrdiff_t result = 0;
    if (__builtin_mul_overflow(number, stride, &result))
        fail(MPI_ERR_ARG, "found {} parts at a stride of {} bytes, which exceeds the address space",
             number, stride);
    return result;
}

Recipe& Recipe::number(MPI_Count given) {
    if (form == Form::wide)
        counts.push_back(given);
    else
        integers.push_back(int(given));
    return *this;
}

Recipe& Recipe::numbers(Numbers given, MPI_Count count) {
    for (MPI_Count i = 0; i < count; ++i) number(given[i]);
    return *this;
}

Recipe& Recipe::stride(MPI_Aint given) {
    (form == Form::wide ? counts : addresses).push_back(given);
    return *this;
}

Recipe& Recipe::strides(const MPI_Aint given[], MPI_Count count) {
    for (MPI_Count i = 0; i < count; ++i) stride(given[i]);
    return *this;
}

Recipe& Recipe::type(Datatype& given) {
    types.emplace_back(given);
    return *this;
}

TypeMap::TypeMap(Basic basic)
    : shape(shape_of(facts(basic))),
      signature(basic),
      ub(facts(basic).extent),
      true_ub(facts(basic).index_at != 0
                  ? std::ptrdiff_t(facts(basic).index_at + facts(facts(basic).index).size)
                  : std::ptrdiff_t(facts(basic).size)),
      alignment(facts(basic).alignment),
      marked_lb(basic == Basic::lower_bound),
      marked_ub(basic == Basic::upper_bound) {}

TypeMap::TypeMap(std::span<const Part> parts) {
    Bound<std::less<>> lowest, lowest_data;
    Bound<std::greater<>> highest, highest_data;
    std::vector<core::Shape::Placed> shapes;
    std::vector<Signature::Part> signatures;
    std::ptrdiff_t bytes = 0;
    shapes.reserve(parts.size());
    signatures.reserve(parts.size());
    for (const Part& part : parts) {
        const TypeMap& map = *part.map;
        const bool data = map.size() != 0;
        if (map.marked_lb || data) lowest.offer(sum(part.displacement, map.lb), map.marked_lb);
        if (map.marked_ub || data) highest.offer(sum(part.displacement, map.ub), map.marked_ub);
        if (!data) continue;
        if (__builtin_add_overflow(bytes, std::ptrdiff_t(map.size()), &bytes))
            fail(MPI_ERR_ARG, "found parts whose total size exceeds any memory");
        lowest_data.offer(sum(part.displacement, map.true_lb), false);
        highest_data.offer(sum(part.displacement, map.true_ub), false);
        alignment = std::max(alignment, map.alignment);
        shapes.push_back({part.displacement, map.shape});
        signatures.push_back({map.signature, 1});
    }
    lb = lowest.position();
    marked_lb = lowest.marked();
    ub = highest.position();
    marked_ub = highest.marked();
    true_lb = lowest_data.position();
    true_ub = highest_data.position();
    shape = core::Shape::sequence(shapes);
    signature = Signature(signatures);
}

TypeMap TypeMap::repeated(std::size_t count, std::ptrdiff_t stride) const {
    if (count == 0) return TypeMap(std::span<const Part>());
    if (count == 1) return *this;
    TypeMap result = *this;
    const std::ptrdiff_t last = product(MPI_Count(count - 1), stride);
    const std::ptrdiff_t below = std::min<std::ptrdiff_t>(last, 0);
    const std::ptrdiff_t above = std::max<std::ptrdiff_t>(last, 0);
    product(MPI_Count(count), std::ptrdiff_t(size()));
    const bool data = size() != 0;
    if (marked_lb || data) result.lb = sum(lb, below);
    if (marked_ub || data) result.ub = sum(ub, above);
    if (data) {
        result.true_lb = sum(true_lb, below);
        result.true_ub = sum(true_ub, above);
    }
    result.shape = shape.repeated(count, stride);
    result.signature = signature.repeated(count);
    return result;
}

void TypeMap::pad() {
    if (marked_ub) return;
    const auto unit = std::ptrdiff_t(alignment);
    const std::ptrdiff_t over = (ub - lb) % unit;
    if (over > 0) ub += unit - over;
}

void TypeMap::resize(std::ptrdiff_t new_lb, std::ptrdiff_t new_extent) {
    lb = new_lb;
    ub = sum(new_lb, new_extent);
    marked_lb = marked_ub = true;
}

Datatype::Datatype(const BasicFacts& is, Recipe made_by)
    : Datatype(TypeMap(is.basic), std::move(made_by)) {
    basic_ = is.basic;
    committed_ = true;
    if (recipe_.combiner == MPI_COMBINER_NAMED) name = is.name;
}

Datatype::Datatype(TypeMap described, Recipe made_by)
    : Object(kind_of_class),
      size_(described.size()),
      extent_(described.extent()),
      committed_(false),
      basic_(Basic::none),
      layout_(std::make_shared<const ElementLayout>(described)),
      map_(std::move(described)),
      recipe_(std::move(made_by)) {
    dense_ = layout_->dense() || size_ == 0;
    of_integers_ = std::any_of(recipe_.types.begin(), recipe_.types.end(),
                               [](const auto& type) { return type->of_integers_; });
}
Datatype::Datatype(Datatype& element, std::vector<Section> sections)
    : Datatype(element.map_, Recipe(MPI_COMBINER_DUP, Form::narrow).type(element)) {
    dense_ = false;  // whatever the type is: buffers are where the sections are
    committed_ = true;
    name = element.describe();
    sections_ = std::move(sections);
}

void Datatype::made_of_integers() {
    switch (recipe_.combiner) {
        case MPI_COMBINER_HVECTOR:
            recipe_.combiner = MPI_COMBINER_HVECTOR_INTEGER;
            break;
        case MPI_COMBINER_HINDEXED:
            recipe_.combiner = MPI_COMBINER_HINDEXED_INTEGER;
            of_integers_ = true;
            break;
        case MPI_COMBINER_STRUCT:
            recipe_.combiner = MPI_COMBINER_STRUCT_INTEGER;
            of_integers_ = true;
            break;
        default:
            return;
    }
    recipe_.integers.insert(recipe_.integers.end(), recipe_.addresses.begin(),
                            recipe_.addresses.end());
    recipe_.addresses.clear();
}

bool Datatype::cut_addresses() const {
    // A whole address in an outer type corrects the displacements inside it.
    return of_integers_ && address_was_cut.load(std::memory_order_relaxed) &&
           true_lb() == std::ptrdiff_t(MPI_Fint(true_lb()));
}

bool Datatype::take_back() {
    int held = handles_.load(std::memory_order_relaxed);
    do {
        if (held == 0)
            fail(MPI_ERR_TYPE, "found {}, which was freed and exists only inside other types",
                 describe());
    } while (!handles_.compare_exchange_weak(held, held - 1, std::memory_order_relaxed));
    if (held != 1) return false;
    committed_ = false;
    return true;
}

std::string Datatype::describe() const {
    return name.empty() ? fmt::format("a datatype of {} bytes", size_) : name;
}

void make_datatypes() {
    for (const BasicFacts& basic : basic_types())
        make_predefined(make<Datatype>(basic), basic.handle);
}

namespace {

// The memory of `count` elements that lie in a section, from an address that stands for it.
core::Buffer buffer_in(const Section& section, const void* address, std::size_t count,
                       const Datatype& element, LayoutHold& hold) {
    const std::size_t bytes = count * element.size();
    if (bytes == 0) return {};
    const auto from = std::ptrdiff_t(reinterpret_cast<std::uintptr_t>(address) -
                                     reinterpret_cast<std::uintptr_t>(section.address()));
    core::Shape shape;
    if (element.dense()) {
        shape = section.part(from + element.true_lb(), bytes);
    } else {
        const core::Layout& layout = *element.layout();
        std::vector<core::Shape::Placed> parts;
        std::array<core::Layout::Piece, 64> pieces;
        for (std::size_t done = 0; done < bytes;) {
            const auto found = layout.pieces(done, bytes - done, pieces);
            for (std::size_t i = 0; i < found.count; ++i)
                parts.push_back({0, section.part(from + pieces[i].offset, pieces[i].bytes)});
            done += found.bytes;
        }
        shape = core::Shape::sequence(parts);
    }
    hold = std::make_shared<const ElementLayout>(std::move(shape),
                                                 element.signature().repeated(count));
    return {section.base(), *hold};
}

}  // namespace

core::Buffer scattered_buffer(const void* address, std::size_t count, const Datatype& type,
                              LayoutHold& hold) {
    if (!type.sections().empty()) {
        for (const Section& section : type.sections())
            if (section.holds(address))
                return buffer_in(section, address, count, type.element(), hold);
        return buffer_of(address, count, type.element(), hold);
    }
    const core::Buffer buffer(const_cast<void*>(address), *type.layout(), count);
    if (buffer.layout != nullptr) hold = type.layout();
    return buffer;
}

namespace wrong {

void uncommitted(const Datatype& type) {
    if (type.freed())
        fail(MPI_ERR_TYPE, "found {}, which was freed and exists only inside other types",
             type.describe());
    fail(MPI_ERR_TYPE, "found {}, which was not committed: call MPI_Type_commit first",
         type.describe());
}

void beyond_memory(MPI_Count count, const Datatype& type) {
    fail(MPI_ERR_COUNT, "found count {} of {}, which exceeds any memory", count, type.describe());
}

void null_buffer(MPI_Count count, const Datatype& type) {
    if (type.true_lb() != 0)
        fail(MPI_ERR_BUFFER,
             "found MPI_BOTTOM with {} of {}, whose displacements are INTEGERs that cannot hold "
             "addresses: make it with MPI_GET_ADDRESS and MPI_TYPE_CREATE_STRUCT or "
             "MPI_TYPE_CREATE_HINDEXED, which take INTEGER(KIND=MPI_ADDRESS_KIND)",
             count, type.describe());
    fail(MPI_ERR_BUFFER,
         "found a null buffer for {} of {}, expected memory, or MPI_BOTTOM with a "
         "datatype of addresses",
         count, type.describe());
}

}  // namespace wrong

}  // namespace torusmp::mpi
