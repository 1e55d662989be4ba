// SPDX-License-Identifier: BSD-3-Clause
// This process as one rank of a job: bootstrap, settings and Runtime, brought up and taken down in
// the right order. It is the only singleton of the project, because C programs start QMP and MPI
// without passing anything from one to the other.
//
// Front ends share it: the first acquire() joins the job, every further one returns the same
// object, and the last one to call leave() leaves the job. One thread at a time may call acquire()
// and leave().
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/group/policy.h"
#include "config/settings.h"
#include "core/api.h"
#include "job/death_watch.h"
#include "job/report_signal.h"
#include "job/shared_page.h"
#include "launch/bootstrap.h"

namespace torusmp::job {

class Process {
  public:
    // `threads` means that several threads will call. Throws BootstrapError, ConfigError, and
    // std::runtime_error if a transport cannot be opened; the message is meant for users.
    // A process that has left its job joins it again, together with the others
    // (launch/bootstrap.h).
    static std::shared_ptr<Process> acquire(bool threads);
    // Joins a further job, of processes that have joined others. `environment` contains the
    // settings of that job, as "NAME=VALUE". Collective over its ranks; throws std::exception.
    static std::shared_ptr<Process> join(std::unique_ptr<launch::Bootstrap> bootstrap,
                                         std::span<const std::string> environment, bool threads);
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    core::Runtime& runtime() const { return *runtime_; }
    const config::Settings& settings() const { return settings_; }
    const collectives::Policy& collective_policy() const { return policy_; }
    // The bytes of all ranks of the job, by rank. Collective.
    std::vector<std::vector<std::byte>> exchange(std::span<const std::byte> mine) {
        return bootstrap_->exchange(mine);
    }
    // The number of the job, which is not 0, and different for every job.
    std::uint64_t number() const;
    int rank() const { return bootstrap_->rank(); }
    int size() const { return bootstrap_->size(); }
    // Whether several threads may call; may be false although it was requested, if another front
    // end came first.
    bool threads() const { return runtime_->options().threads; }

    // Whether the job continues when a rank dies, and errors are returned to the caller.
    bool keeps_going() const { return bootstrap_->keeps_going(); }
    // Leaves the end of a child process to the launcher, see Bootstrap::adopt().
    bool adopt(pid_t child, bool deaths_allowed) {
        return bootstrap_->adopt(child, deaths_allowed);
    }

    // Collective over all ranks of the job. Returns when no rank needs this one any more, not even
    // to relay packets. Nothing may be started afterwards. Reports name it `call`.
    void leave(std::string_view call = usual_end);
    static constexpr std::string_view usual_end = "MPI_Finalize or QMP_finalize_msg_passing";
    // Ends the whole job: the launcher exits with this code.
    [[noreturn]] void abort(int code, std::string_view message);

  private:
    Process(bool threads, std::shared_ptr<launch::Bootstrap> bootstrap, config::Settings settings,
            bool joins);
    core::Options options(bool threads, bool joins);
    void meet(std::string_view call);

    // A wait for all ranks, outside of the Runtime.
    class Meeting final : public core::Reporter {
      public:
        Meeting(core::Runtime& runtime, std::string_view call);
        ~Meeting() { runtime_.remove_reporter(*this); }
        void report(core::Waits& waits) const override;

      private:
        core::Runtime& runtime_;
        const std::string_view call_;
        const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    };

    std::shared_ptr<launch::Bootstrap> bootstrap_;
    config::Settings settings_;
    collectives::Policy policy_;
    DeathWatch death_watch_;  // the Runtime may call it for as long as the Runtime lives
    SharedPage page_;         // the Runtime may write to it
    std::unique_ptr<core::Runtime> runtime_;
    std::optional<ReportSignal> report_signal_;
    bool left_ = false;
};

// Ends a process that has not joined a job, or could not: prints the message and exits with this
// code.
[[noreturn]] void end_process(int code, std::string_view message);

}  // namespace torusmp::job
