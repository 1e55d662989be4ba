// SPDX-License-Identifier: BSD-3-Clause
// The requests of one call to another rank, which the calling thread awaits together.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "core/request.h"
#include "core/waits/waits.h"

namespace torusmp::io {

class InFlight final : public core::Awaited {
  public:
    InFlight(std::initializer_list<const core::Request*> all) : all_(all) {}

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
    const std::vector<const core::Request*> all_;
};

}  // namespace torusmp::io
