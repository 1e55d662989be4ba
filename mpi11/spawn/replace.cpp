// SPDX-License-Identifier: BSD-3-Clause
// torusmp_replace: the survivors shrink the communicator, start a process for each dead member,
// join these, and put all in the old order. Each step may fail because a process dies; then the
// survivors agree on that, and begin again.
#include "mpi11/spawn/replace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "base/descriptor.h"
#include "config/geometry.h"
#include "mpi11/comm/agreement.h"
#include "mpi11/comm/creation.h"
#include "mpi11/error/check.h"
#include "mpi11/ft/failures.h"
#include "mpi11/ft/shrink.h"
#include "mpi11/mpi-ext.h"
#include "mpi11/spawn/children.h"

namespace torusmp::mpi {
namespace {

constexpr const char* replace_call = "torusmp_replace";

struct Release {
    void operator()(Communicator* comm) const { release(*comm); }
};
using Owned = std::unique_ptr<Communicator, Release>;

// All members in the old order. `ranks` contains the places of the new processes.
std::vector<Rank> in_order(const std::vector<Rank>& survivors, const std::vector<Rank>& fresh,
                           const std::vector<int>& ranks) {
    std::vector<Rank> members(survivors.size() + fresh.size(), -1);
    for (std::size_t i = 0; i < ranks.size(); ++i) members.at(std::size_t(ranks[i])) = fresh[i];
    auto next = survivors.begin();
    for (Rank& member : members)
        if (member < 0) member = *next++;
    return members;
}

// On all members of both sides. Null if one has died: then no member gets the communicator.
Communicator* merge_in_order(Communicator& inter, bool survivor, const std::vector<int>& ranks) {
    Claim claim(inter);
    const Outcome outcome = vote(inter, true, claim.first(), replace_call);
    if (outcome.first == claim.first()) claim.use();
    if (outcome.died || !outcome.all) return nullptr;
    const std::vector<Rank>&first = survivor ? inter.members() : inter.peers(),
          &second = survivor ? inter.peers() : inter.members();
    return &make_intra(inter, in_order(first, second, ranks), outcome.first);
}

std::vector<int> missing_ranks(const Communicator& comm, const Communicator& survivors) {
    const std::vector<Rank>& living = survivors.members();
    std::vector<int> ranks;
    for (int rank = 0; rank < comm.size(); ++rank)
        if (std::ranges::count(living, comm.members()[std::size_t(rank)]) == 0)
            ranks.push_back(rank);
    return ranks;
}

std::string host_of_node(const job::Process& job, int node) {
    const std::string host = job::host_of(job.settings(), node);
    if (!host.empty()) return host;
    char self[256] = "this host";
    gethostname(self, sizeof self - 1);
    return self;
}

// Hosts on which no member runs come first, those that are named as spares before others; then the
// host of the dead member, since its process may have died alone; then the host on which the fewest
// processes run. `refused` ones come last.
std::vector<Replacement> places_for(const Communicator& comm, const job::Process& job,
                                    const std::vector<int>& ranks,
                                    const std::vector<int>& refused) {
    const config::Settings& settings = job.settings();
    const auto may_serve = [&](int node) { return std::ranges::count(refused, node) == 0; };
    const std::size_t nodes = std::max(job::machine_hosts(settings).size(), std::size_t(1));
    std::vector<int> used, running(nodes);
    for (const Rank member : comm.members()) used.push_back(job::own_node(settings, member));
    for (std::size_t rank = 0; rank < used.size(); ++rank)
        if (std::ranges::count(ranks, int(rank)) == 0) ++running[std::size_t(used[rank])];
    std::vector<int> free;
    for (int node = 0; node < int(nodes); ++node)
        if (std::ranges::count(used, node) == 0 && may_serve(node)) free.push_back(node);
    const auto& spares = settings.whole()[config::setting::spares].names;
    std::ranges::stable_partition(
        free, [&](int node) { return std::ranges::count(spares, host_of_node(job, node)) != 0; });
    std::vector<Replacement> places;
    for (const int rank : ranks) {
        const std::size_t next = places.size();
        int node = next < free.size() ? free[next] : used[std::size_t(rank)];
        if (!may_serve(node))
            for (int other = 0; other < int(nodes); ++other) {
                const auto load = [&](int it) { return running[std::size_t(it)]; };
                if (load(other) > 0 && (load(node) == 0 || load(other) < load(node))) node = other;
            }
        ++running[std::size_t(node)];
        places.push_back({rank, node});
    }
    return places;
}

// An error that the root has reported is raised on all members. After others some may still wait.
bool is_known_to_all(const Failure& failure) {
    const int code = failure.code();
    return code != MPI_ERR_PROC_FAILED && code != MPI_ERR_PROC_FAILED_PENDING &&
           code != MPI_ERR_REVOKED && code != MPI_ERR_OTHER;
}

// One collective call over the survivors.
class Replace {
  public:
    Replace(Communicator& comm, const char* command, char** arguments, MPI_Info info)
        : comm_(comm), command_(read_command(command, arguments, 1, info)) {}

    Communicator& run() {
        // Each further try needs a further death, or another host that cannot be used.
        const auto hosts = job::machine_hosts(comm_.world()->process().settings()).size();
        for (int tries = comm_.size() + int(hosts) + 2; tries > 0; --tries)
            if (Communicator* const made = try_once()) return *made;
        fail(MPI_ERR_PROC_FAILED,
             "a process has died in each attempt to replace the dead members of {}",
             comm_.describe());
    }

