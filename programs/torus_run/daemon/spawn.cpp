// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/spawn.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace torusmp::torus_run {
namespace {

// Runs in the child on the parent's memory: system calls only, no allocation, no locks.
class Child {
  public:
    Child(const SpawnRequest& request, volatile SpawnResult& result)
        : request_(request), result_(result) {}

    [[noreturn]] void run() {
        join_lifeline();
        place_descriptors();
        bind();
        setrlimit(RLIMIT_NOFILE, request_.files);
        if (*request_.folder && chdir(request_.folder) != 0) fail("chdir");
        sigprocmask(SIG_SETMASK, request_.signals, nullptr);
        execve(request_.program, request_.arguments, request_.environment);
        fail("execve");
    }

  private:
    [[noreturn]] void fail(const char* call) {
        result_.error = errno;
        result_.call = call;
        _exit(127);
    }

    // The rank ends with the daemon in two ways: the daemon's death kills this process; and when
    // torus-run is gone as well, the lifeline loses its last writer and the kernel kills the whole
    // process group.
    void join_lifeline() {
        if (setpgid(0, 0) != 0) fail("setpgid");
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (getppid() != request_.parent) _exit(127);  // the parent died before prctl
        if (fcntl(request_.lifeline, F_SETSIG, SIGKILL) != 0) fail("fcntl(F_SETSIG)");
        if (fcntl(request_.lifeline, F_SETOWN, -getpid()) != 0) fail("fcntl(F_SETOWN)");
        if (fcntl(request_.lifeline, F_SETFL, O_NONBLOCK | O_ASYNC) != 0) fail("fcntl(F_SETFL)");
    }

    // The parent keeps 0, 1 and 2 open, so none of the source descriptors has one of these numbers.
    void place_descriptors() {
        for (int i = 0; i < 3; ++i)
            if (request_.standard[i] != i && dup2(request_.standard[i], i) != i) fail("dup2");
        for (const int socket : request_.sockets)
            if (fcntl(socket, F_SETFD, 0) != 0) fail("fcntl(F_SETFD)");
        if (fcntl(request_.lifeline, F_SETFD, 0) != 0) fail("fcntl(F_SETFD)");
    }

    void bind() {
        errno = request_.affinity->apply();
        if (errno != 0) fail("sched_setaffinity");
    }

    const SpawnRequest& request_;
    volatile SpawnResult& result_;
};

}  // namespace

SpawnResult spawn(const SpawnRequest& request) {
    volatile SpawnResult shared{};
    const pid_t pid = vfork();
    if (pid == 0) Child(request, shared).run();
    SpawnResult result;
    if (pid < 0) {
        result.error = errno;
        result.call = "fork";
        return result;
    }
    result.error = shared.error;
    result.call = shared.call;
    if (result.error != 0)
        waitpid(pid, nullptr, 0);
    else
        result.pid = pid;
    return result;
}

}  // namespace torusmp::torus_run
