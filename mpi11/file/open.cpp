// SPDX-License-Identifier: BSD-3-Clause
// Opening, closing and deleting files (MPI-5.0, section 14.2).
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <type_traits>

#include "mpi11/comm/agreement.h"
#include "mpi11/comm/creation.h"
#include "mpi11/environment/info.h"
#include "mpi11/environment/library.h"
#include "mpi11/error/check.h"
#include "mpi11/file/access.h"
#include "mpi11/file/elsewhere.h"
#include "mpi11/ft/failures.h"
#include "mpi11/ft/shrink.h"

namespace torusmp::mpi {
namespace {

// 0, or a class negated.
int error_in_mode(int amode) {
    const auto has = [&](int mode) { return (amode & mode) != 0; };
    const int kinds =
        int(has(MPI_MODE_RDONLY)) + int(has(MPI_MODE_RDWR)) + int(has(MPI_MODE_WRONLY));
    const bool creates = has(MPI_MODE_CREATE) || has(MPI_MODE_EXCL);
    if (kinds != 1 || (has(MPI_MODE_RDONLY) && creates) ||
        (has(MPI_MODE_RDWR) && has(MPI_MODE_SEQUENTIAL)) || amode < 0 || amode > 511)
        return -MPI_ERR_AMODE;
    return 0;
}

int flags_of(int amode) {
    if ((amode & MPI_MODE_RDONLY) != 0) return O_RDONLY;
    return (amode & MPI_MODE_WRONLY) != 0 ? O_WRONLY : O_RDWR;
}

// Members compare this before they open the file. The hints of the first member apply to all.
struct OpenWish {
    int amode;
    int error;
    bool may_lose;
    io::Hints hints;
};
static_assert(std::is_trivially_copyable_v<OpenWish>);

OpenWish agree_on_mode(Communicator& comm, const std::string& path, int amode,
                       const Info::Entries& entries) {
    std::vector<OpenWish> wishes(std::size_t(comm.size()));
    OpenWish& own = wishes[std::size_t(comm.rank())];
    own = {amode, error_in_mode(amode), library().process->keeps_going(), {}};
    for (const auto& [key, value] : entries) own.hints.take(key, value);
    if (comm.size() > 1) gather_all(comm, wishes.data(), sizeof(OpenWish), "MPI_File_open");
    for (std::size_t rank = 0; rank < wishes.size(); ++rank) {
        if (wishes[rank].error != 0)
            fail(-wishes[rank].error,
                 "found mode {} on rank {} for {}, expected one of MPI_MODE_RDONLY, MPI_MODE_RDWR "
                 "and MPI_MODE_WRONLY, and what goes with it",
                 wishes[rank].amode, rank, path);
        if (wishes[rank].amode != wishes[0].amode)
            fail(MPI_ERR_NOT_SAME, "found mode {} on rank {} and {} on rank 0 for {}",
                 wishes[rank].amode, rank, wishes[0].amode, path);
    }
    wishes[0].may_lose = std::any_of(wishes.begin(), wishes.end(),
                                     [](const OpenWish& wish) { return wish.may_lose; });
    return wishes[0];
}

// Collective: asks the hosts without members, on behalf of all.
void find_elsewhere(File& file, const std::vector<io::Sight>& sights) {
    struct Word {
        Rank keeper;  // -1: there is none
        char name[120], refusal[600];
    };
    Communicator& comm = *file.comm;
    Word word{-1, "", ""};
    if (comm.rank() == 0) {
        const OutsideKeeperFound found = find_outside_keeper(
            *comm.world(), file.path, sights, comm.members(), (file.amode & MPI_MODE_CREATE) != 0);
        word.keeper = found.rank.value_or(-1);
        found.name.copy(word.name, sizeof word.name - 1);
        found.refusal.copy(word.refusal, sizeof word.refusal - 1);
    }
    broadcast_bytes(comm, &word, sizeof word, 0, "MPI_File_open");
    file.residence.refusal = word.refusal;
    if (word.keeper < 0) return;
    file.residence.members.assign(file.residence.members.size(), false);
    file.residence.keeper = -1;
    file.outside = word.keeper;
    file.keeper = word.name;
}

// Collective. Decides which members open the file themselves, and through which of them the others
// access it.
void find_residence(File& file) {
    Communicator& comm = *file.comm;
    const auto members = std::size_t(comm.size());
    std::vector<int> hosts(members);
    for (std::size_t i = 0; i < members; ++i)
        hosts[i] = comm.runtime().state().host_of(comm.peer(int(i)));
    file.residence.members.assign(members, true);
    const bool one_host =
        std::all_of(hosts.begin(), hosts.end(), [&](int host) { return host == hosts.front(); });
    if (one_host && homes().empty() && !has_other_hosts(*comm.world(), comm.members())) return;
    std::vector<io::Sight> sights(members);
    sights[std::size_t(comm.rank())] = sight_of(file.path);
    if (members > 1) gather_all(comm, sights.data(), sizeof(io::Sight), "MPI_File_open");
    file.residence =
        io::residence_of(file.path, sights, hosts, homes(), (file.amode & MPI_MODE_CREATE) != 0);
    if (file.residence.elsewhere) find_elsewhere(file, sights);
    if (!file.residence.refusal.empty())
        fail(MPI_ERR_BAD_FILE, "cannot open {}: {}", short_path(file.path), file.residence.refusal);
    if (!file.outside)
        file.keeper =
            who_is(file.residence.keeper, sights[std::size_t(file.residence.keeper)].host_name());
}

io::KeeperClient outside_keeper(const File& file) {
    return keeper_client(*file.comm->world(), *file.outside);
}
core::Context context_of(const File& file) {
    return file.comm->context(Traffic::messages);
}

// Collective: whether all members that open the file have opened the one that the keeper has. Those
// on its host compare the device, too; others see it under another one.
void agree_on_file(File& file) {
    Communicator& comm = *file.comm;
    struct Word {
        unsigned long long inode, device;
        int rank_of_host;
    };
    std::vector<Word> words(std::size_t(comm.size()));
    Word& own = words[std::size_t(comm.rank())];
    struct stat facts {};
    if (file.local != nullptr) file.local->describe(facts);
    own.inode = facts.st_ino;
    own.device = facts.st_dev;
    own.rank_of_host = comm.runtime().state().host_of(comm.runtime().rank());
    if (comm.size() > 1) gather_all(comm, words.data(), sizeof(Word), "MPI_File_open");
    if (file.outside) return;
    const Word& kept = words[std::size_t(file.residence.keeper)];
    for (std::size_t rank = 0; rank < words.size(); ++rank) {
        if (!file.residence.members[rank]) continue;
        const bool same_host = words[rank].rank_of_host == kept.rank_of_host;
        if (words[rank].inode != kept.inode || (same_host && words[rank].device != kept.device))
            fail(MPI_ERR_BAD_FILE,
                 "rank {} has opened another file as {} than rank {} has: expected a file system "
                 "that their hosts share",
                 rank, short_path(file.path), file.residence.keeper);
    }
}

void open_on_all(File& file) {
    Communicator& comm = *file.comm;
    const int flags = flags_of(file.amode);
    find_residence(file);
    int error = 0;
    const core::Context context = context_of(file);
    if (file.acts()) {
        const int all_flags = flags | ((file.amode & MPI_MODE_CREATE) != 0 ? O_CREAT : 0) |
                              ((file.amode & MPI_MODE_EXCL) != 0 ? O_EXCL : 0);
        if (file.outside)
            error = outside_keeper(file).open(file.path, all_flags, context, file.hints());
        else
            file.local = io::LocalStore::open(file.path, all_flags, error);
    }
    agree(file, "MPI_File_open", "open", error);
    if (!file.acts() && file.residence.members[std::size_t(comm.rank())])
        file.local = io::LocalStore::open(file.path, flags, error);
    agree(file, "MPI_File_open", "open", error);
    if (!file.residence.all() && file.keeps())
        file.server = std::make_unique<io::StoreServer>(comm.runtime(), context, *file.local,
                                                        file.place.hints);
    else if (!file.residence.all())
        file.far = std::make_unique<io::FarStore>(
            comm.runtime(), context,
            file.outside ? *file.outside : comm.peer(file.residence.keeper),
            [] { return std::string_view(file_call); });
    // No rank calls the keeper before it listens.
    agree_on_file(file);
}

void open(MPI_Comm handle, const char* name, int amode, MPI_Info info, MPI_File* fh) {
    check_output("fh", fh);
    *fh = MPI_FILE_NULL;
    Communicator& comm = checked<Communicator>(handle);
    check_output("filename", name);
    if (comm.inter())
        fail(MPI_ERR_COMM, "found an inter-communicator, expected an intra-communicator");
    const OpenWish agreed = agree_on_mode(comm, name, amode, entries_of(info));
    File& file = make<File>(make_alike(comm, "MPI_File_open"), name, amode);
    try {
        file.place.hints = agreed.hints;
        file.may_lose = agreed.may_lose;
        open_on_all(file);
        file.choose_aggregators();
        file.shared = std::make_unique<io::SharedCounter>(file.comm->group(),
                                                          file.comm->context(Traffic::neighbours));
        {
            // Later revocations reach all that it has.
            const auto lock = file.comm->runtime().lock();
            check_not_revoked(*file.comm);
        }
        if ((amode & MPI_MODE_APPEND) != 0) {
            file.pointer = file.end_in_etypes();
            if (file.comm->rank() == 0) file.shared->set(file.pointer);
        }
        // No rank reads the shared pointer before it has its first value.
        agree(file, "MPI_File_open", "open", 0);
    } catch (const std::exception& error) {
        stay_away(*file.comm, error);
        if (file.server != nullptr) file.server->await_end();
        if (file.outside && file.acts()) outside_keeper(file).close(context_of(file));
        release(file);
        throw;
    }
    *fh = handle_of(file);
}

int delete_here(const std::string& path) {
    return ::unlink(path.c_str()) == 0 ? 0 : errno;
}

// Wherever it lives: on another host there may be a file of its name, too.
void delete_file(const std::string& path) {
    World& world = *hot.world->world();
    const std::vector<Rank> self{runtime().rank()};
    std::string who = who_is(hot.world->rank(), host_name());
    std::optional<Rank> keeper;
    if (!homes().empty() || has_other_hosts(world, self)) {
        const std::vector<io::Sight> sights{sight_of(path)};
        const io::Residence residence =
            io::residence_of(path, sights, {runtime().state().host_of(self[0])}, homes(), false);
        std::string refusal = residence.refusal;
        if (residence.elsewhere) {
            const OutsideKeeperFound found = find_outside_keeper(world, path, sights, self, false);
            refusal = found.refusal;
            keeper = found.rank;
            if (keeper) who = found.name;
        }
        if (!refusal.empty())
            fail(MPI_ERR_BAD_FILE, "cannot delete {}: {}", short_path(path), refusal);
    }
    const int error = keeper ? keeper_client(world, *keeper).remove(path) : delete_here(path);
    if (error != 0) throw Failure(class_of_errno(error), words_for("delete", path, who, error));
}

// What is asked of a keeper that is not a member, once for all members. If some may be dead, each
// living one asks, and the error `done` shows that another one has.
template <class Ask>
int ask_for_all(const File& file, const Meeting& meeting, int done, Ask&& ask) {
    if (!meeting.voted && !file.acts()) return 0;
    const int error = ask(outside_keeper(file));
    return meeting.voted && error == done ? 0 : error;
}

// Throws Failure for an error of this process, and on all other members that take part.
void agree_at_end(const File& file, const Meeting& meeting, const char* call, const char* action,
                  int error) {
    Communicator& comm = *file.comm;
    if (!meeting.voted) return agree(file, call, action, error);
    const bool well = meeting.with_all ? vote(comm, error == 0, 0, call).all : error == 0;
    if (error != 0)
        throw Failure(class_of_errno(error), words_for(action, file.path, file.who(), error));
    if (!well) fail(MPI_ERR_IO, "another member cannot {} {}", action, short_path(file.path));
}

// Precondition: the caller holds the file, too, for the error handler.
void close(MPI_File* fh, File& file) {
    constexpr const char* call = "MPI_File_close";
    if (file.revoked())
        forget_second_half(file);
    else
        refuse_second_half(file);
    Communicator& comm = *file.comm;
    // A member that asks for the shared pointer still has its answer.
    const Meeting meeting = meet(comm, file.may_lose, call);
    const auto end = [&](const char* action, int error) {
        agree_at_end(file, meeting, call, action, error);
    };
    // Calls that are under way keep the file.
    if (file.server != nullptr) file.server->await_end();
    int error = file.references == 2 && file.local != nullptr ? file.local->close() : 0;
    if (file.outside)
        error = ask_for_all(file, meeting, EBADF, [&](io::KeeperClient keeper) {
            return keeper.close(context_of(file));
        });
    *fh = MPI_FILE_NULL;
    release(file);
    end("close", error);
    if ((file.amode & MPI_MODE_DELETE_ON_CLOSE) == 0) return;
    error = file.keeps() ? delete_here(file.path) : 0;
    if (file.outside)
        error = ask_for_all(file, meeting, ENOENT,
                            [&](io::KeeperClient keeper) { return keeper.remove(file.path); });
    end("delete", error);
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_File_open = PMPI_File_open
int PMPI_File_open(MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh) {
    return file_api("MPI_File_open", [&] { torusmp::mpi::open(comm, filename, amode, info, fh); });
}

#pragma weak MPI_File_close = PMPI_File_close
int PMPI_File_close(MPI_File* fh) {
    File* const file = fh == nullptr ? nullptr : find_even_revoked<File>(*fh);
    const Reference<File> hold = file == nullptr ? Reference<File>() : Reference<File>(*file);
    return file_api("MPI_File_close", fh == nullptr ? MPI_FILE_NULL : *fh,
                    [&](File& closed) { torusmp::mpi::close(fh, closed); });
}

#pragma weak MPI_File_delete = PMPI_File_delete
int PMPI_File_delete(const char* filename, MPI_Info) {
    return file_api("MPI_File_delete", [&] {
        check_output("filename", filename);
        delete_file(filename);
    });
}
}
