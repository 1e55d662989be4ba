// SPDX-License-Identifier: BSD-3-Clause
// Where the program is that the user named, and how it finds our libraries.
#pragma once

#include <string>
#include <vector>

namespace torusmp::launch {

// A name without a slash is searched for in the folders of `path`, separated by colons. With a
// folder to start in, a name with a slash is relative to it, and the path found is absolute. Throws
// config::UsageError with what is wrong.
std::string find_program(const std::string& name, const char* path, const std::string& folder = {});

// Lets programs that were linked without a run path find the libraries of this installation: the
// folder is appended to LD_LIBRARY_PATH, so what the user put there wins. Nothing changes if the
// dynamic linker looks there anyway, or the folder is in the list.
void add_library_folder(std::vector<std::string>& environment);

}  // namespace torusmp::launch
