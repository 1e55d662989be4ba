// SPDX-License-Identifier: BSD-3-Clause
// The ranks of one host: starts them, serves their control sockets, forwards their output, ends
// them. A listener is notified of their events and decides what these mean for the job.
//
// Owned by a daemon and used by its one thread. The daemon reaps children and passes on those that
// are ranks.
#pragma once

#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "config/cpus.h"
#include "programs/torus_run/daemon/another_mpi.h"
#include "programs/torus_run/daemon/memory_killer.h"
#include "programs/torus_run/daemon/rank_sight.h"
#include "programs/torus_run/daemon/rank_streams.h"
#include "programs/torus_run/front/job.h"
#include "programs/torus_run/monitor/rank_pages.h"
#include "programs/torus_run/streams/channel.h"
#include "programs/torus_run/streams/loop.h"
#include "programs/torus_run/streams/messages.h"

namespace torusmp::torus_run {

using Clock = std::chrono::steady_clock;

// Descriptors and limits that ranks inherit from the daemon; not owned.
struct RankWiring {
    int lifeline;             // reopened for every rank
    int null;                 // standard input of all ranks but rank 0
    int standard_input;       // standard input of rank 0
    const sigset_t* signals;  // signal mask of the user's program
    const rlimit* files;      // limit of open files of the user's program
};

class LocalRanks {
  public:
    struct Listener {
        virtual void handle_event(RankEvent event) = 0;
        // Called only for output that goes through torus-run. An empty text ends the stream.
        virtual void printed(int rank, int stream, std::string_view text) = 0;
        // Called while the job is watched.
        virtual void sampled(Sample sample) = 0;
        virtual ~Listener() = default;
    };

    // `job` must outlive this object. `cpus` is indexed by local rank.
    LocalRanks(const HostJob& job, std::vector<config::CpuList> cpus, Loop& loop, RankWiring wiring,
               Listener& listener);
    LocalRanks(const LocalRanks&) = delete;
    LocalRanks& operator=(const LocalRanks&) = delete;
    ~LocalRanks();

    // Returns false if a rank could not be started; this has been reported.
    bool start_all();
    int running() const { return running_; }
    // Minimum number of descriptors that the daemon holds for each rank.
    static int descriptors_each(const HostJob& job);

    // ---- commands for the ranks ----
    void signal(int signal);  // forwarded from the user
    void question();          // asks the ranks what they wait for
    // Starts a process that makes the collective calls of a rank that has ended. The first one has
    // this sequence number.
    void stand_in(int rank, std::uint32_t sequence);
    void answer(launch::FrameHeader header, const SharedBytes& bytes);
    void send_deaths(const SharedBytes& records);
    void send_end(std::string_view why);
    // Sends SIGTERM; ranks that were notified of a death may report it first.
    void terminate();
    void kill();

    // ---- called by the daemon ----
    // Returns true if the process was a rank of this host. `status` is waitpid's, with WUNTRACED
    // and WCONTINUED. `memory` is its peak resident size in bytes.
    bool reaped(pid_t pid, int status, std::uint64_t memory);
    // `asleep` is how long the daemon itself was not running; a rank that was stopped together with
    // it is not overdue.
    void tick(Clock::time_point now, std::chrono::nanoseconds asleep);
    // When tick() is due; nullopt if never.
    std::optional<Clock::time_point> next_tick() const;
    // After kill() the streams may be drained.
    RankStreams& streams() { return streams_; }
    RankPages& pages() { return pages_; }

  private:
    struct Rank {
        int number = 0;
        config::CpuList cpus;
        pid_t pid = -1;  // the process that the daemon started
        bool running = false;
        std::optional<Channel> channel, notices;
        bool connected = false;
        bool finalized = false;
        bool watching = false;  // it wants to be notified of deaths
        // the process that called connect; under a wrapper a child of `pid`
        pid_t connected_pid = -1;
        base::Descriptor connected_process;
        std::optional<Clock::time_point> stopped_since;
        int stop_signal = 0;
        bool stop_reported = false;
    };

    // A torus-run that a rank has started. When the rank ends, it becomes a child of the daemon.
    struct Job {
        int rank = 0;
        pid_t pid = -1;
        bool deaths_allowed = false;  // the death of one of its processes is not a failure
        bool left = false;            // its rank has ended
    };

    void add_job_environment(Program& program) const;
    bool start(Rank& rank, std::size_t local_rank, Program& program);
    // `standard` has the descriptors that become 0, 1 and 2. The first collective call of the rank
    // has this sequence number.
    bool start(Rank& rank, std::size_t local_rank, Program& program, const int (&standard)[3],
               std::uint32_t sequence);
    void close_channels(Rank& rank);
    void take_job(const Rank& rank, const Frame& frame);
    void leave_jobs(int rank);
    void job_ended(const Job& job, int status);
    void look_for_lost_jobs();
    bool cannot_start(const Rank& rank, const char* call, int error);
    void watch_channels(Rank& rank);
    void report(const Rank& rank, RankEvent::Kind kind, std::int64_t number = 0,
                std::string text = {});
    void ended(Rank& rank, int status, std::uint64_t memory);
    void take_deaths_before(const Rank& rank);
    void connected_process_ended(Rank& rank);
    void look_for_death(Rank& rank);
    void end_with_the_dead(const Rank& rank);
    void hear(Rank& rank);
    void understand(Rank& rank, Frame& frame);
    void hello(Rank& rank, const Frame& frame);
    void aborted(Rank& rank, const Frame& frame);
    // Events for which a control socket is always watched.
    static constexpr std::uint32_t heard = EPOLLIN | EPOLLRDHUP;
    // The channel is watched for `events` even without unsent data.
    void send(Channel& channel, std::uint32_t events, launch::FrameHeader header,
              SharedBytes bytes);
    void take_output(const Rank& rank);
    void look_for_stops(Rank& rank, Clock::time_point now);
    bool any_under_a_wrapper() const;
    void found_another_mpi(const Rank& rank, const std::optional<std::string>& library);
    const std::string& path_of(const Rank& rank) const;

    const HostJob& job_;
    Loop& loop_;
    RankWiring wiring_;
    Listener& listener_;
    std::vector<Rank> ranks_;
    std::vector<Job> jobs_;
    RankStreams streams_;
    int running_ = 0;
    bool user_stopped_ = false;
    bool takes_deaths_ = false;
    std::optional<Clock::time_point> terminate_watchers_at_;
    MpiSearch another_mpi_;
    MemoryKiller memory_killer_;
    Questions questions_;
    RankPages pages_;
};

}  // namespace torusmp::torus_run
