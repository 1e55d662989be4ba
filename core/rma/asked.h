// SPDX-License-Identifier: BSD-3-Clause
// The requests of a rank to this one, for the modules that carry them out.
#pragma once

#include <array>
#include <span>

#include "core/rma/windows.h"

namespace torusmp::core::rma {

// A packet that asks, after its checks.
struct Windows::Asked {
    Peer& peer;
    Window& window;
    AskBody body;
    std::array<PieceBody, most_pieces> pieces;

    Window::Dealings& dealings() const { return window.dealings[body.origin]; }
    Control& control() const { return *window.parts[std::size_t(window.self)].control; }
    std::span<const PieceBody> all() const { return {pieces.data(), body.pieces}; }
};

}  // namespace torusmp::core::rma
