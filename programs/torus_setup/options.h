// SPDX-License-Identifier: BSD-3-Clause
// The command line of torus-setup. Throws config::UsageError with a message for people.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "config/load.h"
#include "config/netplan.h"
#include "config/settings.h"

namespace torusmp::torus_setup {

enum class Step { look, up, discover, apply, check, run };

struct Options {
    bool help = false, version = false;
    std::vector<std::string> hosts;  // if empty, those of the geometry file
    std::string file;                // the geometry file, to write or to read
    std::optional<Step> only;        // if empty, all
    bool dry_run = false, yes = false, undo = false;
    std::string agent;                // if empty, launch.agent
    std::optional<std::string> here;  // this host among them, where only the torus joins them
    std::string devices;              // globs; if empty, all that may be cables
    std::string program;              // the first program to run, by default torus-halo-exchange
    std::optional<std::string>
        service;  // a format of netplan, or none; by default as each host has it
    std::optional<int> mtu;
    std::chrono::milliseconds timeout{};
    std::vector<config::Flag> flags;  // of --set

    bool does(Step step) const { return !only || *only == step; }
};

Options parse(int argc, const char* const* argv);
void print_help();

}  // namespace torusmp::torus_setup
