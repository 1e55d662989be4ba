// SPDX-License-Identifier: BSD-3-Clause
// A temporary folder for a test, removed at its end.
#pragma once

#include <stdlib.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace torusmp::torus_run::test {

class TemporaryFolder {
  public:
    TemporaryFolder() {
        char name[] = "/tmp/torusmp-launch-test.XXXXXX";
        REQUIRE(mkdtemp(name) != nullptr);
        path_ = name;
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    std::string file(const std::string& name) const { return path_ + "/" + name; }
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(file(name)) << text;
        return file(name);
    }
    std::string script(const std::string& name, const std::string& text) const {
        write(name, "#!/bin/sh\n" + text);
        chmod(file(name).c_str(), 0755);
        return file(name);
    }
    std::string read(const std::string& name) const {
        std::ostringstream text;
        text << std::ifstream(file(name)).rdbuf();
        return text.str();
    }
    bool empty() const { return std::filesystem::is_empty(path_); }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

}  // namespace torusmp::torus_run::test
