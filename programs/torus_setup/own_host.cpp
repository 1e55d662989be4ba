// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_setup/own_host.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "launch/agent.h"

namespace torusmp::torus_setup {

namespace fs = std::filesystem;

std::string beside_this(const char* program) {
    std::error_code error;
    const fs::path own = fs::read_symlink("/proc/self/exe", error);
    if (error)
        throw std::runtime_error(
            fmt::format("cannot find the folder of torus-setup: {}", error.message()));
    return (own.parent_path() / program).string();
}

bool succeeds(const std::vector<std::string>& words) {
    std::string command;
    for (const std::string& word : words)
        command += (command.empty() ? "" : " ") + launch::quote_for_shell(word);
    std::fflush(stdout);
    return std::system(command.c_str()) == 0;
}

std::string read_file(const std::string& name) {
    std::ifstream in(name);
    return {std::istreambuf_iterator<char>(in), {}};
}

namespace {

void remove(const std::string& name) {
    std::error_code error;
    fs::remove(name, error);
}

}  // namespace

TemporaryFile::TemporaryFile(std::string file) : name(std::move(file)) {
    remove(name);
}

TemporaryFile::~TemporaryFile() {
    remove(name);
}

}  // namespace torusmp::torus_setup
