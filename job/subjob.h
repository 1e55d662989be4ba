// SPDX-License-Identifier: BSD-3-Clause
// A torus-run that this process starts: for the processes of MPI_Comm_spawn, and for the job in
// which processes that have joined meet.
//
// Owned by the front end; one thread at a time may call.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "config/settings.h"
#include "job/process.h"

namespace torusmp::job {

// The path of torus-run; empty if it was not found.
std::string torus_run_path();

// Further jobs may use all hosts of the machine (config::Settings::whole()), of which this job may
// have a part. In what follows, a node is the number of a host of the machine, 0 if its hosts have
// no names.

// The hosts of the machine; empty if they have no names.
const std::vector<std::string>& machine_hosts(const config::Settings& settings);
// Its name; empty if the hosts have none.
std::string host_of(const config::Settings& settings, int node);
// The node of this process, whose machine rank is `rank`.
int own_node(const config::Settings& settings, int rank);

// Where torus-run places `ranks` ranks, and its options for that: they give a further job the
// settings of this one, its links and whatever the user has set, but not the number of ranks.
struct RankPlaces {
    std::vector<int> nodes;  // by rank
    std::vector<std::string> options;
};
// `hosts` lists some of the machine's; empty for those of this job or, if these do not fit the
// number, for a box of fewer. `node` is the node of this process. Throws ConfigError with a
// sentence if they do not fit.
RankPlaces place_ranks(const config::Settings& settings, int node, int ranks,
                       const std::vector<std::string>& hosts);

// A place for each of some processes, whose nodes are given: a job whose ranks fill the hosts of
// this job or, if the processes are also on others, the machine.
struct Seating {
    int ranks = 0;
    std::vector<std::string> options;  // for torus-run
    // The process of each rank, behind a + if it is being started, or "-" for a rank that only
    // passes on messages; separated by commas.
    std::string table;
};
// `node` is the node of this process. The first `running` processes run already. If there are nodes
// that cannot be used (`lost`), the job has only the nodes of the processes or, if no cables join
// these, all that are not lost. If these are not joined either, the lost ones are used
// nevertheless.
Seating seat_processes(const config::Settings& settings, int node, const std::vector<int>& nodes,
                       int running, const std::vector<int>& lost);

// The options of a job with one rank on each host of this job, or of the machine.
std::vector<std::string> options_of_hosts(const config::Settings& settings, int node, bool whole);

class Subjob {
  public:
    // `name` is the name of the program (mpirun takes several programs), and `arguments` are those
    // of torus-run. `variables`, as "NAME=VALUE", are added to its environment, which only this
    // user can read. If `silent`, its output is dropped, and its errors are kept; otherwise `input`
    // and `output`, if open, replace its standard input and output. Throws std::runtime_error.
    Subjob(const std::string& name, std::vector<std::string> arguments,
           std::vector<std::string> variables, bool silent, const base::Descriptor& input = {},
           const base::Descriptor& output = {});
    ~Subjob();
    Subjob(const Subjob&) = delete;
    Subjob& operator=(const Subjob&) = delete;

    // Its exit code, once it has ended.
    std::optional<int> ended();
    int wait();
    // Leaves its end to the launcher of this process, see launch::Bootstrap::adopt().
    void hand_over(Process& process, bool deaths_allowed) {
        adopted_ = process.adopt(pid_, deaths_allowed);
    }
    bool adopted() const { return adopted_; }
    // Forgets it, running or not. Nothing else may be called afterwards.
    void let_go() { pid_ = -1; }
    // Ends it, with all its processes.
    void stop();
    // Its output on standard error, if it is silent.
    std::string errors() const;

  private:
    std::optional<int> look(int options);

    pid_t pid_ = -1;
    bool adopted_ = false;
    std::optional<int> code_;
    base::Descriptor errors_;
};

}  // namespace torusmp::job
