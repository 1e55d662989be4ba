// SPDX-License-Identifier: BSD-3-Clause
// The facts that a host reports about itself (look in host_script.sh). Plain values; any thread may
// call.
#pragma once

#include <string>
#include <vector>

namespace torusmp::torus_setup {

struct HostDevice {
    std::string name;
    bool up = false;
};

struct Facts {
    std::string name;                 // as the host calls itself
    std::string service;              // sets its network up at boot; a format of netplan, or none
    std::string lacks;                // a program that is missing, if any
    bool changed = false;             // by an earlier torus-setup
    std::vector<HostDevice> devices;  // that may be cables of the torus
    std::string hosts;                // the text of its /etc/hosts
    std::string interfaces;  // of /etc/network/interfaces if it does not include interfaces.d
};

Facts parse_facts(const std::vector<std::string>& lines);

}  // namespace torusmp::torus_setup
