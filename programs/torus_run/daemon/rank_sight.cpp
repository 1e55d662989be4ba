// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/rank_sight.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/process_state.h"
#include "launch/environment.h"

namespace torusmp::torus_run {
namespace {

using State = job::RankState::Kind;
using std::chrono::milliseconds;

constexpr milliseconds between_looks{50};
// A rank that sometimes calls the library would have answered within this processor time.
constexpr double cpu_to_answer = 0.3;  // seconds
// Samples that must find a rank asleep without an answer before it counts as asleep elsewhere.
constexpr unsigned looks_asleep = 4;
// Deadline for reporting a rank's state.
constexpr std::chrono::seconds sight_timeout{10};

double cpu_seconds(const base::ProcessState& process) {
    return double(process.cpu) * 1e-9;
}

// The system call that a thread sleeps in; -1 if none, or unknown.
long system_call_of(const std::string& task) {
    std::ifstream file(task + "/syscall");
    std::string word;
    file >> word;
    char* end = nullptr;
    const long number = std::strtol(word.c_str(), &end, 10);
    return word.empty() || *end != '\0' ? -1 : number;
}

const char* name_of_call(long number) {
    switch (number) {
        case SYS_read:
            return "read";
        case SYS_write:
            return "write";
        case SYS_futex:
            return "futex, a lock or another thread";
        case SYS_nanosleep:
        case SYS_clock_nanosleep:
            return "sleep";
        case SYS_wait4:
        case SYS_waitid:
            return "wait, for another process";
        case SYS_ppoll:
        case SYS_pselect6:
        case SYS_epoll_pwait:
            return "poll";
        case SYS_recvfrom:
        case SYS_recvmsg:
            return "recv";
        case SYS_flock:
        case SYS_fcntl:
            return "a lock of a file";
        case SYS_fsync:
        case SYS_fdatasync:
            return "fsync";
#ifdef SYS_poll
        case SYS_poll:
        case SYS_epoll_wait:
        case SYS_select:
            return "poll";
        case SYS_pause:
            return "pause";
#endif
        default:
            return nullptr;
    }
}

// System calls in which the library never sleeps; a question would interrupt the first of them.
bool is_of_the_program(long number) {
    switch (number) {
        case SYS_nanosleep:
        case SYS_clock_nanosleep:
        case SYS_wait4:
        case SYS_waitid:
        case SYS_read:
        case SYS_write:
        case SYS_pselect6:
            return true;
#ifdef SYS_poll
        case SYS_select:
        case SYS_pause:
            return true;
#endif
        default:
            return false;
    }
}

// Whether no thread can be inside the library.
bool is_elsewhere(pid_t pid) {
    std::error_code none;
    bool any = false;
    for (const auto& task :
         std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), none)) {
        any = true;
        if (!is_of_the_program(system_call_of(task.path()))) return false;
    }
    return any;
}

std::string where_asleep(pid_t pid) {
    const long number = system_call_of(fmt::format("/proc/{}", pid));
    const char* name = name_of_call(number);
    return name != nullptr ? name : number >= 0 ? fmt::format("system call {}", number) : "";
}

}  // namespace

bool catches(pid_t pid, int signal) {
    std::ifstream file(fmt::format("/proc/{}/status", pid));
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("SigCgt:"))
            return (std::strtoull(line.c_str() + 7, nullptr, 16) >> (signal - 1) & 1) != 0;
    return false;
}

void Questions::ask(const std::vector<Subject>& subjects) {
    open_.clear();
    for (const Subject& subject : subjects) {
        Open open{subject, false, cpu_seconds(base::process_state(subject.pid)), 0};
        if (subject.connected && !is_elsewhere(subject.pid)) {
            sigval nothing{};
            open.asked = sigqueue(subject.pid, launch::question_signal, nothing) == 0;
        }
        open_.push_back(open);
    }
    give_up_ = Clock::now() + sight_timeout;
    if (!open_.empty()) next_ = Clock::now() + between_looks;
}

void Questions::answered(int rank) {
    std::erase_if(open_, [rank](const Open& open) { return open.subject.rank == rank; });
    if (open_.empty()) next_.reset();
}

std::optional<job::RankState> Questions::look(Open& open) const {
    const base::ProcessState now = base::process_state(open.subject.pid);
    const bool late = Clock::now() >= give_up_;
    switch (now.state) {
        case 0:
        case 'Z':
        case 'X':
            return job::RankState{State::ended, {}, {}};
        case 'T':
            return job::RankState{State::stopped, {}, {}};
        case 't':
            return job::RankState{State::traced, {}, {}};
        case 'D':
            open.asleep = 0;
            if (!late) return std::nullopt;
            return job::RankState{State::device, {}, where_asleep(open.subject.pid)};
        case 'S':
        case 'I':
            if (++open.asleep < looks_asleep) return std::nullopt;
            return job::RankState{open.subject.connected ? State::sleeps : State::outside,
                                  {},
                                  where_asleep(open.subject.pid)};
        default:
            open.asleep = 0;
            if (cpu_seconds(now) - open.cpu < cpu_to_answer && !late) return std::nullopt;
            return job::RankState{
                open.subject.connected ? State::computes : State::outside, {}, {}};
    }
}

void Questions::tick(Clock::time_point now) {
    if (!next_ || now < *next_) return;
    for (std::size_t i = 0; i < open_.size();) {
        const auto state = look(open_[i]);
        if (!state) {
            ++i;
            continue;
        }
        RankEvent event{RankEvent::Kind::seen, open_[i].subject.rank, 0, 0, state->where, {}};
        event.number = std::int64_t(state->kind);
        open_.erase(open_.begin() + std::ptrdiff_t(i));
        report_(std::move(event));
    }
    next_.reset();
    if (!open_.empty()) next_ = now + between_looks;
}

}  // namespace torusmp::torus_run
