// SPDX-License-Identifier: BSD-3-Clause
// Which members of a group read and write a file themselves, and which go through others. Pure.
#pragma once

#include <string>
#include <vector>

#include "io/sight.h"

namespace torusmp::io {

struct Residence {
    std::vector<bool> members;  // who opens the file itself
    int keeper = 0;             // the first of them, who makes it and serves those who do not
    std::string why;            // how it was decided; a sentence without a full stop
    std::string refusal;        // why it cannot be opened; empty if it can

    bool all() const;
};

// sights: by member. hosts: the host of each, as any number. creates: the file may be made.
Residence residence_of(const std::string& path, const std::vector<Sight>& sights,
                       const std::vector<int>& hosts, const Homes& homes, bool creates);

// The host that io.at names for what was seen, if the host that saw it is another; otherwise empty.
std::string other_home(const Sight& sight, const Homes& homes);

}  // namespace torusmp::io
