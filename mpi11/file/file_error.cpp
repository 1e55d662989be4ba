// SPDX-License-Identifier: BSD-3-Clause
// Errors of files: their classes, texts and handlers.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "mpi11/comm/agreement.h"
#include "mpi11/error/check.h"
#include "mpi11/file/file.h"
#include "mpi11/ft/failures.h"

namespace torusmp::mpi {
namespace {

std::string reason_of(int error) {
    if (error < 0) return std::string(name_of_class(-error));
    if (error == EFBIG) return "it would be larger than the process may make it (ulimit -f)";
    return std::strerror(error);
}

}  // namespace

std::string host_name() {
    char name[256] = "";
    if (gethostname(name, sizeof name - 1) != 0) return "?";
    return name;
}

int class_of_errno(int error) {
    if (error < 0) return -error;
    switch (error) {
        case ENOENT:
            return MPI_ERR_NO_SUCH_FILE;
        case EEXIST:
            return MPI_ERR_FILE_EXISTS;
        case EACCES:
        case EPERM:
            return MPI_ERR_ACCESS;
        case EROFS:
            return MPI_ERR_READ_ONLY;
        case ENOSPC:
            return MPI_ERR_NO_SPACE;
        case EDQUOT:
        case EFBIG:
            return MPI_ERR_QUOTA;
        case EISDIR:
        case ENOTDIR:
        case ENAMETOOLONG:
        case ELOOP:
            return MPI_ERR_BAD_FILE;
        case ETXTBSY:
        case EBUSY:
            return MPI_ERR_FILE_IN_USE;
        case ENOMEM:
            return MPI_ERR_NO_MEM;
        case EOPNOTSUPP:
        case ENOSYS:
            return MPI_ERR_UNSUPPORTED_OPERATION;
        default:
            return MPI_ERR_IO;
    }
}

std::string short_path(const std::string& path) {
    constexpr std::size_t longest = 200;
    if (path.size() <= longest) return path;
    return fmt::format("{}... ({} characters)", path.substr(0, longest), path.size());
}

std::string who_is(int rank, const std::string& host, const char* of) {
    return fmt::format("rank {}{} on host {}", rank, of, host);
}

std::string words_for(const std::string& action, const std::string& path, const std::string& who,
                      int error) {
    return fmt::format("{} cannot {} {}: {}", who, action, short_path(path), reason_of(error));
}

void fail_here(const File& file, const std::string& action, int error) {
    check_not_revoked(*file.comm);
    const bool lost = file.local == nullptr && error == EHOSTDOWN;
    throw Failure(lost ? class_of_fault(core::Error::unreachable) : class_of_errno(error),
                  words_for(action, file.path, file.who(), error));
}

void agree(const File& file, const char* call, const std::string& action, int error) {
    Communicator& comm = *file.comm;
    struct Word {
        int error;
        char who[120];
    };
    std::vector<Word> words(std::size_t(comm.size()));
    Word& own = words[std::size_t(comm.rank())];
    own.error = error;
    // Errors in the arguments are those of the member itself.
    const std::string who = error < 0 ? who_is(comm.rank(), host_name()) : file.who();
    if (error != 0) who.copy(own.who, sizeof own.who - 1);
    if (comm.size() > 1) gather_all(comm, words.data(), sizeof(Word), call);
    for (Word& word : words) {
        word.who[sizeof word.who - 1] = '\0';
        if (word.error != 0)
            throw Failure(class_of_errno(word.error),
                          words_for(action, file.path, word.who, word.error));
    }
}

Reference<ErrorHandler>& handler_of_no_file() {
    static Reference<ErrorHandler>* const handler =
        std::make_unique<Reference<ErrorHandler>>(*find<ErrorHandler>(MPI_ERRORS_RETURN)).release();
    return *handler;
}

int raise_on_file(const char* call, File* file, const std::exception& error) noexcept {
    if (file != nullptr) return raise(call, file->comm.get(), error);
    return raise(call, handler_of_no_file(), MPI_FILE_NULL, "MPI_FILE_NULL", error);
}

namespace {

Reference<ErrorHandler>& handler_of(MPI_File file) {
    return file == MPI_FILE_NULL ? handler_of_no_file()
                                 : checked_even_revoked<File>(file).comm->error_handler;
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_File_create_errhandler = PMPI_File_create_errhandler
int PMPI_File_create_errhandler(MPI_File_errhandler_function* function,
                                MPI_Errhandler* errhandler) {
    return file_api("MPI_File_create_errhandler",
                    [&] { create_error_handler("function", function, errhandler); });
}

#pragma weak MPI_File_set_errhandler = PMPI_File_set_errhandler
int PMPI_File_set_errhandler(MPI_File fh, MPI_Errhandler errhandler) {
    return file_api("MPI_File_set_errhandler", [&] {
        handler_of(fh) = Reference<ErrorHandler>(checked<ErrorHandler>(errhandler));
    });
}

#pragma weak MPI_File_get_errhandler = PMPI_File_get_errhandler
int PMPI_File_get_errhandler(MPI_File fh, MPI_Errhandler* errhandler) {
    return file_api("MPI_File_get_errhandler",
                    [&] { get_error_handler(*handler_of(fh), errhandler); });
}

#pragma weak MPI_File_call_errhandler = PMPI_File_call_errhandler
int PMPI_File_call_errhandler(MPI_File fh, int errorcode) {
    return file_api("MPI_File_call_errhandler", [&] {
        File* const file = fh == MPI_FILE_NULL ? nullptr : &checked_even_revoked<File>(fh);
        check_error_code(errorcode);
        raise_on_file("MPI_File_call_errhandler", file, Failure(errorcode, text_of(errorcode)));
    });
}
}
