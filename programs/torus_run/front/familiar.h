// SPDX-License-Identifier: BSD-3-Clause
// Options of Open MPI's and MPICH's launchers, and their meaning here. Part of the command line.
#pragma once

#include <boost/program_options.hpp>
#include <string>
#include <vector>

#include "programs/torus_run/front/options.h"

namespace torusmp::torus_run {

void describe_familiar_options(boost::program_options::options_description& options);
// Translates an alias into torus-run's own spelling: "-prepend-rank" is "--tag-output".
std::string spell(const std::string& word);
// Throws UsageError for an option of another launcher that has no meaning here, and names what to
// use in its place.
void refuse_foreign(const std::string& word);
// Whether an option takes two arguments, as "-genv NAME VALUE".
bool takes_pair(const std::string& word);

// Reads these options into `options`. Throws UsageError with the text found and what to do.
void read_familiar_options(const boost::program_options::variables_map& given, Options& options);

// Parses "0,3-5" or "all", for a job of `ranks` ranks. Throws UsageError.
std::vector<int> parse_rank_list(const std::string& text, const std::string& option, int ranks);

}  // namespace torusmp::torus_run
