// SPDX-License-Identifier: BSD-3-Clause
// Who is told of remote writes and reads: of those by peers that arrived, and of our own that
// ended.
#pragma once

#include <cstdint>

#include "core/connection/connection.h"

namespace torusmp::core {

class TransferListener {
  public:
    // A peer's write with a notice is complete: every byte of it is in place.
    virtual void on_notice(Connection& connection, std::uint64_t notice) = 0;
    // A remote write or read of ours that was pending has ended.
    virtual void on_transfer(Connection& connection, std::uint64_t cookie, bool ok) = 0;

  protected:
    ~TransferListener() = default;
};

}  // namespace torusmp::core
