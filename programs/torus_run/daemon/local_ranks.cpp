// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/local_ranks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/descriptor.h"
#include "base/text.h"
#include "config/binding.h"
#include "config/raw.h"
#include "programs/torus_run/daemon/descendants.h"
#include "programs/torus_run/daemon/rank_start.h"
#include "programs/torus_run/daemon/signals.h"
#include "programs/torus_run/daemon/spawn.h"
#include "programs/torus_run/front/program.h"

namespace torusmp::launch {
namespace {

using std::chrono::milliseconds;

// For ranks that name a death themselves, from the notice to SIGTERM.
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
      questions_([this](RankEvent event) { listener_.happened(std::move(event)); }) {
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

bool LocalRanks::start_all() {
    std::vector<Program> programs = job_.programs;
    for (Program& program : programs) {
        inherit(program.environment, job_.environment);
        add_library_folder(program.environment);
    }
    std::size_t local_rank = 0;
    for (Rank& rank : ranks_) {
        Program& program = programs[std::size_t(job_.program_of(rank.number))];
        const bool in_a_window =
            std::binary_search(job_.in_windows.begin(), job_.in_windows.end(), rank.number);
        Program wrapped = in_a_window ? in_window(program, job_.window) : Program();
        if (!start(rank, local_rank++, in_a_window ? wrapped : program)) return false;
    }
    // A rank that is alone in its job works with any MPI.
    if (job_.size > 1) another_mpi_.begin();
    return true;
}

// The variables of one rank go behind those that all of its program share.
bool LocalRanks::start(Rank& rank, std::size_t local_rank, Program& program) {
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
    std::array<base::Descriptor, launch::streams> ends;
    if (!streams_.open(local_rank, ends)) return cannot_start(rank, "pipe", errno);

    const std::size_t shared = environment.size();
    add_identity(environment, job_, rank.number, local_rank,
                 {their_control.get(), their_notices.get(), lifeline.get()});
    const std::vector<char*> argv = pointers(program.arguments), envp = pointers(environment);
    const config::Affinity affinity(rank.cpus);
    const SpawnResult result =
        spawn({getpid(),
               program.path.c_str(),
               program.folder.c_str(),
               argv.data(),
               envp.data(),
               {rank.number == 0 ? wiring_.standard_input : wiring_.null,
                ends[output_stream] ? ends[output_stream].get() : STDOUT_FILENO,
                ends[errors_stream] ? ends[errors_stream].get() : STDERR_FILENO},
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
    send(*rank.channel, heard, {std::uint32_t(FrameKind::welcome), 0, 0},
         welcome(job_, rank.number));
    tell(rank, RankEvent::Kind::started, rank.pid, config::describe_cpus(rank.cpus));
    return true;
}

void LocalRanks::watch_channels(Rank& rank) {
    Channel& control = *rank.channel;
    loop_.watch(control.fd(), heard, [this, &rank, &control](auto events) {
        if (events & EPOLLOUT) control.flush();
        hear(rank);
        if (control.open() && !control.has_unsent()) loop_.change(control.fd(), heard);
    });
    // Nothing comes back through this one.
    Channel& notices = *rank.notices;
    loop_.watch(notices.fd(), 0, [this, &notices](auto events) {
        if (events & EPOLLOUT) notices.flush();
        if (events & (EPOLLHUP | EPOLLERR)) {
            loop_.forget(notices.fd());
            notices.close();
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
    tell(rank, RankEvent::Kind::not_started, program ? exit_usage : exit_failure,
         fmt::format("{} of {}: {}{}", call, path_of(rank), std::strerror(error), hint));
    return false;
}

// ---- what the job does with them ----

void LocalRanks::signal(int signal) {
    const bool only_caught = (signal & only_if_caught) != 0;
    signal &= ~only_if_caught;
    // A user who stops the whole job does not stop single ranks.
    if (signal == SIGTSTP) user_stopped_ = true;
    if (signal == SIGCONT) {
        user_stopped_ = false;
        for (Rank& rank : ranks_)
            if (rank.stopped_since) rank.stopped_since = Clock::now();
    }
    // A signal that asks the program something goes to the program; the others go to everything
    // that a wrapper started.
    const bool question = signal == SIGUSR1 || signal == SIGUSR2;
    sigval passed_on{};
    passed_on.sival_int = passed_on_by_torus_run;
    for (const Rank& rank : ranks_) {
        if (!rank.running) continue;
        const pid_t program = rank.connected ? rank.connected_pid : rank.pid;
        if (!question)
            ::kill(-rank.pid, signal);
        else if (!only_caught || catches(program, signal))
            sigqueue(program, signal, passed_on);
    }
}

void LocalRanks::question() {
    std::vector<Questions::Subject> subjects;
    for (const Rank& rank : ranks_)
        if (rank.running)
            subjects.push_back(
                {rank.number, rank.connected ? rank.connected_pid : rank.pid, rank.connected});
    questions_.ask(subjects);
}

void LocalRanks::answer(FrameHeader header, const SharedBytes& bytes) {
    for (Rank& rank : ranks_)
        if (rank.channel) send(*rank.channel, heard, header, bytes);
}

void LocalRanks::tell_deaths(const SharedBytes& records) {
    for (Rank& rank : ranks_)
        if (rank.notices) send(*rank.notices, 0, {std::uint32_t(FrameKind::deaths), 0, 0}, records);
}

void LocalRanks::tell_over(std::string_view why) {
    answer({std::uint32_t(FrameKind::over), 0, 0}, bytes_of(why));
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

bool LocalRanks::reaped(pid_t pid, int status) {
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
        ended(*found, status);
    }
    return true;
}

void LocalRanks::ended(Rank& rank, int status) {
    hear(rank);  // what it said before it died
    take_output(rank);
    found_another_mpi(rank, another_mpi_.look_at_file(path_of(rank)));
    rank.running = false;
    --running_;
    pages_.ended(rank.number);
    // The end of the job comes before another sample is due.
    if (running_ == 0)
        if (auto sample = pages_.last(Clock::now())) listener_.sampled(std::move(*sample));
    tell(rank, RankEvent::Kind::ended, status);
}

// Under a wrapper (a shell script) the rank is not our child, and the wrapper may outlive it.
void LocalRanks::connected_process_ended(Rank& rank) {
    hear(rank);
    if (rank.connected_process) loop_.forget(rank.connected_process.get());
    rank.connected_process.reset();
    if (!rank.running || rank.finalized) return;
    tell(
        rank, RankEvent::Kind::vanished, exit_failure,
        fmt::format("ended without finalize() (process {} under the wrapper)", rank.connected_pid));
    end_with_the_dead(rank);
}

// The others may go on without this rank: it must not come back, and nothing waits for its wrapper.
void LocalRanks::end_with_the_dead(const Rank& rank) {
    if (job_.keep_going) ::kill(-rank.pid, SIGKILL);
}

// The kernel tells a parent of the stops of its children. Those under a wrapper have to be looked
// at.
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
    if (!long_ago || rank.stop_told || user_stopped_) return;
    rank.stop_told = true;
    tell(rank, RankEvent::Kind::stopped, rank.stop_signal);
    end_with_the_dead(rank);
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
        if (rank.running && rank.stopped_since && !rank.stop_told && !user_stopped_)
            sooner(*rank.stopped_since + std::chrono::duration_cast<Clock::duration>(job_.timeout));
    if (any_under_a_wrapper()) sooner(Clock::now() + look_interval(job_.timeout));
    if (const auto time = another_mpi_.next_look()) sooner(*time);
    if (const auto time = questions_.next_tick()) sooner(*time);
    if (const auto time = pages_.next_tick()) sooner(*time);
    return next;
}

}  // namespace torusmp::launch
