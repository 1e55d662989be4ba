// SPDX-License-Identifier: BSD-3-Clause
// Receives notices of remote transfers: the peers' writes that have arrived, and our own writes and
// reads that have ended.
#pragma once

#include <cstdint>

#include "core/connection/connection.h"

namespace torusmp::core {

class TransferListener {
  public:
    // A peer's write with a notice is complete: every byte is in place.
    virtual void on_notice(Connection& connection, std::uint64_t notice) = 0;
    // A pending remote write or read of this rank has ended.
    virtual void on_transfer_end(Connection& connection, std::uint64_t cookie, bool ok) = 0;

  protected:
    ~TransferListener() = default;
};

}  // namespace torusmp::core
