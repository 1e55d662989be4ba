// SPDX-License-Identifier: BSD-3-Clause
// Files of torus-bench io: opened through MPI, or by plain system calls.
//
// Used inside a Session, by one thread. Constructors and destructors are collective. Calls on files
// do not throw: the first error of a rank is kept until FileErrors::share(), so that all ranks stay
// in the same calls.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>

namespace torusmp::bench {

// Initializes MPI beside QMP, and finalizes it when destroyed.
class MpiSession {
  public:
    MpiSession() { MPI_Init(nullptr, nullptr); }
    ~MpiSession() { MPI_Finalize(); }
    MpiSession(const MpiSession&) = delete;
    MpiSession& operator=(const MpiSession&) = delete;
};

class FileErrors {
  public:
    // Keeps the text of the first error: of an MPI code, or of an errno value (0: none).
    void note_mpi(int code);
    void note_errno(const std::string& action, const std::string& path, int error);
    // Collective: throws AgreedError on all ranks if one of them has noted an error.
    void share() const;

  private:
    void keep(std::string text);
    std::string first_;
};

// A file that all ranks have open, and that is deleted at the end.
class MpiFile {
  public:
    // Creates it, or notes why not; then handle() is MPI_FILE_NULL.
    MpiFile(const std::string& path, FileErrors& errors);
    MpiFile(MpiFile&& other) noexcept : handle_(other.handle_) { other.handle_ = MPI_FILE_NULL; }
    ~MpiFile();

    MPI_File handle() const { return handle_; }
    // Collective: this rank sees rows of `row` bytes, in turn with the other ranks.
    void see_rows(std::size_t row, FileErrors& errors);

  private:
    MPI_File handle_ = MPI_FILE_NULL;
};

// A file of this process, which has no name once it is open.
class PlainFile {
  public:
    explicit PlainFile(std::string path) : path_(std::move(path)) {}
    ~PlainFile();
    PlainFile(const PlainFile&) = delete;
    PlainFile& operator=(const PlainFile&) = delete;

    void open(FileErrors& errors);
    // Move `bytes` bytes between the memory and the file from `at` on.
    void write(const std::byte* memory, std::size_t bytes, std::size_t at, FileErrors& errors);
    void read(std::byte* memory, std::size_t bytes, std::size_t at, FileErrors& errors);
    void sync(FileErrors& errors);

  private:
    std::string path_;
    int descriptor_ = -1;
};

}  // namespace torusmp::bench
