// SPDX-License-Identifier: BSD-3-Clause
#include "bench/torus_bench/mpi_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <utility>

#include "bench/torus_bench/benchmarks.h"
#include "bench/torus_bench/qmp_objects.h"

namespace torusmp::bench {

void FileErrors::keep(std::string text) {
    if (first_.empty()) first_ = std::move(text);
}

void FileErrors::note_mpi(int code) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    keep(text);
}

void FileErrors::note_errno(const std::string& action, const std::string& path, int error) {
    if (error != 0)
        keep(fmt::format("rank {} cannot {} {}: {}", rank(), action, path, std::strerror(error)));
}

void FileErrors::share() const {
    int failed = first_.empty() ? INT_MAX : rank();
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (failed == INT_MAX) return;
    char text[MPI_MAX_ERROR_STRING] = "";
    first_.copy(text, sizeof text - 1);
    MPI_Bcast(text, sizeof text, MPI_CHAR, failed, MPI_COMM_WORLD);
    throw AgreedError(text);
}

MpiFile::MpiFile(const std::string& path, FileErrors& errors) {
    constexpr int mode = MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_DELETE_ON_CLOSE;
    errors.note_mpi(MPI_File_open(MPI_COMM_WORLD, path.c_str(), mode, MPI_INFO_NULL, &handle_));
}

MpiFile::~MpiFile() {
    if (handle_ != MPI_FILE_NULL) MPI_File_close(&handle_);
}

void MpiFile::see_rows(std::size_t row, FileErrors& errors) {
    MPI_Datatype own, tile;
    MPI_Type_contiguous(int(row), MPI_BYTE, &own);
    MPI_Type_create_resized(own, 0, MPI_Aint(row) * ranks(), &tile);
    MPI_Type_commit(&tile);
    errors.note_mpi(MPI_File_set_view(handle_, MPI_Offset(row) * rank(), MPI_BYTE, tile, "native",
                                      MPI_INFO_NULL));
    MPI_Type_free(&tile);
    MPI_Type_free(&own);
}

PlainFile::~PlainFile() {
    if (descriptor_ != -1) ::close(descriptor_);
}

void PlainFile::open(FileErrors& errors) {
    std::signal(SIGXFSZ, SIG_IGN);  // beyond the limit of ulimit -f, writes fail with EFBIG
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    errors.note_errno("create", path_,
                      descriptor_ == -1 || ::unlink(path_.c_str()) != 0 ? errno : 0);
}

namespace {

// Repeats call(done) until it has moved all bytes; returns an errno value.
template <class Call>
int move_all(std::size_t bytes, Call&& call) {
    for (std::size_t done = 0; done < bytes;) {
        const ssize_t moved = call(done);
        if (moved == -1 && errno == EINTR) continue;
        if (moved <= 0) return moved == 0 ? EIO : errno;
        done += std::size_t(moved);
    }
    return 0;
}

}  // namespace

void PlainFile::write(const std::byte* memory, std::size_t bytes, std::size_t at,
                      FileErrors& errors) {
    errors.note_errno("write", path_, move_all(bytes, [&](std::size_t done) {
                          return ::pwrite(descriptor_, memory + done, bytes - done,
                                          off_t(at + done));
                      }));
}

void PlainFile::read(std::byte* memory, std::size_t bytes, std::size_t at, FileErrors& errors) {
    errors.note_errno("read", path_, move_all(bytes, [&](std::size_t done) {
                          return ::pread(descriptor_, memory + done, bytes - done,
                                         off_t(at + done));
                      }));
}

void PlainFile::sync(FileErrors& errors) {
    errors.note_errno("sync", path_, ::fsync(descriptor_) == 0 ? 0 : errno);
}

}  // namespace torusmp::bench
