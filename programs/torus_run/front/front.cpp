// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/front/front.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/descriptor.h"
#include "base/units.h"
#include "core/transport/common/settings.h"
#include "programs/torus_run/daemon/descendants.h"
#include "programs/torus_run/daemon/head_daemon.h"
#include "programs/torus_run/daemon/signals.h"
#include "programs/torus_run/front/debugger.h"
#include "programs/torus_run/streams/text.h"

namespace torusmp::torus_run {
namespace {

using std::chrono::milliseconds;

[[noreturn]] void refuse(const char* call) {
    throw std::runtime_error(fmt::format("{}: {}", call, std::strerror(errno)));
}

// Terminal input goes through the front, because ranks are not in the terminal's foreground process
// group and would be stopped if they read it. Any other input is inherited by rank 0.
class TerminalInput {
  public:
    explicit TerminalInput(bool wanted) {
        if (!wanted || !isatty(STDIN_FILENO)) return;
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) refuse("pipe");
        read_end_ = base::Descriptor(ends[0]);
        write_end_ = base::Descriptor(ends[1]);
        fcntl(write_end_.get(), F_SETFL, O_NONBLOCK);
    }

    bool active() const { return bool(write_end_); }
    int for_rank_zero() const { return read_end_ ? read_end_.get() : STDIN_FILENO; }
    void close_read_end() { read_end_.reset(); }
    void close_write_end() { write_end_.reset(); }

    // In the background the terminal belongs to other programs: check again later.
    bool foreground() const { return tcgetpgrp(STDIN_FILENO) == getpgrp(); }
    static constexpr int look_again_milliseconds = 300;

    // The event to wait for: typed input, or room in the pipe.
    pollfd wanted() const {
        if (!active()) return {-1, 0, 0};
        if (length_ > 0) return {write_end_.get(), POLLOUT, 0};
        return {foreground() ? STDIN_FILENO : -1, POLLIN, 0};
    }

    void move() {
        if (length_ == 0) {
            const ssize_t n = read(STDIN_FILENO, buffer_, sizeof buffer_);
            if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
            if (n < 0 && errno == EIO && !foreground()) return;
            if (n <= 0) return close_write_end();
            length_ = std::size_t(n);
        }
        const ssize_t n = write(write_end_.get(), buffer_, length_);
        if (n < 0 && errno != EAGAIN && errno != EINTR) return close_write_end();
        if (n <= 0) return;
        length_ -= std::size_t(n);
        std::memmove(buffer_, buffer_ + n, length_);
    }

  private:
    base::Descriptor read_end_, write_end_;
    char buffer_[4096];
    std::size_t length_ = 0;
};

// The policy for a stopped daemon.
struct Standstill {
    milliseconds timeout;  // time in which the front itself ran
    bool deadly;  // the daemon is killed; otherwise only reported: the user's debugger may hold it
    // Completes "its daemon process (pid 7) was killed by ...", once it has ended. The front of
    // another host adds nothing: its output becomes part of the head's message.
    const char* consequence;
    // Returns a clause that follows "its daemon process (pid 7) is stopped by SIGSTOP (...)".
    std::function<std::string(pid_t daemon)> meaning;
};

class Front {
  public:
    // The daemon's body, run in the child.
    using Body = std::function<int(DaemonContext)>;
    Front(Body body, bool terminal, Standstill standstill)
        : body_(std::move(body)), standstill_(std::move(standstill)), input_(terminal) {}

    // Whether a signal that ends programs was forwarded.
    bool user_ended() const { return user_ended_; }
    // The daemon gets a copy of this file.
    void keep_ending_in(int file) { ending_ = file; }
    // If the start is refused, standard input is still there for another one.
    void keep_input_until_ranks_run() { keeps_input_ = true; }

