// SPDX-License-Identifier: BSD-3-Clause
// The requests of one call to another rank, which the calling thread awaits together.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/request.h"
#include "core/waits/waits.h"

namespace torusmp::io {

template <std::size_t count>
class InFlight final : public core::Awaited {
  public:
    explicit InFlight(const core::Request* const (&all)[count]) : all_(std::to_array(all)) {}

    bool complete() const {
        return std::all_of(all_.begin(), all_.end(),
                           [](const auto* request) { return request->complete(); });
    }
    bool failed() const {
        return std::any_of(all_.begin(), all_.end(), [](const auto* request) {
            return request->status().error != core::Error::none;
        });
    }
    void list(List& list) const override {
        for (const core::Request* request : all_)
            if (!request->complete()) list.ids.push_back(request);
    }

  private:
    const std::array<const core::Request*, count> all_;
};

}  // namespace torusmp::io
