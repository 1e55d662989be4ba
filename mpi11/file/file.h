// SPDX-License-Identifier: BSD-3-Clause
// The object behind an MPI_File: a file that the members of a communicator have opened together
// (MPI-5.0, chapter 14).
//
// It has a communicator of its own, a duplicate of the program's. One thread at a time makes
// collective calls on it, and changes its view; any thread may read and write by itself.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "io/collective_access.h"
#include "io/far_store.h"
#include "io/hints.h"
#include "io/local_store.h"
#include "io/residence.h"
#include "io/shared_counter.h"
#include "io/store_server.h"
#include "io/view.h"
#include "mpi11/comm/communicator.h"
#include "mpi11/datatype/datatype.h"
#include "mpi11/environment/library.h"
#include "mpi11/error/error.h"
#include "mpi11/file/representation.h"

namespace torusmp::mpi {

using io::Offset;

// Which part of a file a process sees, and what its data are.
struct FileView {
    Offset displacement = 0;
    Reference<Datatype> etype, filetype;
    const Representation* representation = nullptr;
    bool plain = true;     // it leaves data as they are
    std::size_t unit = 1;  // bytes of an etype in the file
    io::View bytes;
};

class FileCall;

class File : public Object {
  public:
    using Handle = MPI_File;
    static constexpr Kind kind_of_class = Kind::file;
    static constexpr Kind kind_when_revoked = Kind::revoked_file;
    static constexpr int error_class = MPI_ERR_FILE;
    static inline const Handle null_handle = MPI_FILE_NULL;
    static constexpr const char* null_name = "MPI_FILE_NULL";
    static constexpr const char* noun = "file";

    // Takes the reference to a communicator made for it.
    File(Communicator& comm, std::string name, int mode);
    ~File();

    bool revoked() const { return kind == kind_when_revoked; }

    const Reference<Communicator> comm;
    const std::string path;
    const int amode;
    const std::uint64_t number;          // no other file of this process has it
    const std::string writing, reading;  // a call, for reports of this process
    io::Residence residence;             // the same on all members
    std::string keeper;                  // "rank 2 on host b", which makes the file and serves it
    std::optional<Rank> outside;         // the machine rank of a keeper that is not a member
    std::unique_ptr<io::LocalStore> local;  // null if this member does not reach the file
    std::unique_ptr<io::FarStore> far;      // through the keeper; null if not needed, or if this is
    std::unique_ptr<io::StoreServer> server;
    io::CollectiveAccess::Place place;  // with the hints
    FileView view;
    Offset pointer = 0;  // of this process, in etypes; changed under the lock
    std::mutex mutex;    // for several threads that read and write by themselves
    std::unique_ptr<io::SharedCounter> shared;
    bool atomic = false;
    bool may_lose = false;  // the job of a member goes on after deaths
    bool view_overlaps =
        false;                  // some member's view does; known only if some do not reach the file
    FileCall* split = nullptr;  // the collective call that is begun, if any

    const io::Hints& hints() const { return place.hints; }
    // How this member reaches the file by itself, and keeps others from a range.
    io::Store& store() { return local != nullptr ? static_cast<io::Store&>(*local) : *far; }
    io::RangeLocks& locks();
    bool keeps() const { return comm->rank() == residence.keeper; }
    // Whether this member does what is done once for all: the keeper, or the first member if the
    // keeper is none.
    bool acts() const { return outside ? comm->rank() == 0 : keeps(); }
    // The rank that accesses the file for this member: itself or the keeper, as `keeper`.
    std::string who() const;
    // Whether each member makes its part of a collective call by itself, some through others: what
    // is written at once, or seen twice, cannot be exchanged in rounds, and without a member that
    // reaches the file there is no aggregator.
    bool by_parts() const { return !residence.all() && (atomic || view_overlaps || outside); }
    // Bytes of the view before an offset in etypes. Throws Failure where that is beyond any file.
    Offset position_of(Offset etypes) const;
    // The first etype that begins at the end of the file or behind it.
    Offset end_in_etypes();
    // The group's choice of the ranks that move the data of collective calls; after the hints have
    // changed.
    void choose_aggregators();

    // Free calls of the kind that needs a schedule; see access.cpp.
    std::vector<std::unique_ptr<FileCall>> calls;

  private:
    void revoke();
};

inline Communicator& communicator_of(const File& file) {
    return *file.comm;
}

// While it lives, a report of this process's death says that it was writing, or reading, the file.
class Deed {
  public:
    Deed(const File& file, bool write) {
        runtime().begin_deed(2 * file.number + (write ? 1 : 0),
                             write ? file.writing : file.reading);
    }
    ~Deed() { runtime().end_deed(); }
    Deed(const Deed&) = delete;
    Deed& operator=(const Deed&) = delete;
};

// ---- errors (file_error.cpp) ----

// The class of an errno value; of a negative number that class.
int class_of_errno(int error);
std::string host_name();
// For messages.
std::string short_path(const std::string& path);
// "rank 2 on host b"; `of`: " of MPI_COMM_WORLD" or, for the communicator of the file, nothing.
std::string who_is(int rank, const std::string& host, const char* of = "");
// "rank 2 on host b cannot write /data/x: No space left on device".
std::string words_for(const std::string& action, const std::string& path, const std::string& who,
                      int error);
// Throws Failure for an error of this process, or of the one through which it reaches the file.
[[noreturn]] void fail_here(const File& file, const std::string& action, int error);
// Collective: throws Failure on all members if `error` is not 0 on one of them. It is the error of
// File::who() of that member.
void agree(const File& file, const char* call, const std::string& action, int error);

// The handler of MPI_FILE_NULL, which files inherit.
Reference<ErrorHandler>& handler_of_no_file();
int raise_on_file(const char* call, File* file, const std::exception& error) noexcept;

// The function on files that this thread is in, for reports of its waits.
inline constinit thread_local const char* file_call = "";

// The body of a function on a file: body(File&).
template <Accepts accepts, class Body>
int file_api_accepting(const char* call, MPI_File handle, Body&& body) noexcept {
    file_call = call;
    return api_on_object<accepts, File>(call, handle, body,
                                        [call](File* file, const std::exception& error) {
                                            return raise_on_file(call, file, error);
                                        });
}
// A function that neither communicates nor accesses the file also accepts a revoked file.
template <class Body>
int file_api(const char* call, MPI_File handle, Body&& body) noexcept {
    return file_api_accepting<Accepts::revoked>(call, handle, std::forward<Body>(body));
}
// Any other function.
template <class Body>
int file_api_with_others(const char* call, MPI_File handle, Body&& body) noexcept {
    return file_api_accepting<Accepts::live>(call, handle, std::forward<Body>(body));
}
// The body of a function that opens or deletes a file.
template <class Body>
int file_api(const char* call, Body&& body) noexcept {
    if (!hot.running) [[unlikely]]
        not_running(call);
    try {
        body();
        return MPI_SUCCESS;
    } catch (const std::exception& error) {
        return raise_on_file(call, nullptr, error);
    }
}

}  // namespace torusmp::mpi
