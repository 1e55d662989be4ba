// Where the program is that the user named.
#pragma once

#include <string>

namespace torusmp::launch {

// A name without a slash is looked for in the folders of `path`, which separates them by colons.
// With a folder to start in, a name with a slash starts there, and the path found is absolute.
// Throws config::UsageError with what is wrong.
std::string find_program(const std::string& name, const char* path, const std::string& folder = {});

}  // namespace torusmp::launch
