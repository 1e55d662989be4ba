// SPDX-License-Identifier: BSD-3-Clause
// The jobs that this process is in beside its own: each has the processes of two sides that have
// joined (MPI_Comm_spawn, MPI_Comm_accept, MPI_Comm_join), a World of its own, and a torus-run of
// its own, which one process has started. See "Joined jobs" in docs/architecture.md.
//
// One thread at a time joins or leaves, except that different communicators may be joined over at
// the same time.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "job/subjob.h"
#include "mpi11/comm/communicator.h"

namespace torusmp::mpi {

// Where both sides meet.
struct MeetingPlace {
    std::string name;    // the same for all; cannot be guessed
    int index = 0;       // this process's; the first side's come before the second side's
    int first_side = 0;  // processes of the first side
    int processes = 0;   // of both sides
};

// Waits, while the own job goes on, which may need this process to pass its messages on.
template <class Done>
void wait_idly(Done&& done) {
    constexpr std::chrono::microseconds shortest{50}, longest{500};
    for (auto pause = shortest; !done();) {
        if (runtime().progress()) {
            pause = shortest;
            continue;
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, longest);
    }
}

std::string new_meeting_name();
// The node of the machine on which this process runs (job/subjob.h).
int own_node(const job::Process& process);

// Starts the job in which processes on these nodes, by index, meet. The machine of the job of
// `process` has all of these nodes. The first `running` processes run already. Nodes of ranks that
// are lost in the job of `process`, and those in `refused`, are left out where possible.
std::unique_ptr<job::Subjob> start_meeting(const std::string& name, const job::Process& process,
                                           const std::vector<int>& nodes, int running,
                                           const std::vector<int>& refused = {});

// Takes this process's place in the job, as soon as all others have taken theirs; own jobs go on
// meanwhile. `given_up` is called now and then; if it returns true, this ends with an exception.
// `meeting` is null unless this process has started it. Returns the inter-communicator of both
// sides, without an error handler. Throws std::exception.
Communicator& join(const MeetingPlace& place, std::unique_ptr<job::Subjob> meeting,
                   const std::function<bool()>& given_up);

// How the death of a child is handled: another process may take its place (torusmp_replace).
enum class Deaths { end_the_job, are_mended };
// Keeps the children of a job, which are the processes started by MPI_Comm_spawn and
// torusmp_replace. `lifeline` stays open until they have ended, or MPI has.
void keep_children(std::unique_ptr<job::Subjob> children, int processes, Deaths deaths,
                   std::shared_ptr<const base::Descriptor> lifeline = nullptr);
// How many of them run.
int living_children();
// If this process was started by MPI_Comm_spawn or torusmp_replace: makes the communicator with its
// parents, and that in which it takes a place. Ends the process if the latter is given up.
void meet_parents();

// The joined job with this number (job::Process::number()); null if this process is in none.
std::shared_ptr<World> joined_job(std::uint64_t number);

// A job that has all these processes: the own one, one from which a group comes, or the joined one
// with the smallest number; null if there is none. So members choose the same if their groups come
// from the same job. Throws Failure if a group is not valid.
std::shared_ptr<World> common_job(std::initializer_list<MPI_Group> groups);

// Leaves a job that some processes have not joined, or in which some have died: alone, without
// waiting for the others.
void abandon_job(std::shared_ptr<World> world);
// Leaves a job of which no process has a communicator left. Collective over it.
void leave_job(const std::shared_ptr<World>& world, const char* call);
// Called when MPI ends. Leaves all joined jobs. The processes that this one has started may go on:
// torus-run waits for them or, without it, the exit of this process.
void leave_joined_jobs();
// Called when MPI ends. Closes the ports that this process has opened, and takes back their names.
void close_ports();

}  // namespace torusmp::mpi
