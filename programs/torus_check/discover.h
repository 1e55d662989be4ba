// SPDX-License-Identifier: BSD-3-Clause
// Derives a geometry file from the packets that the hosts received on their cables, and infers
// missing cables from the others. Pure; any thread may call.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "programs/torus_check/coordinator.h"
#include "routing/recognize.h"

namespace torusmp::torus_check {

struct Discovery {
    std::optional<routing::Recognized> torus;
    std::size_t cables = 0;          // that were found
    std::string reason;              // a sentence: why the cables form no torus; empty if they do
    std::vector<std::string> notes;  // cables that were left out, and why
    // Cables that the torus needs and that nothing crosses, or only one way; a line for each.
    std::vector<std::string> holes;
    std::string geometry;  // the text of the file; empty without a torus
};

// `hosts` and `results` go together; the order of the hosts is kept where the torus allows it. Only
// devices for which `wanted` holds are considered. `agent`: written to the file unless empty.
Discovery discover(const std::vector<std::string>& hosts, const std::vector<HostResult>& results,
                   const std::function<bool(const std::string&)>& wanted, const std::string& agent);

}  // namespace torusmp::torus_check
