// SPDX-License-Identifier: BSD-3-Clause
// An access that goes in packets, with all that it needs until it is complete.
//
// Pooled: it returns to the pool by itself when it is complete, unless a request of the program
// holds it. Any thread may take one.
#pragma once

#include <array>
#include <memory>

#include "mpi11/pt2pt/request.h"
#include "mpi11/rma/window.h"

namespace torusmp::mpi {

// The layout of memory that is not one block.
using AnyLayout = std::shared_ptr<const core::Layout>;

class Transfer final : public Work {
  public:
    // With a reference to the window.
    static Transfer& take(Window& window, core::rma::Action action, int target);

    Transfer() : operation(*this) {}
    ~Transfer() = default;

    // ---- of a request ----
    void start() override {}
    bool complete() const override { return operation.complete(); }
    void finish() override;
    void give_back() override;
    const char* name() const override { return call; }

    struct Operation final : core::rma::Operation {
        explicit Operation(Transfer& of) : owner(of) {}
        void ended() override {
            if (!owner.requested) owner.give_back();
        }
        Transfer& owner;
    };

    Operation operation;
    const char* call = "";
    bool requested = false;
    Window* window = nullptr;
    AnyLayout data_layout, result_layout, place_layout;
    std::array<std::byte, 64> operands;  // of MPI_Compare_and_swap

  private:
    Transfer* next_free_ = nullptr;
};

}  // namespace torusmp::mpi
