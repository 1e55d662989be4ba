// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/local_ranks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/descriptor.h"
#include "base/process_state.h"
#include "base/text.h"
#include "config/binding.h"
#include "config/raw.h"
#include "launch/stand_in.h"
#include "programs/torus_run/daemon/descendants.h"
#include "programs/torus_run/daemon/rank_start.h"
#include "programs/torus_run/daemon/signals.h"
#include "programs/torus_run/daemon/spawn.h"
#include "programs/torus_run/front/program.h"

namespace torusmp::torus_run {
namespace {

using std::chrono::milliseconds;

// Delay from the notice of a death to SIGTERM, for ranks that report the death themselves.
constexpr milliseconds time_to_name_deaths{800};

SharedBytes bytes_of(std::string_view text) {
    const auto view = std::as_bytes(std::span(text));
    return share({view.begin(), view.end()});
}

// How often ranks under wrappers are checked for being stopped.
std::chrono::nanoseconds look_interval(std::chrono::nanoseconds timeout) {
    return std::clamp<std::chrono::nanoseconds>(timeout / 4, milliseconds(10),
                                                std::chrono::seconds(1));
}

}  // namespace

LocalRanks::LocalRanks(const HostJob& job, std::vector<config::CpuList> cpus, Loop& loop,
                       RankWiring wiring, Listener& listener)
    : job_(job),
      loop_(loop),
      wiring_(wiring),
      listener_(listener),
      ranks_(job.ranks.size()),
      streams_(loop, job.capture, job.ranks.size(),
               [this](std::size_t local_rank, int stream, std::string_view text) {
                   listener_.printed(ranks_[local_rank].number, stream, text);
               }),
      questions_([this](RankEvent event) { listener_.handle_event(std::move(event)); }) {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
        ranks_[i].number = job.ranks[i];
        ranks_[i].cpus = std::move(cpus[i]);
    }
}

LocalRanks::~LocalRanks() {
    for (Rank& rank : ranks_) {
        for (auto* channel : {&rank.channel, &rank.notices})
            if (*channel && (*channel)->open()) loop_.forget((*channel)->fd());
        if (rank.connected_process) loop_.forget(rank.connected_process.get());
    }
}

// ---- start ----

int LocalRanks::descriptors_each(const HostJob& job) {
    constexpr int sockets = 2;
    return sockets + RankStreams::pipes(job.capture);
}

void LocalRanks::add_job_environment(Program& program) const {
    inherit(program.environment, job_.environment);
    add_library_folder(program.environment);
}

bool LocalRanks::start_all() {
    std::vector<Program> programs = job_.programs;
    for (Program& program : programs) add_job_environment(program);
    std::size_t local_rank = 0;
    for (Rank& rank : ranks_) {
        Program& program = programs[std::size_t(job_.program_of(rank.number))];
        const bool in_a_window =
            std::binary_search(job_.in_windows.begin(), job_.in_windows.end(), rank.number);
        Program wrapped = in_a_window ? in_window(program, job_.window) : Program();
        if (!start(rank, local_rank++, in_a_window ? wrapped : program)) return false;
    }
    // A job of one rank works with any MPI.
    if (job_.size > 1) another_mpi_.begin();
    return true;
}

// The variables of a rank follow those of its program.
bool LocalRanks::start(Rank& rank, std::size_t local_rank, Program& program) {
    std::array<base::Descriptor, torus_run::streams> ends;
    if (!streams_.open(local_rank, ends)) return cannot_start(rank, "pipe", errno);
    return start(rank, local_rank, program,
                 {rank.number == 0 ? wiring_.standard_input : wiring_.null,
                  ends[output_stream] ? ends[output_stream].get() : STDOUT_FILENO,
                  ends[errors_stream] ? ends[errors_stream].get() : STDERR_FILENO},
                 0);
}

