// SPDX-License-Identifier: BSD-3-Clause
// One access of an origin to the memory of a target, or one step of an epoch, that goes in packets.
//
// The caller owns the object, its buffers and their layouts, and keeps them until it is complete.
#pragma once

#include "core/request.h"
#include "core/rma/packets.h"

namespace torusmp::core::rma {

class Window;

// Memory of a target: `bytes` bytes at an offset in its window, or, with a layout, the first
// `bytes` that it describes from that offset on.
struct Place {
    std::uint64_t at = 0;
    std::size_t bytes = 0;
    const Layout* layout = nullptr;
};

class Operation : public Request {
  public:
    Operation() = default;
    virtual ~Operation() = default;

    // Called under the Runtime's lock when it is complete. The operation may then be reused.
    virtual void ended() {}

    Action action = Action::flush;
    std::uint16_t arithmetic = 0;
    std::uint16_t element = 1;  // bytes that one packet must hold together
    int target = 0;             // member of the window
    Buffer data;                // that is put, accumulated, or compared and swapped
    Buffer result;              // where a result goes
    Place place;

    // An access lay outside of the memory of a dynamic window.
    bool refused() const { return refused_; }

    // The rest is for the modules of windows.
    Window* window_ = nullptr;
    Operation* next_ = nullptr;
    std::uint32_t id_ = 0;
    std::size_t sent_ = 0;      // bytes of the place that were asked for
    std::size_t answered_ = 0;  // bytes of the result that have arrived
    bool refused_ = false;
    bool moving_ = false;  // its bytes go as a message that is not complete
    bool over_ = false;    // such an operation waits for nothing but that message
    Error error_ = Error::none;
};

}  // namespace torusmp::core::rma