    int run() {
        start_daemon();
        while (!daemon_ended_) step();
        if (!WIFSIGNALED(daemon_status_)) return WEXITSTATUS(daemon_status_);
        fmt::print(stderr, "torus-run: its daemon process (pid {}) {}{}\n", daemon_,
                   describe_end(daemon_status_), standstill_.consequence);
        kill_descendants(milliseconds(5000));
        return exit_code_of(daemon_status_);
    }

  private:
    void start_daemon() {
        const sigset_t before = block_signals();
        adopt_orphans();
        int link[2], lifeline[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link) != 0) refuse("socketpair");
        daemon_link_ = base::Descriptor(link[0]);
        base::Descriptor daemon_end(link[1]);
        if (pipe2(lifeline, O_CLOEXEC) != 0) refuse("pipe");
        base::Descriptor lifeline_read(lifeline[0]);
        lifeline_ = base::Descriptor(lifeline[1]);
        rlimit files{};
        getrlimit(RLIMIT_NOFILE, &files);

        daemon_ = fork();
        if (daemon_ < 0) refuse("fork");
        if (daemon_ == 0) {
            DaemonContext context{
                std::move(daemon_end),
                std::move(lifeline_read),
                std::move(lifeline_),
                base::Descriptor(ending_ < 0 ? -1 : fcntl(ending_, F_DUPFD_CLOEXEC, 3)),
                input_.for_rank_zero(),
                before,
                files};
            become_daemon(std::move(context));
        }
        setpgid(daemon_, daemon_);
        if (!keeps_input_) let_go_of_input();
        listen();
    }

    [[noreturn]] void become_daemon(DaemonContext context) {
        // A separate process group: signals of the terminal reach only the front, which forwards
        // each once.
        setpgid(0, 0);
        prctl(PR_SET_NAME, "torus-daemon", 0, 0, 0);
        daemon_link_.reset();
        input_.close_write_end();
        adopt_orphans();
        int code = exit_failure;
        try {
            code = body_(std::move(context));
        } catch (const std::exception& error) {
            fmt::print(stderr, "torus-run: {}\n", error.what());
            kill_descendants(milliseconds(5000));
        }
        std::fflush(nullptr);
        _exit(code);
    }

    // The writer of a pipe must notice that rank 0 is gone, so no other process may hold the read
    // end.
    void let_go_of_input() {
        input_.close_read_end();
        if (input_.active()) return;
        const base::Descriptor null(open("/dev/null", O_RDONLY | O_CLOEXEC));
        if (null) dup2(null.get(), STDIN_FILENO);
    }

    void listen() {
        sigset_t listened = forwarded_signals();
        sigaddset(&listened, SIGCHLD);
        signals_ = base::Descriptor(signalfd(-1, &listened, SFD_CLOEXEC | SFD_NONBLOCK));
        if (!signals_) refuse("signalfd");
    }

    void step() {
        pollfd events[3] = {{signals_.get(), POLLIN, 0},
                            input_.wanted(),
                            {daemon_link_ ? daemon_link_.get() : -1, POLLIN, 0}};
        const bool look_again = input_.active() && events[1].fd < 0;
        int wait = look_again ? TerminalInput::look_again_milliseconds : -1;
        if (stopped_by_ != 0) wait = int(slice.count());
        const auto before = Clock::now();
        const int ready = poll(events, 3, wait);
        // A front that was stopped together with its daemon has not been waiting for it.
        if (stopped_by_ != 0)
            stopped_for_ += std::min<Clock::duration>(Clock::now() - before, 2 * slice);
        if (ready == 0 && stopped_by_ != 0 && stopped_for_ >= standstill_.timeout)
            daemon_stands_still();
        if (ready < 0) return;
        if (events[0].revents) hear_signals();
        if (events[1].revents) input_.move();
        if (events[2].revents) hear_daemon();
    }