bool LocalRanks::start(Rank& rank, std::size_t local_rank, Program& program,
                       const int (&standard)[3], std::uint32_t sequence) {
    std::vector<std::string>& environment = program.environment;
    int control[2], notices[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) != 0)
        return cannot_start(rank, "socketpair", errno);
    const base::Descriptor their_control(control[1]);
    rank.channel.emplace(base::Descriptor(control[0]));
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, notices) != 0)
        return cannot_start(rank, "socketpair", errno);
    const base::Descriptor their_notices(notices[1]);
    rank.notices.emplace(base::Descriptor(notices[0]));
    const std::string reopen = fmt::format("/proc/self/fd/{}", wiring_.lifeline);
    const base::Descriptor lifeline(open(reopen.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!lifeline) return cannot_start(rank, "open of the lifeline", errno);

    const std::size_t shared = environment.size();
    add_identity(environment, job_, rank.number, local_rank,
                 {their_control.get(), their_notices.get(), lifeline.get()});
    const std::vector<char*> argv = pointers(program.arguments), envp = pointers(environment);
    const config::Affinity affinity(rank.cpus);
    const SpawnResult result = spawn({getpid(),
                                      program.path.c_str(),
                                      program.folder.c_str(),
                                      argv.data(),
                                      envp.data(),
                                      {standard[0], standard[1], standard[2]},
                                      {their_control.get(), their_notices.get()},
                                      lifeline.get(),
                                      &affinity,
                                      wiring_.signals,
                                      wiring_.files});
    environment.resize(shared);
    if (result.pid < 0) return cannot_start(rank, result.call, result.error);
    rank.pid = result.pid;
    rank.running = true;
    ++running_;
    pages_.started(rank.number, rank.pid);
    watch_channels(rank);
    send(*rank.channel, heard, {std::uint32_t(launch::FrameKind::welcome), 0, 0},
         welcome(job_, rank.number, sequence));
    report(rank, RankEvent::Kind::started, rank.pid, config::describe_cpus(rank.cpus));
    return true;
}

void LocalRanks::watch_channels(Rank& rank) {
    Channel& control = *rank.channel;
    loop_.watch(control.fd(), heard, [this, &rank, &control](auto events) {
        if (events & EPOLLOUT) control.flush();
        hear(rank);
        if (control.open() && !control.has_unsent()) loop_.change(control.fd(), heard);
    });
    // The rank sends nothing on this socket.
    Channel& notices = *rank.notices;
    loop_.watch(notices.fd(), 0, [this, &rank, &notices](auto events) {
        if (events & EPOLLOUT) notices.flush();
        if (events & (EPOLLHUP | EPOLLERR)) {
            loop_.forget(notices.fd());
            notices.close();
            look_for_death(rank);
        } else if (!notices.has_unsent()) {
            loop_.change(notices.fd(), 0);
        }
    });
}

bool LocalRanks::cannot_start(const Rank& rank, const char* call, int error) {
    const bool program = std::strcmp(call, "execve") == 0;
    const char* hint = "";
    if (program && error == ENOEXEC)
        hint =
            " (a script needs a first line such as #!/bin/sh; a program must be built for this "
            "machine)";
    if (!program && error == EAGAIN) hint = " (see ulimit -u, and pids.max of the control group)";
    report(rank, RankEvent::Kind::not_started, program ? exit_usage : exit_failure,
           fmt::format("{} of {}: {}{}", call, path_of(rank), std::strerror(error), hint));
    return false;
}

// The stand-in takes part in the exchange of addresses and relays messages; it prints nothing.
void LocalRanks::stand_in(int number, std::uint32_t sequence) {
    const auto found = std::ranges::find(ranks_, number, &Rank::number);
    if (found == ranks_.end() || found->running) return;
    close_channels(*found);
    found->connected = found->finalized = found->watching = false;
    Program program;
    program.path = launch::stand_in_path(own_path());
    program.arguments = {program.path, "--place"};
    add_job_environment(program);
    start(*found, std::size_t(found - ranks_.begin()), program,
          {wiring_.null, wiring_.null, STDERR_FILENO}, sequence);
}

