// SPDX-License-Identifier: BSD-3-Clause
// Layouts against a naive walk: a list with the offset of every byte of the message.
#include "core/layout/layout.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>
#include <vector>

using namespace torusmp::core;

namespace layout_test {
namespace {

using Places = std::vector<std::ptrdiff_t>;
using Random = std::mt19937;

int draw(Random& random, int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
}

// A shape and, by the definition of its operations only, the offset of every byte.
struct Model {
    Shape shape;
    Places places;
};

Model repeat(const Model& of, std::size_t count, std::ptrdiff_t stride) {
    Model result{of.shape.repeated(count, stride), {}};
    for (std::size_t i = 0; i < count; ++i)
        for (const std::ptrdiff_t place : of.places)
            result.places.push_back(place + std::ptrdiff_t(i) * stride);
    return result;
}

Model join(const std::vector<Model>& parts, const std::vector<std::ptrdiff_t>& offsets) {
    std::vector<Shape::Placed> placed;
    Model result;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        placed.push_back({offsets[i], parts[i].shape});
        for (const std::ptrdiff_t place : parts[i].places)
            result.places.push_back(place + offsets[i]);
    }
    result.shape = Shape::sequence(placed);
    return result;
}

std::ptrdiff_t span_of(const Model& model) {
    if (model.places.empty()) return 1;
    const auto [low, high] = std::minmax_element(model.places.begin(), model.places.end());
    return *high - *low + 1;
}

Model random_model(Random& random, int depth) {
    if (depth == 0) {
        const std::size_t sizes[] = {0, 1, 3, 4, 8, 12, 16, 40, 64};
        const std::size_t bytes = sizes[draw(random, 0, 8)];
        Model block{Shape::block(bytes), Places(bytes)};
        std::iota(block.places.begin(), block.places.end(), 0);
        return block;
    }
    if (draw(random, 0, 2) != 0) {
        const Model inner = random_model(random, depth - 1);
        const std::ptrdiff_t span = span_of(inner);
        // Strides that touch, leave holes, run backwards, or continue an inner loop.
        const int kind = draw(random, 0, 3);
        const std::ptrdiff_t stride = kind == 0   ? span
                                      : kind == 1 ? span + draw(random, 1, 9)
                                      : kind == 2 ? -span - draw(random, 0, 5)
                                                  : 2 * span;
        return repeat(inner, std::size_t(draw(random, 0, 6)), stride);
    }
    std::vector<Model> parts;
    std::vector<std::ptrdiff_t> offsets;
    const int count = draw(random, 0, 7);
    const Model usual = random_model(random, depth - 1);
    std::ptrdiff_t at = draw(random, -20, 20);
    for (int i = 0; i < count; ++i) {
        parts.push_back(draw(random, 0, 3) != 0 ? usual : random_model(random, depth - 1));
        offsets.push_back(at);
        at += span_of(parts.back()) + (draw(random, 0, 1) != 0 ? 5 : 0);
    }
    return join(parts, offsets);
}

// Memory in which every byte of some elements has a (nearly) unique value.
struct Memory {
    Memory(const Places& places, std::ptrdiff_t extent, int elements) {
        std::ptrdiff_t low = 0, high = 0;
        for (int element = 0; element < elements; ++element)
            for (const std::ptrdiff_t place : places) {
                message.push_back(place + element * extent);
                low = std::min(low, message.back());
                high = std::max(high, message.back());
            }
        bytes.resize(std::size_t(high - low + 1));
        for (std::size_t i = 0; i < bytes.size(); ++i)
            bytes[i] = std::byte((i * 2654435761u) >> 13);
        origin = -low;
    }
    std::byte* base() { return bytes.data() + origin; }
    std::byte& at(std::size_t byte_of_message) {
        return bytes[std::size_t(message[byte_of_message] + origin)];
    }

    Places message;
    std::vector<std::byte> bytes;
    std::ptrdiff_t origin = 0;
};

void check_stretch(const Layout& layout, Memory& memory, std::size_t from, std::size_t bytes) {
    std::vector<std::byte> packed(bytes), expected(bytes);
    for (std::size_t i = 0; i < bytes; ++i) expected[i] = memory.at(from + i);
    layout.pack(memory.base(), from, packed.data(), bytes);
    REQUIRE(packed == expected);

    Memory target = memory;
    for (std::byte& byte : packed) byte = ~byte;
    layout.unpack(target.base(), from, packed.data(), bytes);
    for (std::size_t i = 0; i < bytes; ++i) memory.at(from + i) = packed[i];
    REQUIRE(target.bytes == memory.bytes);
}

void check_pieces(const Layout& layout, const Memory& memory, std::size_t from, std::size_t bytes,
                  std::size_t room) {
    std::vector<Layout::Piece> pieces(room);
    const Layout::Pieces found = layout.pieces(from, bytes, pieces);
    REQUIRE(found.count <= room);
    REQUIRE((found.bytes == bytes || found.count == room));
    std::size_t byte = from;
    for (std::size_t i = 0; i < found.count; ++i)
        for (std::size_t k = 0; k < pieces[i].bytes; ++k)
            REQUIRE(pieces[i].offset + std::ptrdiff_t(k) == memory.message[byte++]);
    REQUIRE(byte == from + found.bytes);
}

}  // namespace

