// SPDX-License-Identifier: BSD-3-Clause
// Finds the program that the user named, and lets it find the libraries of this installation.
#pragma once

#include <string>
#include <vector>

namespace torusmp::torus_run {

// Searches for a name without a slash in the folders of `path`, separated by colons. If `folder` is
// given, a name with a slash is relative to it, and the result is absolute. Throws
// config::UsageError with the reason.
std::string find_program(const std::string& name, const char* path, const std::string& folder = {});

// Lets programs that were linked without a run path find the libraries of this installation:
// appends the folder to LD_LIBRARY_PATH, so that the user's entries take precedence. Does nothing
// if the dynamic linker searches the folder by default, or the folder is in the list.
void add_library_folder(std::vector<std::string>& environment);

}  // namespace torusmp::torus_run
