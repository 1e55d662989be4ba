// SPDX-License-Identifier: BSD-3-Clause
// The plan of a report: its parts, each one run of an existing program, in the order of the page.
//
// Plain values; nothing runs here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "routing/torus.h"

namespace torusmp::bench {

struct ReportPart {
    enum class Program { bench, wilson, peers };

    std::string name;     // unique, such as "latency tcp"; --only chooses by it
    std::string section;  // of the page; parts of one section share a heading
    Program program = Program::bench;
    std::vector<std::string> words;  // arguments of the program; for bench the measure first
    // Settings and the torus, if they differ from the report's.
    std::vector<std::string> launcher = {};
    double figures = 1;  // number of figures that take the full time each
    // Parts of one overlay are drawn in one picture.
    std::string overlay = {};
};

struct ReportMachine {
    routing::Torus torus;
    bool hosts = false;                   // more than one; else all ranks are on this host
    std::vector<std::string> transports;  // those that a link could use
    // Arguments for torus-run that select the machine as the user named it.
    std::vector<std::string> launcher;
    std::string wire = {};               // --wire, as the user wrote it
    bool wilson = false, peers = false;  // whether the programs are installed
    bool testbed = false;                // the hosts are namespaces of a surrounding testbed
};

// The part with the peers' figures for the same ranks.
inline constexpr std::string_view peers_beside = "peers";

std::vector<ReportPart> plan_report(const ReportMachine& machine);

// Returns the parts whose names match one of the patterns with * and ?; all if there are no
// patterns. Throws config::UsageError for a pattern that matches no part.
std::vector<ReportPart> choose_parts(const std::vector<ReportPart>& parts,
                                     const std::vector<std::string>& patterns);

// The time per figure if the whole report is to take `budget` seconds, including the start of ranks
// and warming up.
double seconds_of_a_figure(const std::vector<ReportPart>& parts, double budget);

}  // namespace torusmp::bench
