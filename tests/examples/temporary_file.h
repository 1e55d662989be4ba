// SPDX-License-Identifier: BSD-3-Clause
// A file with given bytes for a test.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "nersc_writer.h"

namespace wilson::test {

// A file in a folder of its own, gone with the object.
class TemporaryFile {
  public:
    explicit TemporaryFile(const std::string& bytes) {
        std::string pattern = (std::filesystem::temp_directory_path() / "wilson-test-XXXXXX").string();
        if (!mkdtemp(pattern.data())) throw std::runtime_error("no temporary folder");
        folder_ = pattern;
        write_file(path(), bytes);
    }
    ~TemporaryFile() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    TemporaryFile(const TemporaryFile&) = delete;
    std::string path() const { return folder_ / "configuration"; }

  private:
    std::filesystem::path folder_;
};

}  // namespace wilson::test
