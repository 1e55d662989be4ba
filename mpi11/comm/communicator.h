// SPDX-License-Identifier: BSD-3-Clause
// A communicator: a group of ranks with contexts of its own (MPI-1.1, chapter 5).
//
// Intra-communicators have one group, inter-communicators a local and a remote one. The parts of a
// communicator (attributes, topology, schedules of its collectives) are created by the modules that
// define them and held here. Any thread may send and receive on it; collectives one thread at a
// time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/group/group.h"
#include "job/front_ends.h"
#include "mpi11/comm/world.h"
#include "mpi11/environment/library.h"
#include "mpi11/error/error_handler.h"
#include "mpi11/object.h"

namespace torusmp::mpi {

using core::Rank;

class Attributes;     // attributes.h
class Topology;       // topology.h
class SchedulePools;  // schedules.h
class Info;           // info.h
class Session;        // session.h
class SendBuffer;     // buffered.h

// Contexts of a communicator, counted from its first.
enum class Traffic : Context {
    messages = 0,
    collectives = 1,
    neighbours = 2,
    leaders = 3,
    partitions = 4  // announcements of partitioned messages
};
inline constexpr Context contexts_each = job::mpi_contexts;
// Those of MPI_COMM_WORLD and MPI_COMM_SELF are followed by those in which groups without a
// communicator make their first one.
inline constexpr Context contexts_of_groups = 2 * contexts_each;
// In this one ranks ask each other to keep files.
inline constexpr Context context_of_keepers = 3 * contexts_each;

class Communicator : public Object {
  public:
    using Handle = MPI_Comm;
    static constexpr Kind kind_of_class = Kind::communicator;
    static constexpr Kind kind_when_revoked = Kind::revoked_communicator;
    static constexpr int error_class = MPI_ERR_COMM;
    static inline const Handle null_handle = MPI_COMM_NULL;
    static constexpr const char* null_name = "MPI_COMM_NULL";
    static constexpr const char* noun = "communicator";

    // `members` contains the machine rank of each rank, including the own one; machine ranks and
    // contexts are those of `world`. `first` is the first of `contexts_each` consecutive contexts,
    // which are the same on all members, and which no other communicator of any of them uses.
    Communicator(std::shared_ptr<World> world, std::vector<Rank> members, Context first);
    // An inter-communicator. `local_first` is the first context of the local group's own
    // collectives, the same on all members of that group.
    Communicator(std::shared_ptr<World> world, std::vector<Rank> local, Context local_first,
                 std::vector<Rank> remote, Context first);
    ~Communicator();

    core::Runtime& runtime() const { return *runtime_; }
    const std::shared_ptr<World>& world() const { return world_; }

    int rank() const { return group_.member(); }
    int size() const { return group_.size(); }
    bool inter() const { return inter_; }
    int remote_size() const { return remote_size_; }

    // --- messages: ranks are those of the remote group if there is one ---
    // The machine rank of a peer. Precondition: 0 <= rank < remote_size().
    Rank peer(int rank) const { return peers_[std::size_t(rank)]; }
    // The rank of a machine rank among the peers; -1 if none.
    int rank_of(Rank machine_rank) const {
        return rank_of_.empty() ? machine_rank : rank_of_[std::size_t(machine_rank)];
    }
    Context context(Traffic context = Traffic::messages) const { return first_ + Context(context); }

    const std::vector<Rank>& members() const { return group_.members(); }  // the local group
    const std::vector<Rank>& peers() const { return peers_; }              // destinations of sends

    // The local group, over which collectives run (Traffic::collectives of its own contexts).
    collectives::Group& group() { return group_; }
    const collectives::Group& group() const { return group_; }

    std::string name;
    Reference<ErrorHandler> error_handler;
    // The file or window whose communicator it is, which its error handler gets instead; null if
    // none. It learns of a revocation under the Runtime's lock.
    Object* error_object = nullptr;
    void (*revoke_object)(Object& object) = nullptr;
    std::shared_ptr<Attributes> attributes;    // null if none yet
    std::shared_ptr<const Topology> topology;  // null if none
    std::shared_ptr<SchedulePools> schedules;  // null if none yet
    std::shared_ptr<Info> info;                // null if none
    std::shared_ptr<SendBuffer> buffer;        // of its buffered sends; null if none was attached
    Reference<Session> session;                // from which it comes; null: from the world model
    bool freed = false;                        // by the program
    // Dead members in the order in which this process has learned of them; the first ones are
    // acknowledged (ft/failures.h).
    std::vector<Rank> dead;
    int acknowledged = 0;

    // Its name in messages: the given name, or "a communicator of N ranks".
    std::string describe() const;

  private:
    // Names this communicator's contexts in reports.
    class Names final : public core::Reporter {
      public:
        explicit Names(const Communicator& comm) : comm_(comm) {}
        void report(core::Waits& waits) const override;

      private:
        const Communicator& comm_;
    };
    void index_peers();

    const std::shared_ptr<World> world_;  // it outlives all that follows
    core::Runtime* const runtime_;
    Context first_;
    bool inter_ = false;
    collectives::Group group_;
    std::vector<Rank> peers_;
    int remote_size_ = 0;
    std::vector<int> rank_of_;  // by machine rank; empty for the same numbers
    const Names names_{*this};
};

// Window and File have such a function, too.
inline Communicator& communicator_of(Communicator& comm) {
    return comm;
}

}  // namespace torusmp::mpi