// ---- commands for the ranks ----

void LocalRanks::signal(int signal) {
    const bool only_caught = (signal & only_if_caught) != 0;
    signal &= ~only_if_caught;
    // Stopping the whole job does not count as stopping single ranks.
    if (signal == SIGTSTP) user_stopped_ = true;
    if (signal == SIGCONT) {
        user_stopped_ = false;
        for (Rank& rank : ranks_)
            if (rank.stopped_since) rank.stopped_since = Clock::now();
    }
    // SIGUSR1 and SIGUSR2 go to the program only; other signals go to everything that a wrapper
    // started.
    const bool question = signal == SIGUSR1 || signal == SIGUSR2;
    sigval passed_on{};
    passed_on.sival_int = launch::passed_on_by_torus_run;
    for (const Rank& rank : ranks_) {
        if (!rank.running) continue;
        const pid_t program = rank.connected ? rank.connected_pid : rank.pid;
        if (!question)
            ::kill(-rank.pid, signal);
        else if (!only_caught || catches(program, signal))
            sigqueue(program, signal, passed_on);
    }
    for (const Job& job : jobs_)
        if (job.left && !question) ::kill(job.pid, signal);
}

void LocalRanks::question() {
    std::vector<Questions::Subject> subjects;
    for (const Rank& rank : ranks_)
        if (rank.running)
            subjects.push_back(
                {rank.number, rank.connected ? rank.connected_pid : rank.pid, rank.connected});
    questions_.ask(subjects);
}

void LocalRanks::answer(launch::FrameHeader header, const SharedBytes& bytes) {
    for (Rank& rank : ranks_)
        if (rank.channel) send(*rank.channel, heard, header, bytes);
}

void LocalRanks::send_deaths(const SharedBytes& records) {
    for (Rank& rank : ranks_)
        if (rank.notices)
            send(*rank.notices, 0, {std::uint32_t(launch::FrameKind::deaths), 0, 0}, records);
}

void LocalRanks::send_end(std::string_view why) {
    answer({std::uint32_t(launch::FrameKind::over), 0, 0}, bytes_of(why));
}

void LocalRanks::terminate() {
    for (const Rank& rank : ranks_) {
        if (!rank.running) continue;
        if (rank.watching && !terminate_watchers_at_)
            terminate_watchers_at_ = Clock::now() + time_to_name_deaths;
        if (rank.watching) continue;
        ::kill(-rank.pid, SIGTERM);
        ::kill(-rank.pid, SIGCONT);
    }
}

void LocalRanks::kill() {
    for (const Rank& rank : ranks_)
        if (rank.running) ::kill(-rank.pid, SIGKILL);
}

// ---- ends and stops ----

bool LocalRanks::reaped(pid_t pid, int status, std::uint64_t memory) {
    const auto job = std::ranges::find(jobs_, pid, &Job::pid);
    if (job != jobs_.end() && !WIFSTOPPED(status) && !WIFCONTINUED(status)) {
        job_ended(*job, status);
        jobs_.erase(job);
        return true;
    }
    const auto found = std::find_if(ranks_.begin(), ranks_.end(), [pid](const Rank& rank) {
        return rank.running && rank.pid == pid;
    });
    if (found == ranks_.end()) return false;
    if (WIFSTOPPED(status)) {
        found->stopped_since = Clock::now();
        found->stop_signal = WSTOPSIG(status);
    } else if (WIFCONTINUED(status)) {
        found->stopped_since.reset();
    } else {
        ended(*found, status, memory);
    }
    return true;
}

