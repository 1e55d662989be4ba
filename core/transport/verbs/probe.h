// SPDX-License-Identifier: BSD-3-Clause
// Checks whether the ends of a link have RDMA that verbs can use, and what to do if they do not.
//
// Constant; any thread may use it.
#pragma once

#include <cstdint>

#include "core/transport/api/descriptor.h"

namespace torusmp::transport::verbs {

class RdmaProbe final : public Probe {
  public:
    std::vector<std::string> offers(const std::vector<std::string>& devices) const override;
    void check(const std::vector<std::string>& offers) const override;
    bool is_there(const config::Settings& settings, const config::CableEnd& end) const override;
    std::optional<Trouble> trouble(const config::Settings& settings,
                                   const config::CableEnd& end) const override;
    std::optional<Trouble> trouble_between(const config::Settings& settings,
                                           const config::CableEnd& one,
                                           const config::CableEnd& other) const override;
    std::optional<Trouble> trouble_forwarded(const config::Settings& settings,
                                             const config::CableEnd& end) const override;
    std::optional<Trouble> shortage(const config::Settings& settings,
                                    const config::CableEnd& end) const override;
    std::string host_note(const config::Settings& settings, int node,
                          const config::HostFacts& facts) const override;
    std::string reason(const config::Settings& settings, const config::CableEnd& one,
                       const config::CableEnd& other) const override;
    std::string warning(const config::Settings& settings, const config::CableEnd& one,
                        const config::CableEnd& other) const override;
};

// The number of bytes that a rank must be allowed to lock: the slots of all its links, which are
// registered with each of its RDMA devices and count once for each, and room for messages.
std::uint64_t locked_memory_needed(const config::Settings& settings);

}  // namespace torusmp::transport::verbs
