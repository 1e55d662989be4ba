// SPDX-License-Identifier: BSD-3-Clause
// Datatypes against their definition: the type map as a plain list of basic types and places
// (MPI-1.1, section 3.12), from which bounds, size, memory and signature follow.
#include "mpi11/datatype/datatype.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

using namespace torusmp::mpi;
using torusmp::core::Layout;

namespace {

using Random = std::mt19937;

int draw(Random& random, int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
}

struct Entry {
    Basic basic;
    std::ptrdiff_t place;
};

// A type map written out, next to ours.
struct Model {
    std::vector<Entry> entries;
    TypeMap map;

    bool marker(const Entry& entry) const { return facts(entry.basic).family == Family::marker; }
    std::ptrdiff_t lb() const { return bound(Basic::lower_bound, false); }
    std::ptrdiff_t ub() const { return bound(Basic::upper_bound, true); }
    std::ptrdiff_t bound(Basic mark, bool upper) const {
        std::vector<std::ptrdiff_t> marks, data;
        for (const Entry& entry : entries) {
            const std::ptrdiff_t size = upper ? facts(entry.basic).size : 0;
            if (entry.basic == mark) marks.push_back(entry.place);
            if (!marker(entry)) data.push_back(entry.place + size);
        }
        const auto& of = marks.empty() ? data : marks;
        if (of.empty()) return 0;
        return upper ? *std::max_element(of.begin(), of.end())
                     : *std::min_element(of.begin(), of.end());
    }
};

Model basic_model(Random& random) {
    static constexpr Basic choices[] = {Basic::char_,   Basic::short_,      Basic::int_,
                                        Basic::double_, Basic::long_double, Basic::integer,
                                        Basic::byte,    Basic::complex};
    const Basic basic = choices[draw(random, 0, 7)];
    return {{{basic, 0}}, TypeMap(basic)};
}

Model repeat(const Model& of, int count, std::ptrdiff_t stride) {
    Model result{{}, of.map.repeated(std::size_t(count), stride)};
    for (int i = 0; i < count; ++i)
        for (const Entry& entry : of.entries)
            result.entries.push_back({entry.basic, entry.place + i * stride});
    return result;
}

Model join(const std::vector<Model>& parts, const std::vector<std::ptrdiff_t>& places) {
    std::vector<TypeMap::Part> placed;
    std::vector<Entry> entries;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        placed.push_back({places[i], &parts[i].map});
        for (const Entry& entry : parts[i].entries)
            entries.push_back({entry.basic, entry.place + places[i]});
    }
    return {std::move(entries), TypeMap(placed)};
}

Model random_model(Random& random, int depth) {
    if (depth == 0) return basic_model(random);
    switch (draw(random, 0, 4)) {
        case 0:
        case 1: {
            const Model inner = random_model(random, depth - 1);
            const std::ptrdiff_t stride =
                draw(random, 0, 1) != 0 ? inner.map.extent() : draw(random, -50, 50);
            return repeat(inner, draw(random, 0, 4), stride);
        }
        case 2: {
            Model result = random_model(random, depth - 1);
            const std::ptrdiff_t lb = draw(random, -9, 9), extent = draw(random, -9, 60);
            result.map.resize(lb, extent);
            std::erase_if(result.entries, [&](const Entry& entry) { return result.marker(entry); });
            result.entries.push_back({Basic::lower_bound, lb});
            result.entries.push_back({Basic::upper_bound, lb + extent});
            return result;
        }
        default: {
            std::vector<Model> parts;
            std::vector<std::ptrdiff_t> places;
            for (int i = draw(random, 0, 4); i > 0; --i) {
                const int kind = draw(random, 0, 9);
                if (kind < 2) {
                    const Basic marker = kind == 0 ? Basic::lower_bound : Basic::upper_bound;
                    parts.push_back({{{marker, 0}}, TypeMap(marker)});
                } else {
                    parts.push_back(random_model(random, depth - 1));
                }
                places.push_back(draw(random, -100, 100));
            }
            return join(parts, places);
        }
    }
}

std::vector<Basic> signature_of(const Model& model) {
    std::vector<Basic> result;
    for (const Entry& entry : model.entries)
        if (!model.marker(entry)) result.push_back(entry.basic);
    return result;
}

