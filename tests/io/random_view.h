// SPDX-License-Identifier: BSD-3-Clause
// Random views, and the maps of the bytes that they select.
#pragma once

#include <memory>
#include <random>
#include <vector>

#include "io/view.h"

namespace torusmp::io::testing {

using Random = std::mt19937_64;

inline std::size_t below(Random& random, std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
}

// A view and, for each byte of data, its offset in the file.
struct ModelledView {
    View view;
    std::vector<Offset> offsets;  // of the first bytes of data
};

// Nested regular parts and irregular ones, all at rising offsets.
inline core::Shape random_shape(Random& random, int depth) {
    std::vector<core::Shape::Placed> parts;
    std::ptrdiff_t at = std::ptrdiff_t(below(random, 9));
    const std::size_t count = 1 + below(random, 5);
    for (std::size_t i = 0; i < count; ++i) {
        core::Shape part = depth == 0 || below(random, 2) == 0
                               ? core::Shape::block(1 + below(random, 24))
                               : random_shape(random, depth - 1);
        std::ptrdiff_t reach = 0;
        const core::Layout layout(part);
        std::vector<core::Layout::Piece> pieces(part.blocks());
        const auto found = layout.pieces(0, part.size(), pieces);
        reach = pieces[found.count - 1].offset + std::ptrdiff_t(pieces[found.count - 1].bytes);
        const std::ptrdiff_t stride = reach + std::ptrdiff_t(below(random, 20));
        const std::size_t times = below(random, 3) == 0 ? 1 + below(random, 6) : 1;
        parts.push_back({at, part.repeated(times, stride)});
        at += stride * std::ptrdiff_t(times - 1) + reach + std::ptrdiff_t(below(random, 17));
    }
    return core::Shape::sequence(parts);
}

// bytes: the number of bytes of data in the model.
inline ModelledView random_view(Random& random, std::size_t bytes) {
    ModelledView made;
    const Offset displacement = Offset(below(random, 200));
    if (below(random, 5) == 0) {
        made.view = View(displacement);
        for (std::size_t i = 0; i < bytes; ++i) made.offsets.push_back(displacement + Offset(i));
        return made;
    }
    const core::Shape shape = random_shape(random, int(below(random, 3)));
    std::vector<core::Layout::Piece> pieces(shape.blocks());
    const core::Layout alone(shape);
    pieces.resize(alone.pieces(0, shape.size(), pieces).count);
    const std::ptrdiff_t reach =
        pieces.back().offset + std::ptrdiff_t(pieces.back().bytes) - pieces.front().offset;
    const std::ptrdiff_t extent = reach + std::ptrdiff_t(below(random, 40));
    made.view = View(displacement, std::make_shared<const core::Layout>(shape, extent));
    for (Offset tile = displacement; made.offsets.size() < bytes; tile += extent)
        for (const auto& piece : pieces)
            for (std::size_t i = 0; i < piece.bytes; ++i)
                made.offsets.push_back(tile + piece.offset + Offset(i));
    made.offsets.resize(bytes);
    return made;
}

}  // namespace torusmp::io::testing