void LocalRanks::ended(Rank& rank, int status, std::uint64_t memory) {
    hear(rank);  // messages from before its death
    take_output(rank);
    found_another_mpi(rank, another_mpi_.look_at_file(path_of(rank)));
    rank.running = false;
    --running_;
    leave_jobs(rank.number);
    pages_.ended(rank.number);
    // The end of the job precedes the next regular sample.
    if (running_ == 0)
        if (auto sample = pages_.last(Clock::now())) listener_.sampled(std::move(*sample));
    // A shell reports the death of a process that it waited for by its own exit code.
    const bool killed = (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ||
                        (WIFEXITED(status) && WEXITSTATUS(status) == exit_signal_base + SIGKILL);
    const pid_t process = rank.connected ? rank.connected_pid : rank.pid;
    report(rank, RankEvent::Kind::ended, status,
           pages_.deed(rank.number) +
               (killed ? memory_killer_.describe(process, memory) : std::string()));
}

// A process closes its descriptors before its parent can reap it, so another rank may see a death
// and abort before this daemon knows of it. The death is reported first, since it is the cause.
void LocalRanks::take_deaths_before(const Rank& rank) {
    constexpr int timeout = 500;  // ms, in which the kernel completes an end
    // A dead rank may have aborted too, and the rank that aborted first may be dead by now:
    // its own death is reported after its message.
    if (std::exchange(takes_deaths_, true)) return;
    for (Rank& other : ranks_) {
        const pid_t process = other.connected ? other.connected_pid : other.pid;
        const bool child = process == other.pid;
        const bool already_reported = !child && !other.connected_process;
        if (&other == &rank || !other.running || other.finalized || already_reported ||
            !base::process_state(process).ended())
            continue;
        const base::Descriptor handle(int(syscall(SYS_pidfd_open, process, 0)));
        pollfd end{handle.get(), POLLIN, 0};
        if (handle) ::poll(&end, 1, timeout);
        int status = 0;
        rusage used{};
        if (!child)
            connected_process_ended(other);
        else if (wait4(other.pid, &status, WNOHANG, &used) == other.pid)
            ended(other, status, std::uint64_t(used.ru_maxrss) * 1024);
    }
    takes_deaths_ = false;
}

// Under a wrapper (a shell script) the rank is not our child, and the wrapper may outlive it.
void LocalRanks::connected_process_ended(Rank& rank) {
    hear(rank);
    if (rank.connected_process) loop_.forget(rank.connected_process.get());
    rank.connected_process.reset();
    if (!rank.running || rank.finalized) return;
    report(
        rank, RankEvent::Kind::vanished, exit_failure,
        fmt::format("ended without MPI_Finalize or QMP_finalize_msg_passing (process {} under the "
                    "wrapper){}{}",
                    rank.connected_pid, pages_.deed(rank.number),
                    memory_killer_.describe(rank.connected_pid, 0)));
    end_with_the_dead(rank);
}

// A rank that was killed closes its descriptors one by one before the kernel notifies its parent;
// each packet socket of transport ethernet takes some 20 ms (the kernel waits for its readers). The
// socket of notices comes first, so ranks that go on learn of the death without this delay.
void LocalRanks::look_for_death(Rank& rank) {
    if (!job_.keep_going || !rank.running || !rank.connected) return;
    const base::ProcessState process = base::process_state(rank.connected_pid);
    if (!process.ended()) return;
    if (rank.connected_process) return connected_process_ended(rank);
    // Other ends, and a status that this user may not read, are for reaped().
    if (rank.connected_pid != rank.pid || !WIFSIGNALED(process.exit_status)) return;
    hear(rank);  // messages from before its death
    take_output(rank);
    if (rank.finalized) return;
    report(rank, RankEvent::Kind::vanished, exit_code_of(process.exit_status),
           describe_end(process.exit_status) + pages_.deed(rank.number) +
               memory_killer_.describe(rank.pid, 0));
}

// With --keep-going the others continue without this one, so it must not come back; its wrapper is
// killed too.
void LocalRanks::end_with_the_dead(const Rank& rank) {
    if (job_.keep_going) ::kill(-rank.pid, SIGKILL);
}

// The kernel notifies a parent of stopped children. Ranks under a wrapper must be polled.
void LocalRanks::look_for_stops(Rank& rank, Clock::time_point now) {
    if (!rank.running) return;
    if (rank.connected_process) {
        const bool stopped = is_stopped(rank.connected_pid);
        if (stopped && !rank.stopped_since) {
            rank.stopped_since = now;
            rank.stop_signal = SIGSTOP;
        } else if (!stopped) {
            rank.stopped_since.reset();
        }
    }
    const bool long_ago = rank.stopped_since && now - *rank.stopped_since >= job_.timeout;
    if (!long_ago || rank.stop_reported || user_stopped_) return;
    rank.stop_reported = true;
    report(rank, RankEvent::Kind::stopped, rank.stop_signal);
    end_with_the_dead(rank);
}

// The kernel has made the jobs of an ended rank children of this process.
void LocalRanks::leave_jobs(int rank) {
    for (Job& job : jobs_)
        if (job.rank == rank && !std::exchange(job.left, true))
            listener_.handle_event({RankEvent::Kind::left_job, rank, 0, 0, {}, {}});
}

// A job that ends together with its rank may be reaped before the rank.
void LocalRanks::job_ended(const Job& job, int status) {
    if (!job.left) listener_.handle_event({RankEvent::Kind::left_job, job.rank, 0, 0, {}, {}});
    listener_.handle_event(
        {RankEvent::Kind::job_ended, job.rank, status, job.deaths_allowed ? 1U : 0U, {}, {}});
}

// Drops the jobs that their ranks have reaped.
void LocalRanks::look_for_lost_jobs() {
    std::erase_if(jobs_, [this](const Job& job) {
        const bool lost = job.left && base::process_state(job.pid).parent != getpid();
        if (lost) job_ended(job, 0);
        return lost;
    });
}

bool LocalRanks::any_under_a_wrapper() const {
    return std::any_of(ranks_.begin(), ranks_.end(),
                       [](const Rank& rank) { return rank.running && rank.connected_process; });
}

void LocalRanks::tick(Clock::time_point now, std::chrono::nanoseconds asleep) {
    if (terminate_watchers_at_ && now >= *terminate_watchers_at_) {
        terminate_watchers_at_.reset();
        for (Rank& rank : ranks_) rank.watching = false;
        terminate();
    }
    for (Rank& rank : ranks_) {
        if (rank.stopped_since)
            *rank.stopped_since += std::chrono::duration_cast<Clock::duration>(asleep);
        look_for_stops(rank, now);
    }
    questions_.tick(now);
    look_for_lost_jobs();
    const auto living =
        std::find_if(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.running; });
    if (auto sample = pages_.tick(now)) listener_.sampled(std::move(*sample));
    if (living != ranks_.end()) found_another_mpi(*living, another_mpi_.look(now, living->pid));
}

std::optional<Clock::time_point> LocalRanks::next_tick() const {
    std::optional<Clock::time_point> next = terminate_watchers_at_;
    const auto sooner = [&next](Clock::time_point time) {
        next = next ? std::min(*next, time) : time;
    };
    for (const Rank& rank : ranks_)
        if (rank.running && rank.stopped_since && !rank.stop_reported && !user_stopped_)
            sooner(*rank.stopped_since + std::chrono::duration_cast<Clock::duration>(job_.timeout));
    if (any_under_a_wrapper()) sooner(Clock::now() + look_interval(job_.timeout));
    const auto look_for_another_mpi = another_mpi_.next_look();
    if (look_for_another_mpi && running_ > 0) sooner(*look_for_another_mpi);
    if (const auto time = questions_.next_tick()) sooner(*time);
    if (const auto time = pages_.next_tick()) sooner(*time);
    return next;
}

}  // namespace torusmp::torus_run
