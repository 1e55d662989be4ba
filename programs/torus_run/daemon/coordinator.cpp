// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/coordinator.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>

#include "base/units.h"
#include "core/transport/common/settings.h"
#include "programs/torus_run/daemon/signals.h"
#include "programs/torus_run/streams/packing.h"
#include "programs/torus_run/streams/text.h"

namespace torusmp::torus_run {
namespace {

using std::chrono::milliseconds;

// The time between SIGTERM and SIGKILL once a rank has failed; the job must be gone within two
// seconds.
constexpr milliseconds grace{700};
// The same if ranks report deaths themselves before they get SIGTERM.
constexpr milliseconds grace_with_names{1500};
// On several hosts the death of a rank may become known later than its effects on its peers.
constexpr milliseconds suspicion_time{500};

// A shell ends with 128 + the number of the signal that killed its program.
bool is_of_a_signal(int code) {
    const int signal = code - exit_signal_base;
    return signal > 0 && signal < SIGRTMIN && signal != SIGINT && signal != SIGTERM &&
           signal != SIGHUP && signal != SIGPIPE;
}

}  // namespace

Coordinator::Coordinator(const Job& job, Outputs& outputs, Hosts& hosts)
    : job_(job),
      outputs_(outputs),
      hosts_(hosts),
      ranks_(std::size_t(job.size())),
      gathering_(job.size()),
      began_(Clock::now()),
      cables_(job.settings, job.size()),
      plugs_(job.settings),
      hang_(
          job, outputs, [this] { hosts_.question(); },
          [this](int rank) { return state_of(rank); }) {
    for (std::size_t node = 0; node < job.hosts.size(); ++node)
        for (const int rank : job.hosts[node].ranks) ranks_[std::size_t(rank)].node = int(node);
}

void Coordinator::started(std::span<const routing::Link> dead_cables) {
    started_ = true;
    cables_.dead_at_start(dead_cables, CableNews::Moment::now());
    plugs_.dead_at_start(dead_cables);
    for (Rank& rank : ranks_) rank.alive = true;
    alive_ = job_.size();
}

bool Coordinator::over() const {
    return kill_now_ || (alive_ == 0 && jobs_ == 0 && !suspected_);
}

// ---- time ----

std::optional<Clock::time_point> Coordinator::next_tick() const {
    std::optional<Clock::time_point> next;
    const auto consider = [&next](const std::optional<Clock::time_point>& time) {
        if (time) next = next ? std::min(*next, *time) : *time;
    };
    consider(kill_at_);
    consider(suspicion_ends_);
    consider(print_notes_at_);
    consider(cables_.next());
    consider(plugs_.next());
    consider(hang_.next_tick());
    if (job_.timeout.count() > 0 && !kill_at_ && !timed_out_) consider(began_ + job_.timeout);
    return next;
}

void Coordinator::tick(Clock::time_point now) {
    if (kill_at_ && now >= *kill_at_) kill_now_ = true;
    if (suspected_ && (now >= *suspicion_ends_ || alive_ == 0)) {
        suspicion_ends_.reset();
        announce(std::exchange(suspected_, std::nullopt).value());
    }
    if (print_notes_at_ && now >= *print_notes_at_) print_notes();
    if (started_)
        if (const auto verdict = plugs_.due(now)) judge(*verdict);
    print_lines(cables_.due(now));
    hang_.tick(now);
    end_in_time(now);
    if (job_.timeout.count() == 0 || kill_at_ || kill_now_ || timed_out_ ||
        now < began_ + job_.timeout)
        return;
    timed_out_ = true;
    outputs_.print(
        fmt::format("torus-run: the job exceeded its --timeout of {} s and is ended; still "
                    "running: {}\n",
                    double(job_.timeout.count()) / 1000,
                    alive_ > 0 ? running_ranks() : "processes that ranks have started"));
    exit_code_ = exit_timeout;
    if (alive_ == 0) kill_now_ = true;  // nothing runs yet
    if (is_ours()) hang_.want(HangWatch::Why::timeout);
    end_in_time(now);
}

// The report of what the ranks wait for comes first.
void Coordinator::end_in_time(Clock::time_point now) {
    if (!timed_out_ || hang_.busy() || kill_at_ || kill_now_) return;
    kill_at_ = now + grace;
    hosts_.terminate();
}

// Whether any process is a rank of torusmp; others cannot report what they wait for.
bool Coordinator::is_ours() const {
    return std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& it) { return it.connected; });
}

