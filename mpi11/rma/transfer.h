// SPDX-License-Identifier: BSD-3-Clause
// An access to a window that is carried out by packets, with everything that it needs until it is
// complete.
//
// Transfers are pooled. A complete one returns to the pool by itself, unless a request of the program
// refers to it. Any thread may take one.
#pragma once

#include <array>
#include <memory>

#include "mpi11/pt2pt/request.h"
#include "mpi11/rma/window.h"

namespace torusmp::mpi {

// The layout of memory; null if that is one block.
using AnyLayout = std::shared_ptr<const core::Layout>;

class Transfer final : public Work {
  public:
    // From the pool. It holds a reference to the window.
    static Transfer& take(Window& window, core::rma::Action action, int target);

    Transfer() : operation(*this) {}
    ~Transfer() = default;

    // ---- Work ----
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
    std::array<std::byte, 64> operands;  // copies of the operands of MPI_Compare_and_swap

  private:
    Transfer* next_free_ = nullptr;
};

}  // namespace torusmp::mpi
