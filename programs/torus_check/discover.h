// SPDX-License-Identifier: BSD-3-Clause
// Derives a geometry file from the packets that the hosts received on their cables: of the torus
// that they form, with missing cables inferred from the others, or of any connected graph. Pure;
// any thread may call.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "programs/torus_check/coordinator.h"
#include "routing/recognize.h"

namespace torusmp::torus_check {

struct Discovery {
    std::optional<routing::Recognized> torus;  // empty for other graphs
    std::string shape;       // what the cables form; empty if the file cannot describe it
    std::size_t cables = 0;  // that were found
    std::string reason;      // why there is not a file, in a sentence; empty if there is one
    std::vector<std::string> notes;  // cables that were left out, and why
    // Cables that the machine needs and that nothing crosses, or only one way; a line for each.
    std::vector<std::string> holes;
    std::string geometry;  // the text of the file; empty if there is none
};

// `hosts` and `results` go together; the order of the hosts is kept where the torus allows it. Only
// devices for which `wanted` holds are considered. `chosen` means that the user has named them, so
// none of them leads through another network. `agent` is written to the file unless empty, and so is
// that only the cables join the hosts, if `over_cables`.
Discovery discover(const std::vector<std::string>& hosts, const std::vector<HostResult>& results,
                   const std::function<bool(const std::string&)>& wanted, const std::string& agent,
                   bool chosen = false, bool over_cables = false);

}  // namespace torusmp::torus_check
