// SPDX-License-Identifier: BSD-3-Clause
// Tracks the events of all ranks and decides their consequences for the job: which ranks wait for
// each other, which failure is the cause, when the job ends and with which code. Pure bookkeeping
// and decisions; processes and other hosts are reached through `Hosts`.
//
// Owned by the daemon at the head and used by its one thread.
#pragma once

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "launch/bootstrap.h"
#include "programs/torus_run/daemon/cable_news.h"
#include "programs/torus_run/daemon/gathering.h"
#include "programs/torus_run/daemon/hang_watch.h"
#include "programs/torus_run/daemon/local_ranks.h"
#include "programs/torus_run/daemon/plug_news.h"
#include "programs/torus_run/front/debugger.h"
#include "programs/torus_run/streams/messages.h"
#include "programs/torus_run/streams/output.h"

namespace torusmp::torus_run {

class Coordinator {
  public:
    // All hosts of the job at once.
    struct Hosts {
        virtual void signal(int signal) = 0;
        virtual void answer(launch::FrameHeader header, SharedBytes bytes) = 0;
        virtual void send_deaths(SharedBytes records) = 0;
        virtual void send_end(const std::string& why) = 0;
        // Asks all ranks what they wait for. Each rank answers, or its daemon answers for it.
        virtual void question() = 0;
        // Shows all ranks to a debugger, once they are known.
        virtual void show(const std::vector<ProcessEntry>& ranks) = 0;
        // Starts a process that makes the collective calls of a rank that has left and ended. The
        // first one has this sequence number.
        virtual void stand_in(int node, int rank, std::uint32_t sequence) = 0;
        virtual void terminate() = 0;
        virtual ~Hosts() = default;
    };

    Coordinator(const Job& job, Outputs& outputs, Hosts& hosts);

    // Called when ranks are started: from now on `over()` waits for them. `dead_cables` have
    // already been reported.
    void started(std::span<const routing::Link> dead_cables);
    void handle_event(RankEvent event);
    bool has_started() const { return started_; }
    // Reports an unreachable host; `why` completes "host qcd001 ...". Ranks on it are dead, and so
    // are those on hosts that are reached only through it.
    void host_lost(int node, const std::string& why, const std::vector<int>& behind = {});
    // Reports a fault that the kernel of a node has noticed on one of its links.
    void link_trouble(int node, const LinkTrouble& trouble);
    // The plugs that differ from the settings, before ranks are started.
    PlugNews& plugs() { return plugs_; }
    void user_signal(int signal);
    // Ranks that connect are held in their first exchange until resume().
    void hold() { held_ = true; }
    void resume();
    // Ends the job immediately, before or after its start.
    void stop(int code);

    void tick(Clock::time_point now);
    std::optional<Clock::time_point> next_tick() const;

    // Called at the end: reports pending events of cables, and whether all processes used another
    // MPI.
    void report_rest();

    // Nothing remains to be awaited: processes that are still alive may be killed.
    bool over() const;
    bool stopped() const { return kill_now_; }
    bool orderly() const { return alive_ == 0 && !kill_at_ && !kill_now_ && !first_death_; }
    // A death with which the job has continued counts only if no process has ended well since.
    int exit_code() const { return exit_code_ != 0 || ended_well_ ? exit_code_ : death_code_; }
    // Whether the job ended because of deaths, so that it may start again, and the nodes whose
    // hosts were lost.
    bool ended_by_death() const { return by_death_; }
    const std::vector<int>& lost_hosts() const { return lost_hosts_; }

  private:
    struct Rank {
        int node = 0;
        pid_t pid = -1;  // the connected process, if any, in messages
        bool alive = false;
        bool connected = false;
        bool finalized = false;
        bool watching = false;
        bool dead = false;
        int jobs = 0;  // torus-runs that it has started and left behind
    };

    // A reason to end the job. If there are several at the same time, the one that cannot follow
    // from another counts.
    struct Cause {
        std::string text;
        int code = 0;
        bool original = false;
        std::vector<launch::Death> deaths;
        bool by_death = false;  // something died; otherwise the program ended the job
        bool is_abort = false;  // of a rank, perhaps because it lost others
    };

    // `why` follows "was killed by SIGKILL" if more is known.
    void ended(int rank, int status, const std::string& why);
    void died(int rank, const std::string& cause, int code, bool original, bool by_death = true);
    std::string consequence(bool death) const;
    void collective(RankEvent& event);
    void answer_if_complete();
    void check_absent();
    bool may_come(int rank);
    void replace(int rank);
    void job_ended(const RankEvent& event);
    void fail(Cause cause);
    void announce(const Cause& cause);
    void continue_without(const Cause& cause);
    void note(int rank, const std::string& text);
    void hear_of_link(const RankEvent& event);
    void print_lines(const std::vector<std::string>& lines);
    void judge(const PlugNews::Verdict& verdict);
    void report_other_mpi();
    void end_in_time(Clock::time_point now);
    void print_notes();
    void show_processes();
    void lose_ranks(int node, const std::string& why, Cause& cause);
    void send_deaths(const std::vector<launch::Death>& deaths);
    void mark_ended(int rank);
    std::optional<job::RankState> state_of(int rank) const;
    bool is_ours() const;
    // Whether the user has sent that signal, one that ends programs.
    bool user_sent(int signal) const;
    bool user_ended_it() const;
    void damaged(int rank, const char* what);

    std::string describe(int rank) const;
    const std::string& host_of(int rank) const;
    std::string running_ranks() const;

    const Job& job_;
    Outputs& outputs_;
    Hosts& hosts_;
    std::vector<Rank> ranks_;
    int alive_ = 0;
    int jobs_ = 0;              // sum of Rank::jobs
    bool joins_again_ = false;  // ranks that had left the job
    bool started_ = false;
    Gathering gathering_;
    sigset_t ending_signals_seen_{};
    const Clock::time_point began_;
    std::optional<Cause> suspected_;
    std::optional<Clock::time_point> suspicion_ends_, kill_at_;
    bool timed_out_ = false;
    bool held_ = false;  // until a debugger has attached
    int known_ = 0;      // processes of ranks
    bool kill_now_ = false;
    bool first_death_ = false;  // a rank died and the job continued
    int exit_code_ = 0;
    int death_code_ = 0;       // of the first death with which the job continued
    bool ended_well_ = false;  // a rank has, or the last process that ranks have started
    bool by_death_ = false;
    bool lost_each_other_ = false;  // ranks have reported links or ranks that they lost
    std::vector<int> lost_hosts_;
    // Reports of ranks about links and each other. If the job ends soon afterwards, its last line
    // names the cause, and these are only consequences; otherwise they are printed.
    std::vector<std::string> notes_;
    std::optional<Clock::time_point> print_notes_at_;
    CableNews cables_;
    PlugNews plugs_;
    HangWatch hang_;
    std::string another_mpi_;  // "./a.out uses libmpi.so.40 of Open MPI"; empty if none was found
};

}  // namespace torusmp::torus_run
