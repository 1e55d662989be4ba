// SPDX-License-Identifier: BSD-3-Clause
// A rank dies while the others leave the job: their progress threads learn of it meanwhile.
//
//   torus-run --keep-going --set progress.mode=thread -np 3 ending_job
//
// The living ranks print a line when they have left.
#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "job/process.h"

using namespace torusmp;

int main() {
    auto process = job::Process::acquire(false);
    const int rank = process->rank();
    if (rank == process->size() - 1) {
        // Long enough for the others to wait in leave(); if it is not, this shows nothing.
        std::this_thread::sleep_for(std::chrono::seconds(1));
        raise(SIGKILL);
    }
    process->leave();
    process.reset();
    fmt::print("rank {} has left\n", rank);
    std::fflush(stdout);
    return 0;
}