std::optional<job::RankState> Coordinator::state_of(int index) const {
    using State = job::RankState::Kind;
    const Rank& rank = ranks_[std::size_t(index)];
    if (!rank.alive || rank.dead) return job::RankState{State::ended, {}, {}};
    if (rank.finalized) return job::RankState{State::finalized, {}, {}};
    if (gathering_.exchanges() && gathering_.joined(index))
        return job::RankState{State::meeting, {}, {}};
    return std::nullopt;
}

std::string Coordinator::running_ranks() const {
    std::vector<int> running;
    for (int i = 0; i < job_.size(); ++i)
        if (ranks_[std::size_t(i)].alive) running.push_back(i);
    return list_ranks(running);
}

// ---- the user ----

void Coordinator::stop(int code) {
    exit_code_ = code;
    kill_now_ = true;
}

void Coordinator::user_signal(int signal) {
    if (ends_programs(signal)) {
        if (alive_ == 0 && jobs_ == 0) return stop(exit_signal_base + signal);
        if (user_sent(signal) && signal != SIGHUP) {
            outputs_.print(fmt::format("torus-run: received a second {}: killing the ranks\n",
                                       signal_name(signal)));
            return stop(exit_signal_base + signal);
        }
        sigaddset(&ending_signals_seen_, signal);
    }
    // SIGUSR1 requests reports and must not kill a rank; programs that handle it receive it as
    // well.
    const bool asks = signal == SIGUSR1 && is_ours();
    if (asks) hang_.want(HangWatch::Why::user);
    hosts_.signal(asks ? signal | only_if_caught : signal);
}

// ---- what happens to ranks ----

void Coordinator::handle_event(RankEvent event) {
    if (event.rank < 0 || event.rank >= job_.size()) return;
    Rank& rank = ranks_[std::size_t(event.rank)];
    switch (event.kind) {
        case RankEvent::Kind::started:
            rank.pid = pid_t(event.number);
            if (++known_ == job_.size()) show_processes();
            if (job_.verbose || job_.report_bindings)
                outputs_.print(fmt::format("torus-run: started {} on cpu {}\n",
                                           describe(event.rank), event.text));
            return;
        case RankEvent::Kind::not_started:
            if (kill_now_) return;
            outputs_.print(fmt::format("torus-run: cannot start rank {} of {} on host {}: {}\n",
                                       event.rank, job_.size(), host_of(event.rank), event.text));
            return stop(int(event.number));
        case RankEvent::Kind::connected:
            rank.connected = true;
            // Under a wrapper, this is a process other than the one that was started.
            if (std::exchange(rank.pid, pid_t(event.number)) != rank.pid && known_ >= job_.size())
                show_processes();
            return;
        case RankEvent::Kind::watching:
            rank.watching = true;
            return;
        case RankEvent::Kind::finalized:
            rank.finalized = true;
            return check_absent();
        case RankEvent::Kind::joins_again:
            rank.finalized = false;
            joins_again_ = true;
            return;
        case RankEvent::Kind::left_job:
            ++rank.jobs;
            ++jobs_;
            return;
        case RankEvent::Kind::job_ended:
            return job_ended(event);
        case RankEvent::Kind::collective:
            return collective(event);
        case RankEvent::Kind::aborted: {
            const int code = int(event.number);
            // Ranks that watch for deaths report them themselves.
            if (kill_at_ && rank.watching)
                return outputs_.print(
                    fmt::format("torus-run: {}: {}\n", describe(event.rank), event.text));
            return fail(
                {fmt::format("{} aborted with code {}: {}", describe(event.rank), code, event.text),
                 (code & 0xff) != 0 ? code & 0xff : exit_failure,
                 false,
                 {},
                 false,
                 true});
        }
        case RankEvent::Kind::failed:
            return fail({fmt::format("{} {}", describe(event.rank), event.text),
                         int(event.number),
                         true,
                         {}});
        case RankEvent::Kind::ended:
            return ended(event.rank, int(event.number), event.text);
        case RankEvent::Kind::noted:
            return note(event.rank, event.text);
        case RankEvent::Kind::link:
            return hear_of_link(event);
        case RankEvent::Kind::waits:
        case RankEvent::Kind::seen:
            if (!hang_.heard(event)) damaged(event.rank, "report of its waits");
            return;
        case RankEvent::Kind::another_mpi:
            another_mpi_ = event.text;
            return;
        case RankEvent::Kind::vanished:
            // ended() names the user's signal.
            if (user_sent(int(event.number) - exit_signal_base)) return;
            return died(event.rank, event.text, int(event.number), false);
        case RankEvent::Kind::stopped:
            return died(event.rank,
                        fmt::format("has been stopped by {} for longer than transport.timeout = {}",
                                    signal_name(int(event.number)),
                                    base::format_time(job_.settings[transport::setting::timeout])),
                        exit_signal_base + int(event.number), true);
    }
}

