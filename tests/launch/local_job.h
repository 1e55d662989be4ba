// SPDX-License-Identifier: BSD-3-Clause
// The command lines of jobs on this host.
#pragma once

#include <string>

#include "programs.h"

namespace torusmp::torus_run::test {

// torus-run -np N [options] rank_program steps...
inline Words job(int ranks, const Words& steps, const Words& options = {}) {
    Words words{torus_run, "-np", std::to_string(ranks)};
    words.insert(words.end(), options.begin(), options.end());
    words.push_back(rank_program);
    words.insert(words.end(), steps.begin(), steps.end());
    return words;
}

// torus-run -np N sh -c SCRIPT, where $P is the rank program.
inline Words script(int ranks, const std::string& text, const Words& options = {}) {
    Words words{torus_run, "-np", std::to_string(ranks)};
    words.insert(words.end(), options.begin(), options.end());
    for (const char* word : {"/bin/sh", "-c"}) words.emplace_back(word);
    words.push_back("P=" + rank_program + "; " + text);
    return words;
}

}  // namespace torusmp::torus_run::test
