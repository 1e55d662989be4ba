// SPDX-License-Identifier: BSD-3-Clause
// Options of Open MPI's and MPICH's launchers: what they mean here. Part of the command line.
#pragma once

#include <boost/program_options.hpp>
#include <string>
#include <vector>

#include "programs/torus_run/front/options.h"

namespace torusmp::launch {

void describe_familiar_options(boost::program_options::options_description& options);
// The spelling of a word that torus-run has under another name: "-prepend-rank" is "--tag-output".
std::string spell(const std::string& word);
// Options that take two words, as "-genv NAME VALUE".
bool takes_pair(const std::string& word);

// Reads them into the options. Throws UsageError that says what was found and what to do.
void read_familiar_options(const boost::program_options::variables_map& given, Options& options);

// "0,3-5" or "all", in a job of so many ranks. Throws UsageError.
std::vector<int> parse_rank_list(const std::string& text, const std::string& option, int ranks);

}  // namespace torusmp::launch
