// SPDX-License-Identifier: BSD-3-Clause
// What a report measures: its parts, each one run of a program that exists, in the order of the
// page.
//
// Plain values; nothing is run here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "routing/torus.h"

namespace torusmp::bench {

struct ReportPart {
    enum class Program { bench, wilson, peers };

    std::string name;     // "latency tcp": unique, what --only chooses
    std::string section;  // of the page: parts of one section stand under one heading
    Program program = Program::bench;
    std::vector<std::string> words;  // for the program; of bench the measure first
    // Settings and the torus, where they are not those of the report.
    std::vector<std::string> launcher = {};
    double figures = 1;  // that take the time of a figure each
    // Parts of one overlay are drawn in one picture.
    std::string overlay = {};
};

struct ReportMachine {
    routing::Torus torus;
    bool hosts = false;                   // several, else all ranks are on this one
    std::vector<std::string> transports;  // that a link could take
    std::vector<std::string> launcher;    // words for torus-run: the machine, as the user said it
    std::string wire = {};                // --wire, as the user wrote it
    bool wilson = false, peers = false;   // whether the programs are there
    bool testbed = false;                 // the hosts are namespaces of one that is around us
};

// The part whose figures stand beside those of ours: other libraries on the same ranks.
inline constexpr std::string_view peers_beside = "peers";

std::vector<ReportPart> plan_report(const ReportMachine& machine);

// Those whose names match one of the patterns with * and ?; all, where there are none. Throws
// config::UsageError for a pattern without a part.
std::vector<ReportPart> choose_parts(const std::vector<ReportPart>& parts,
                                     const std::vector<std::string>& patterns);

// The time of each figure if the whole report is to take so long: starting ranks and warming up are
// in it.
double seconds_of_a_figure(const std::vector<ReportPart>& parts, double budget);

}  // namespace torusmp::bench