TEST_CASE("A layout copies any stretch of a message as a walk over its bytes does") {
    Random random(7);
    for (int round = 0; round < 600; ++round) {
        const Model model = random_model(random, draw(random, 0, 7));
        if (model.places.size() > 20000) continue;
        const std::ptrdiff_t extent = span_of(model) + draw(random, 0, 3);
        const Layout layout(model.shape, extent);
        REQUIRE(layout.size() == model.places.size());
        if (layout.size() == 0) continue;
        Memory memory(model.places, extent, draw(random, 1, 4));
        const auto total = int(memory.message.size());
        check_stretch(layout, memory, 0, memory.message.size());
        for (int stretch = 0; stretch < 6; ++stretch) {
            const int from = draw(random, 0, total - 1);
            const int bytes = draw(random, 0, total - from);
            check_stretch(layout, memory, std::size_t(from), std::size_t(bytes));
            check_pieces(layout, memory, std::size_t(from), std::size_t(bytes),
                         std::size_t(draw(random, 1, 40)));
        }
    }
}

TEST_CASE("Adjacent blocks are one block") {
    CHECK(Layout(Shape::block(8).repeated(64, 8), 512).dense());
    CHECK(Layout(Shape::block(8).repeated(4, 8).repeated(16, 32), 512).dense());
    const Shape::Placed fields[] = {{0, Shape::block(4)}, {4, Shape::block(12)}};
    const Layout record(Shape::sequence(fields), 16);
    CHECK(record.dense());
    CHECK(record.element().blocks() == 1);
    CHECK_FALSE(Layout(Shape::sequence(fields), 24).dense());
    CHECK(Layout(Shape::sequence(fields), 24).contiguous());
}

TEST_CASE("A regular list of blocks becomes a loop, and a face of an array one nest") {
    std::vector<Shape::Placed> blocks;
    for (int i = 0; i < 1000; ++i) blocks.push_back({i * 24, Shape::block(8)});
    const Shape list = Shape::sequence(blocks);
    CHECK(list.nest()->sequence == nullptr);
    CHECK(list.nest()->depth == 1);
    CHECK(list.blocks() == 1000);

    const Shape rows = Shape::block(8).repeated(64, 528).repeated(64, 64 * 528);
    CHECK(rows.nest()->depth == 1);  // one loop: the outer goes on where the inner ends
    const Shape face = Shape::block(8).repeated(64, 528).repeated(64, 66 * 528);
    CHECK(face.nest()->depth == 2);
    CHECK(face.nest()->sequence == nullptr);
}

TEST_CASE("A shape used in many places is stored once") {
    std::vector<Shape::Placed> inside;
    for (int i = 0; i < 500; ++i) inside.push_back({i * i, Shape::block(1)});
    const Shape irregular = Shape::sequence(inside);
    std::vector<Shape::Placed> uses;
    for (std::ptrdiff_t i = 0; i < 500; ++i) uses.push_back({i * i * 1000000, irregular});
    const Shape many = Shape::sequence(uses);
    CHECK(many.size() == 250000);
    CHECK(many.nest()->sequence->parts.size() == 501);
    CHECK(many.nest()->sequence->nests.size() == 1);
}

TEST_CASE("Runs make a layout of their blocks in order") {
    const Layout layout({{100, 8, 3, 16}, {0, 0, 5, 8}, {8, 4, 2, -4}});
    CHECK(layout.size() == 32);
    std::vector<Layout::Piece> pieces(8);
    const Layout::Pieces found = layout.pieces(0, 32, pieces);
    REQUIRE(found.count == 5);
    const std::ptrdiff_t expected[] = {100, 116, 132, 8, 4};
    for (std::size_t i = 0; i < 5; ++i) CHECK(pieces[i].offset == expected[i]);
}

TEST_CASE("A base may be null, with whole addresses for offsets") {
    double values[3] = {1, 2, 3};
    const auto address = std::ptrdiff_t(reinterpret_cast<std::uintptr_t>(&values[0]));
    const Layout layout(Shape::block(8, address).repeated(2, 16), 0);
    double packed[2] = {};
    layout.pack(nullptr, 0, reinterpret_cast<std::byte*>(packed), sizeof packed);
    CHECK(packed[0] == 1);
    CHECK(packed[1] == 3);
    const Layout one(Shape::block(8, address), 8);
    const Buffer buffer(nullptr, one);
    CHECK(buffer.base == reinterpret_cast<std::byte*>(&values[0]));
}

}  // namespace layout_test
