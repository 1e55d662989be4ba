// SPDX-License-Identifier: BSD-3-Clause
// The command line of torus-top.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "programs/torus_top/screen.h"

namespace torusmp::torus_top {

struct Options {
    std::optional<pid_t> job;
    enum class Form { screen, once, json, csv, serve, list } form = Form::screen;
    Page page = Page::ranks;
    std::chrono::milliseconds interval{1000};
    std::string record, replay;
    double speed = 1;
    std::string address;  // address of the server
    int port = 0;
    bool open_to_others = false;
    std::string token_file;
    bool help = false, version = false;
};

// Throws config::UsageError.
Options parse_options(int argc, const char* const* argv);
std::string help_text();

}  // namespace torusmp::torus_top