  private:
    // Returns null, on all survivors, if a process has died meanwhile.
    Communicator* try_once() {
        const Owned survivors(&shrunk(comm_, replace_call));
        const std::vector<int> ranks = missing_ranks(comm_, *survivors);
        if (ranks.empty())
            fail(MPI_ERR_ARG, "all {} members of {} live: there is nothing to replace",
                 comm_.size(), comm_.describe());
        OwnedJoined inter(join_fresh(*survivors, ranks));
        if (!inter) return nullptr;
        Communicator* const made = merge_in_order(*inter, true, ranks);
        if (made == nullptr) return nullptr;
        made->error_handler = comm_.error_handler;
        made->session = comm_.session;
        release(*inter.release());
        if (survivors->rank() == 0) say();
        return made;
    }

    // Returns null if a process has died, or a host could not be used and another one may. Throws,
    // on all survivors, if the processes cannot be started.
    Communicator* join_fresh(Communicator& survivors, const std::vector<int>& ranks) {
        OwnedJoined inter;
        std::optional<Failure> failure;
        const std::size_t refused = refused_.size();
        try {
            inter.reset(&join_through(survivors, 0, replace_call, MPI_ERR_SPAWN,
                                      [&](const job::Process& job, std::vector<int> nodes) {
                                          places_ = places_for(comm_, job, ranks, refused_);
                                          return arrange_replacements(
                                              command_, job, std::move(nodes), places_, refused_);
                                      }));
        } catch (const Failure& caught) {
            failure = caught;
            if (!is_known_to_all(caught)) revoke(survivors);
        }
        // The lowest number counts, and only the root finds hosts that cannot be used.
        constexpr Context try_others = 0, as_it_is = 1;
        const Outcome outcome =
            vote(survivors, inter != nullptr, refused_.size() > refused ? try_others : as_it_is,
                 replace_call);
        if (outcome.died || outcome.first == try_others) return nullptr;
        if (outcome.all) return inter.release();
        if (failure && is_known_to_all(*failure)) throw *failure;
        fail(MPI_ERR_SPAWN, "another member could not join the new processes");
    }

    void say() const {
        const job::Process& job = comm_.world()->process();
        for (const Replacement& it : places_)
            fmt::print(stderr, "torusmp: a new process on host {} takes the place of rank {}\n",
                       host_of_node(job, it.node), it.rank);
    }

    Communicator& comm_;
    const Command command_;
    std::vector<Replacement> places_;  // of the last try; on its root
    std::vector<int> refused_;         // nodes that could not be used; on the root
};

// The standard input is a pipe from the process that has started this one.
bool starter_has_died() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    return poll(&input, 1, 0) > 0 && (input.revents & POLLHUP) != 0;
}

// The survivors start another process in place of this one.
[[noreturn]] void end_unneeded() {
    try {
        library().process->leave(replace_call);
    } catch (const std::exception&) {
        // Its torus-run has ended.
    }
    std::fflush(nullptr);
    std::_Exit(0);
}

MPI_Comm take_replaced() {
    Library& lib = library();
    if (lib.replaced == nullptr)
        fail(MPI_ERR_COMM,
             "comm is MPI_COMM_NULL, which is valid only in the first call of {} by a process that "
             "it has started",
             replace_call);
    if (lib.parent != nullptr) release(*std::exchange(lib.parent, nullptr));
    return handle_of(*std::exchange(lib.replaced, nullptr));
}

}  // namespace

void take_place(const MeetingPlace& place, const std::vector<int>& ranks) {
    Communicator* made = nullptr;
    try {
        OwnedJoined inter(&join(place, nullptr, [] {
            if (starter_has_died()) end_unneeded();
            return false;
        }));
        inter->error_handler = hot.world->error_handler;
        made = merge_in_order(*inter, false, ranks);
        if (made != nullptr) library().parent = inter.release();
    } catch (const std::exception&) {
        made = nullptr;
    }
    if (made == nullptr) end_unneeded();
    // As other processes that are spawned.
    const base::Descriptor none(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (none) dup2(none.get(), STDIN_FILENO);
    library().parent->name = "MPI_COMM_PARENT";
    made->error_handler = hot.world->error_handler;
    library().replaced = made;
}

}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" int torusmp_replace(MPI_Comm comm, const char* command, char* argv[], MPI_Info info,
                               MPI_Comm* newcomm) {
    if (newcomm != nullptr) *newcomm = MPI_COMM_NULL;
    if (comm == MPI_COMM_NULL)
        return api(replace_call, [&] {
            check_output("newcomm", newcomm);
            *newcomm = take_replaced();
        });
    return api(replace_call, comm, [&](Communicator& c) {
        check_output("newcomm", newcomm);
        if (c.inter())
            fail(MPI_ERR_COMM, "found an inter-communicator, expected an intra-communicator");
        if (!library().process->keeps_going())
            fail(MPI_ERR_UNSUPPORTED_OPERATION,
                 "the job ends at the first death: start it with torus-run --keep-going");
        *newcomm = handle_of(Replace(c, command, argv, info).run());
    });
}
