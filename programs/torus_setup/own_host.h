// SPDX-License-Identifier: BSD-3-Clause
// Programs and files of the host that torus-setup runs on. Any thread may call.
#pragma once

#include <string>
#include <vector>

namespace torusmp::torus_setup {

// The path of a program in the folder of torus-setup. Throws std::runtime_error.
std::string beside_this(const char* program);

// Runs a program with this terminal; returns whether it succeeded.
bool succeeds(const std::vector<std::string>& words);

// The text of a file; empty if it cannot be read.
std::string read_file(const std::string& name);

// A file that does not exist before and after this object.
struct TemporaryFile {
    explicit TemporaryFile(std::string file);
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile();
    const std::string name;
};

}  // namespace torusmp::torus_setup
