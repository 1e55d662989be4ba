// SPDX-License-Identifier: BSD-3-Clause
// The ranks of one host: starts them, listens to them, passes on what they print, ends them. A
// listener is told what happens to them; what it means for the job is decided elsewhere.
//
// Owned by a daemon and used by its one thread. The daemon reaps children and hands over those that
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
#include "programs/torus_run/daemon/rank_sight.h"
#include "programs/torus_run/daemon/rank_streams.h"
#include "programs/torus_run/front/job.h"
#include "programs/torus_run/monitor/rank_pages.h"
#include "programs/torus_run/streams/channel.h"
#include "programs/torus_run/streams/loop.h"
#include "programs/torus_run/streams/messages.h"

namespace torusmp::launch {

using Clock = std::chrono::steady_clock;

// What ranks inherit from the daemon that starts them; not owned.
struct RankWiring {
    int lifeline;             // reopened for every rank
    int null;                 // what all ranks but the first read from
    int standard_input;       // what rank 0 reads from
    const sigset_t* signals;  // the mask with which the user's program starts
    const rlimit* files;      // and its limit of open files
};

class LocalRanks {
  public:
    struct Listener {
        virtual void happened(RankEvent event) = 0;
        // Only output that comes through torus-run; an empty text is the end of the stream.
        virtual void printed(int rank, int stream, std::string_view text) = 0;
        // While the job is watched.
        virtual void sampled(Sample sample) = 0;
        virtual ~Listener() = default;
    };

    // `job` must outlive this. `cpus`: by local rank.
    LocalRanks(const HostJob& job, std::vector<config::CpuList> cpus, Loop& loop, RankWiring wiring,
               Listener& listener);
    LocalRanks(const LocalRanks&) = delete;
    LocalRanks& operator=(const LocalRanks&) = delete;
    ~LocalRanks();

    // False: one could not be started, which has been reported.
    bool start_all();
    int running() const { return running_; }
    // That the daemon holds for each rank, at least.
    static int descriptors_each(const HostJob& job);

    // ---- what the job does with them ----
    void signal(int signal);  // of the user
    void question();          // what do they wait for?
    void answer(FrameHeader header, const SharedBytes& bytes);
    void tell_deaths(const SharedBytes& records);
    void tell_over(std::string_view why);
    // SIGTERM; ranks that were told of a death may name it first.
    void terminate();
    void kill();

    // ---- what the daemon does ----
    // True: it was a rank of this host. The status is waitpid's, with WUNTRACED and WCONTINUED.
    bool reaped(pid_t pid, int status);
    // `asleep`: how long the daemon itself has not run; a rank that was stopped together with it is
    // not overdue.
    void tick(Clock::time_point now, std::chrono::nanoseconds asleep);
    // When tick() has something to do; nothing: never.
    std::optional<Clock::time_point> next_tick() const;
    // After kill() they may be drained.
    RankStreams& streams() { return streams_; }
    RankPages& pages() { return pages_; }

  private:
    struct Rank {
        int number = 0;
        config::CpuList cpus;
        pid_t pid = -1;  // the process that we started
        bool running = false;
        std::optional<Channel> channel, notices;
        bool connected = false;
        bool finalized = false;
        bool watching = false;     // it wants to be told of deaths
        pid_t connected_pid = -1;  // what called connect: under a wrapper a child of `pid`
        base::Descriptor connected_process;
        std::optional<Clock::time_point> stopped_since;
        int stop_signal = 0;
        bool stop_told = false;
    };

    bool start(Rank& rank, std::size_t local_rank, Program& program);
    bool cannot_start(const Rank& rank, const char* call, int error);
    void watch_channels(Rank& rank);
    void tell(const Rank& rank, RankEvent::Kind kind, std::int64_t number = 0,
              std::string text = {});
    void ended(Rank& rank, int status);
    void connected_process_ended(Rank& rank);
    void end_with_the_dead(const Rank& rank);
    void hear(Rank& rank);
    void understand(Rank& rank, Frame& frame);
    void hello(Rank& rank, const Frame& frame);
    void aborted(Rank& rank, const Frame& frame);
    // What a control socket is always watched for.
    static constexpr std::uint32_t heard = EPOLLIN | EPOLLRDHUP;
    // `events`: what the channel is watched for in any case.
    void send(Channel& channel, std::uint32_t events, FrameHeader header, SharedBytes bytes);
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
    RankStreams streams_;
    int running_ = 0;
    bool user_stopped_ = false;
    std::optional<Clock::time_point> terminate_watchers_at_;
    MpiSearch another_mpi_;
    Questions questions_;
    RankPages pages_;
};

}  // namespace torusmp::launch