void check_signature(const Model& model) {
    const Signature& signature = model.map.signature;
    const std::vector<Basic> expected = signature_of(model);
    REQUIRE(signature.elements() == expected.size());
    std::vector<Basic> found;
    signature.for_each(
        [&](Basic basic, std::size_t count) { found.insert(found.end(), count, basic); });
    REQUIRE(found == expected);
    // Every length of a message of two of these; a length inside of an element is none.
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < 2 * expected.size(); ++i) {
        REQUIRE(signature.bytes_of(i) == bytes);
        REQUIRE(signature.elements_in(bytes) == i);
        const std::size_t size = facts(expected[i % expected.size()]).size;
        for (std::size_t inside = 1; inside < size; ++inside)
            REQUIRE(signature.elements_in(bytes + inside) == std::nullopt);
        bytes += size;
    }
    REQUIRE(signature.elements_in(bytes) == 2 * expected.size());
}

void check_memory(const Model& model) {
    const Layout layout(model.map.shape, model.map.extent());
    std::vector<std::ptrdiff_t> expected;
    for (const Entry& entry : model.entries)
        for (std::size_t i = 0; i < facts(entry.basic).size; ++i)
            expected.push_back(entry.place + std::ptrdiff_t(i));
    std::vector<Layout::Piece> pieces(expected.size() + 1);
    const auto found = layout.pieces(0, layout.size(), pieces);
    std::vector<std::ptrdiff_t> places;
    for (std::size_t i = 0; i < found.count; ++i)
        for (std::size_t k = 0; k < pieces[i].bytes; ++k)
            places.push_back(pieces[i].offset + std::ptrdiff_t(k));
    REQUIRE(places == expected);
}

void check_data_bounds(const Model& model) {
    Model data = model;
    std::erase_if(data.entries, [&](const Entry& entry) { return model.marker(entry); });
    REQUIRE(model.map.true_lb == data.lb());
    REQUIRE(model.map.true_ub == data.ub());
}

}  // namespace

TEST_CASE("A datatype equals its type map") {
    Random random(11);
    for (int round = 0; round < 3000; ++round) {
        const Model model = random_model(random, draw(random, 0, 5));
        CAPTURE(round);
        REQUIRE(model.map.lb == model.lb());
        REQUIRE(model.map.ub == model.ub());
        check_data_bounds(model);
        check_signature(model);
        check_memory(model);
    }
}

TEST_CASE("Every predefined type is as large and as aligned as its C type") {
    for (const BasicFacts& basic : basic_types()) {
        CAPTURE(basic.name);
        CHECK(&facts(basic.basic) == &basic);
        const TypeMap map(basic.basic);
        CHECK(map.size() == basic.size);
        CHECK(map.extent() == basic.extent);
        CHECK(map.alignment == basic.alignment);
    }
    CHECK(facts(Basic::double_int).size == 12);
    CHECK(facts(Basic::double_int).extent == 16);
    CHECK(facts(Basic::short_int).index_at == 4);
    CHECK(facts(Basic::long_double_int).extent == 32);
    CHECK(facts(Basic::complex).size == 8);
    CHECK(facts(Basic::complex8).size == 8);
    CHECK(facts(Basic::complex16).size == 16);
}

TEST_CASE("A pair consists of its two elements") {
    const Signature pair(Basic::short_int);
    CHECK(pair.elements() == 2);
    CHECK(pair.uniform() == Basic::none);
    CHECK(pair.elements_in(2) == 1u);
    CHECK(pair.elements_in(6) == 2u);
    CHECK(pair.elements_in(8) == 3u);
    CHECK(pair.elements_in(3) == std::nullopt);
    CHECK(Signature(Basic::two_int).uniform() == Basic::int_);
}

TEST_CASE("A structure is padded as by a compiler, unless a marker sets its end") {
    const TypeMap letter(Basic::char_), number(Basic::double_), end(Basic::upper_bound);
    const TypeMap::Part plain[] = {{0, &number}, {8, &letter}};
    TypeMap padded(plain);
    padded.pad();
    CHECK(padded.extent() == 16);
    CHECK(padded.true_ub == 9);
    const TypeMap::Part marked[] = {{0, &number}, {8, &letter}, {9, &end}};
    TypeMap exact(marked);
    exact.pad();
    CHECK(exact.extent() == 9);
}

TEST_CASE("Figures beyond any address are refused") {
    const TypeMap number(Basic::double_);
    const TypeMap large = number.repeated(std::size_t(1) << 31, 8);
    CHECK_THROWS_AS(large.repeated(std::size_t(1) << 31, std::ptrdiff_t(1) << 34), Failure);
    TypeMap resized = number;
    CHECK_THROWS_AS(resized.resize(PTRDIFF_MAX, 1), Failure);
}
