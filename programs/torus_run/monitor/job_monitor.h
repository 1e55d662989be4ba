// SPDX-License-Identifier: BSD-3-Clause
// The head's part of watching a job: keeps the last state of all ranks while there are observers,
// and sends each observer the changes at the interval it asked for. Without observers nothing is
// sampled or sent. A slow observer never delays the job.
//
// Owned by the head and used by its one thread.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "programs/torus_run/front/job.h"
#include "programs/torus_run/monitor/records.h"
#include "programs/torus_run/streams/channel.h"
#include "programs/torus_run/streams/loop.h"

namespace torusmp::torus_run {

class JobMonitor {
  public:
    using Clock = std::chrono::steady_clock;
    // Sets the sampling interval of all daemons; 0 for no samples.
    using Watch = std::function<void(std::chrono::milliseconds)>;

    // `loop` must outlive this object.
    JobMonitor(Loop& loop, Watch watch);
    ~JobMonitor();
    JobMonitor(const JobMonitor&) = delete;
    JobMonitor& operator=(const JobMonitor&) = delete;

    // Starts to listen for observers. Returns why it cannot, or an empty text; the job runs in both
    // cases.
    std::string open(const Job& job, pid_t number);
    // Takes a sample from a daemon. `here` means that it comes from this process, so its clock
    // needs no correction.
    void take(int node, Sample sample, bool here);
    void tick(Clock::time_point now);
    std::optional<Clock::time_point> next_tick() const;
    // The job has ended: sends all observers the rest and the exit code.
    void over(int exit_code);

  private:
    struct Observer {
        explicit Observer(base::Descriptor socket) : channel(std::move(socket)) {}
        Channel channel;
        std::chrono::milliseconds interval{0};  // 0 if not requested yet
        Clock::time_point next{};
        std::uint64_t seen = 0;  // version of the last state that was sent
        bool gone = false;
    };
    template <class Record>
    struct Versioned {
        Record record;
        std::uint64_t version = 0;
    };

    void accept_some();
    void hear(Observer& observer);
    bool understand(Observer& observer, const Frame& frame);
    void send(Observer& observer, MonitorFrame kind, SharedBytes bytes);
    void send_news(Observer& observer, Clock::time_point now);
    void drop_gone();
    void set_interval();

    Loop& loop_;
    const Watch watch_;
    std::string path_;
    base::Descriptor listener_;
    std::vector<std::byte> description_;
    std::list<Observer> observers_;
    std::chrono::milliseconds interval_{0};
    std::map<int, std::int64_t> clocks_;  // how far the local clock is ahead of each node's
    std::uint64_t version_ = 0;
    std::map<int, Versioned<RankRecord>> ranks_;
    std::map<std::pair<int, int>, Versioned<WayRecord>> ways_;
    std::map<std::pair<int, int>, Versioned<DeviceRecord>> devices_;
};

}  // namespace torusmp::torus_run