void Coordinator::report_rest() {
    if (orderly()) print_lines(cables_.rest(Clock::now()));
    report_other_mpi();
}

void Coordinator::report_other_mpi() {
    if (is_ours() || another_mpi_.empty()) return;
    outputs_.print(
        fmt::format("torus-run: none of the {} processes joined this job: {}, another MPI "
                    "implementation, so each ran as a separate job of one rank. Build the program "
                    "with the mpicc, mpicxx or mpifort of torusmp, or start it with the mpirun of "
                    "that MPI\n",
                    job_.size(), another_mpi_));
}

void Coordinator::mark_ended(int index) {
    Rank& rank = ranks_[std::size_t(index)];
    if (rank.alive) --alive_;
    rank.alive = false;
    hang_.lost(index);
}

void Coordinator::ended(int index, int status, const std::string& why) {
    mark_ended(index);
    const Rank& rank = ranks_[std::size_t(index)];
    if (rank.dead) return;  // its death was reported before
    const int code = exit_code_of(status);
    const bool by_signal = WIFSIGNALED(status);
    if (by_signal && user_sent(WTERMSIG(status)))
        fail({fmt::format("{} was ended by {}, passed on by torus-run", describe(index),
                          signal_name(WTERMSIG(status))),
              code,
              true,
              {}});
    else if (code != 0)
        died(index, describe_end(status) + why, code, by_signal, by_signal || is_of_a_signal(code));
    else if (rank.connected && !rank.finalized)
        died(index, "exited with code 0 without MPI_Finalize or QMP_finalize_msg_passing",
             exit_failure, false, false);
    else
        ended_well_ = true;
    check_absent();
}

// Its torus-run has said why it failed.
void Coordinator::job_ended(const RankEvent& event) {
    constexpr int first_signal = exit_signal_base + 1;
    Rank& rank = ranks_[std::size_t(event.rank)];
    if (rank.jobs == 0) return;
    --rank.jobs;
    --jobs_;
    const int code = exit_code_of(int(event.number));
    ended_well_ = ended_well_ || (code == 0 && alive_ == 0);
    if (code == 0 || (event.call == 1 && code >= first_signal) || kill_at_ || kill_now_) return;
    outputs_.print(fmt::format("torus-run: processes that {} started have ended with code {}\n",
                               describe(event.rank), code));
    if (exit_code_ == 0) exit_code_ = code;
}

void Coordinator::show_processes() {
    std::vector<ProcessEntry> all;
    for (int i = 0; i < job_.size(); ++i)
        all.push_back({int(ranks_[std::size_t(i)].pid), host_of(i),
                       job_.common.programs[std::size_t(job_.common.program_of(i))].path});
    hosts_.show(all);
}

// ---- failures ----

void Coordinator::died(int index, const std::string& cause, int code, bool original,
                       bool by_death) {
    fail({fmt::format("{} {}", describe(index), cause),
          code,
          original,
          {{index, host_of(index), cause}},
          by_death});
}

void Coordinator::host_lost(int node, const std::string& why, const std::vector<int>& behind) {
    const HostPlan& host = job_.hosts[std::size_t(node)];
    lost_hosts_.push_back(node);
    Cause cause{
        fmt::format("host {} (node {}, {}) {}", host.name, node, list_ranks(host.ranks), why),
        job_.common.keep_going ? exit_signal_base + SIGKILL : exit_failure,
        true,
        {},
        true};
    lose_ranks(node, "is lost because its host " + why, cause);
    for (const int other : behind)
        lose_ranks(other,
                   fmt::format("is cut off because its host is reached over host {}", host.name),
                   cause);
    if (!behind.empty())
        cause.text += fmt::format("; {} more host{} behind it {} cut off", behind.size(),
                                  behind.size() == 1 ? "" : "s", behind.size() == 1 ? "is" : "are");
    if (!cause.deaths.empty()) fail(std::move(cause));
}

