// SPDX-License-Identifier: BSD-3-Clause
// Checks whether the ranks at both ends of a link get packet sockets, whether the kernels there
// forward frames of far ranks, and what to do if they do not.
//
// Constant; any thread may use it.
#pragma once

#include <string>
#include <vector>

#include "core/transport/api/descriptor.h"

namespace torusmp::transport::ethernet {

class FrameProbe final : public Probe {
  public:
    std::vector<std::string> offers(const std::vector<std::string>& devices) const override;
    void check(const std::vector<std::string>& offers) const override;
    bool is_there(const config::Settings& settings, const config::CableEnd& end) const override;
    std::optional<Trouble> trouble(const config::Settings& settings,
                                   const config::CableEnd& end) const override;
    std::optional<Trouble> trouble_forwarded(const config::Settings& settings,
                                             const config::CableEnd& end) const override;
    std::string reason(const config::Settings& settings, const config::CableEnd& one,
                       const config::CableEnd& other) const override;
};

}  // namespace torusmp::transport::ethernet
