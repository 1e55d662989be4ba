// SPDX-License-Identifier: BSD-3-Clause
// Decides which members of a group access a file themselves, and which go through others. Pure.
#pragma once

#include <string>
#include <vector>

#include "io/sight.h"

namespace torusmp::io {

struct Residence {
    std::vector<bool> members;  // whether each member opens the file itself
    int keeper = 0;             // the first that does; it creates the file and serves the others
    std::string why;            // the reason for the decision; a sentence without a full stop
    std::string refusal;        // why the file cannot be opened; empty if it can
    // No member's host has it, or its folder, so another host may.
    bool elsewhere = false;

    bool all() const;
};

// `sights` is indexed by member, and so is `hosts`, whose numbers are the same for members of one
// host. `creates` means that the file is created if it does not exist.
Residence residence_of(const std::string& path, const std::vector<Sight>& sights,
                       const std::vector<int>& hosts, const Homes& homes, bool creates);

// The host that io.at names for that path. Empty if that is the host of the sight, or if none is
// named.
std::string other_home(const Sight& sight, const Homes& homes);

}  // namespace torusmp::io