void Coordinator::lose_ranks(int node, const std::string& why, Cause& cause) {
    const HostPlan& host = job_.hosts[std::size_t(node)];
    for (const int rank : host.ranks) {
        jobs_ -= std::exchange(ranks_[std::size_t(rank)].jobs, 0);
        if (!ranks_[std::size_t(rank)].alive) continue;
        if (!ranks_[std::size_t(rank)].dead) cause.deaths.push_back({rank, host.name, why});
        mark_ended(rank);
    }
}

void Coordinator::fail(Cause cause) {
    if (kill_at_ || kill_now_) return;
    if (job_.common.keep_going && !cause.deaths.empty()) return continue_without(cause);
    if (job_.hosts.size() == 1 || cause.original) return announce(cause);
    if (suspected_) return;
    suspected_ = std::move(cause);
    suspicion_ends_ = Clock::now() + suspicion_time;
}

void Coordinator::damaged(int rank, const char* what) {
    fail({fmt::format("{} sent a damaged {}", describe(rank), what), exit_failure, true, {}});
}

bool Coordinator::user_sent(int signal) const {
    return sigismember(&ending_signals_seen_, signal) == 1;
}

bool Coordinator::user_ended_it() const {
    return sigisemptyset(&ending_signals_seen_) == 0;
}

// The consequence of the cause, as the end of its line.
std::string Coordinator::consequence(bool death) const {
    if (by_death_ && job_.restart < job_.restarts)
        return "; all ranks are ended, to start them again";
    if (death && job_.restarts > 0)
        return fmt::format("; the job is ended after {} restart{}", job_.restart,
                           job_.restart == 1 ? "" : "s");
    return alive_ > 0 ? "; the job is ended" : "";
}

// Reports the cause and ends the job.
void Coordinator::announce(const Cause& cause) {
    suspected_.reset();
    suspicion_ends_.reset();
    print_notes_at_.reset();
    cables_.drop();
    const bool death = cause.by_death || (cause.is_abort && lost_each_other_);
    by_death_ = death && !user_ended_it() && !timed_out_;
    outputs_.print(fmt::format("torus-run: {}{}\n", cause.text, consequence(death)));
    exit_code_ = cause.code;
    const bool named = std::any_of(ranks_.begin(), ranks_.end(),
                                   [](const Rank& rank) { return rank.alive && rank.watching; });
    kill_at_ = Clock::now() + (named ? grace_with_names : grace);
    if (!cause.deaths.empty()) send_deaths(cause.deaths);
    hosts_.send_end(cause.text);
    hosts_.terminate();
}

// Reports deaths; the other ranks continue.
void Coordinator::continue_without(const Cause& cause) {
    if (!cause.by_death && exit_code_ == 0) exit_code_ = cause.code;
    if (death_code_ == 0) death_code_ = cause.code;
    first_death_ = true;
    for (const launch::Death& death : cause.deaths) {
        ranks_[std::size_t(death.rank)].dead = true;
        cables_.gone(death.rank);
        gathering_.leave(death.rank);
    }
    outputs_.print(fmt::format("torus-run: {}{}\n", cause.text,
                               alive_ > 0 ? "; the other ranks continue" : ""));
    send_deaths(cause.deaths);
    answer_if_complete();
    check_absent();
}

void Coordinator::send_deaths(const std::vector<launch::Death>& deaths) {
    Packer packer;
    for (const launch::Death& death : deaths) {
        const launch::DeathRecord record{death.rank, std::uint32_t(death.host.size()),
                                         std::uint32_t(death.cause.size())};
        packer.append(std::as_bytes(std::span(&record, 1)));
        packer.append(std::as_bytes(std::span(death.host)));
        packer.append(std::as_bytes(std::span(death.cause)));
    }
    hosts_.send_deaths(share(packer.take()));
}

const std::string& Coordinator::host_of(int rank) const {
    return job_.hosts[std::size_t(ranks_[std::size_t(rank)].node)].name;
}

std::string Coordinator::describe(int rank) const {
    return fmt::format("rank {} (host {}, pid {})", rank, host_of(rank),
                       ranks_[std::size_t(rank)].pid);
}

}  // namespace torusmp::torus_run
