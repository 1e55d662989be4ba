// SPDX-License-Identifier: BSD-3-Clause
// Transfers that the kernel carries out while the rank does other work, by io_uring(7).
#pragma once

#include <memory>

#include "io/store.h"

namespace torusmp::io {

class Ring {
  public:
    // For a file that stays open as long as the ring. Null if the kernel or its administrator does
    // not let this process use io_uring, or if the library was built without liburing.
    static std::unique_ptr<Ring> make(int descriptor);
    // Waits for all transfers.
    ~Ring();
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    // Begins a transfer. Returns false, and does nothing, if too many have begun.
    bool begin(Transfer& transfer);
    // See Store.
    void take_ended(bool wait);

  private:
    struct Kernel;
    explicit Ring(std::unique_ptr<Kernel> kernel);
    bool submit(Transfer& transfer);
    void take(Transfer& transfer, int result);

    std::unique_ptr<Kernel> kernel_;
};

}  // namespace torusmp::io
