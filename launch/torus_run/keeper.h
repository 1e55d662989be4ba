// The keeper: the process that starts the ranks, listens to them and ends them.
//
// torus-run is two processes. The front owns the terminal and the user's signals; the keeper is its
// child, the parent of the ranks and the subreaper of all that they start. Whichever of the two is
// killed, the other ends every descendant; if both are, the lifeline pipe ends the ranks.
#pragma once

#include <sys/resource.h>
#include <csignal>

#include "launch/descriptor.h"
#include "launch/torus_run/job.h"

namespace torusmp::launch {

struct KeeperContext {
    Descriptor front;  // datagrams of one int from the front, a signal number; end of file: it died
    Descriptor lifeline_read;   // reopened for every rank
    Descriptor lifeline_write;  // held by front and keeper only
    int standard_input = 0;     // what rank 0 reads from
    sigset_t signals;           // the mask that the user's program starts with
    rlimit files;               // and its limit of open files
};

// Runs the job to its end and returns the exit code of torus-run. No descendant is left then.
int keep(const Job& job, KeeperContext context);

}  // namespace torusmp::launch