    // Receives the process table for parallel debuggers, once all ranks are started.
    void hear_daemon() {
        std::vector<std::byte> bytes(longest_process_table);
        const ssize_t n = recv(daemon_link_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (n <= 0) return daemon_link_.reset();
        bytes.resize(std::size_t(n));
        if (std::exchange(keeps_input_, false)) let_go_of_input();
        if (!show_to_debugger(bytes)) return;
        const int go = debugger_has_looked;
        send(daemon_link_.get(), &go, sizeof go, MSG_NOSIGNAL | MSG_DONTWAIT);
    }

    void daemon_stands_still() {
        fmt::print(stderr, "torus-run: its daemon process (pid {}) is stopped by {}{}\n", daemon_,
                   signal_name(stopped_by_), standstill_.meaning(daemon_));
        if (standstill_.deadly) kill(daemon_, SIGKILL);
        stopped_by_ = 0;
    }

    void hear_signals() {
        signalfd_siginfo info;
        while (read(signals_.get(), &info, sizeof info) == ssize_t(sizeof info)) {
            const int signal = int(info.ssi_signo);
            if (signal == SIGCHLD) {
                look_at_daemon();
                continue;
            }
            user_ended_ = user_ended_ || ends_programs(signal);
            send(daemon_link_.get(), &signal, sizeof signal, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (signal == SIGTSTP) raise(SIGSTOP);
        }
    }

    // Until it ends, the daemon is the only child of the front.
    void look_at_daemon() {
        int status = 0;
        while (!daemon_ended_ &&
               waitpid(daemon_, &status, WNOHANG | WUNTRACED | WCONTINUED) == daemon_) {
            if (WIFSTOPPED(status)) {
                stopped_by_ = WSTOPSIG(status);
                stopped_for_ = {};
            } else if (WIFCONTINUED(status)) {
                stopped_by_ = 0;
            } else {
                daemon_status_ = status;
                daemon_ended_ = true;
            }
        }
    }

    using Clock = std::chrono::steady_clock;

    static constexpr milliseconds slice{100};

    const Body body_;
    const Standstill standstill_;
    int stopped_by_ = 0;  // signal that stopped the daemon; 0 if none, or already reported
    Clock::duration stopped_for_{};
    TerminalInput input_;
    base::Descriptor daemon_link_, lifeline_, signals_;
    pid_t daemon_ = -1;
    int daemon_status_ = 0;
    bool daemon_ended_ = false;
    bool user_ended_ = false;
    int ending_ = -1;
    bool keeps_input_ = false;
};

}  // namespace

namespace {

Front front_of(const Job& job) {
    const bool alone = job.hosts.size() == 1 && job.hosts.front().here;
    const std::string others =
        alone ? ""
              : fmt::format(
                    " (within transport.timeout = {}, after which the other hosts end the "
                    "job)",
                    base::format_time(job.settings[transport::setting::timeout]));
    return {[&job](DaemonContext context) { return run_head(job, std::move(context)); },
            true,
            {milliseconds(1000), false, "; the job is ended", [others](pid_t daemon) {
                 return fmt::format(
                     ": the job cannot start, print or end without it; kill -CONT {0} "
                     "resumes it{1}, kill -KILL {0} ends the job",
                     daemon, others);
             }}};
}

}  // namespace

JobResult run_job(const Job& job) {
    base::Descriptor file;
    const bool again = job.restarts > 0 || job.movable;
    if (again) file = base::Descriptor(memfd_create("torus-run-ending", MFD_CLOEXEC));
    if (again && !file) refuse("memfd_create");
    Front front = front_of(job);
    if (again) front.keep_input_until_ranks_run();
    front.keep_ending_in(file.get());
    JobResult result;
    result.code = front.run();
    if (file) result.ending = read_ending(file.get());
    result.user_ended = front.user_ended();
    return result;
}

int run_remote_daemon(milliseconds timeout) {
    return Front(
               [timeout](DaemonContext context) {
                   return run_remote_host(timeout, std::move(context));
               },
               false,
               {timeout, true, "",
                [timeout](pid_t) {
                    return fmt::format(" for longer than transport.timeout = {}",
                                       base::format_time(timeout));
                }})
        .run();
}

}  // namespace torusmp::torus_run
