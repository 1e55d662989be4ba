// SPDX-License-Identifier: BSD-3-Clause
// The sources of samples: a running job of this user on this host, or a recording. Errors are
// std::runtime_error with a message for people.
#pragma once

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "programs/torus_run/streams/channel.h"
#include "programs/torus_top/view.h"

namespace torusmp::torus_top {

class Feed {
  public:
    virtual ~Feed() = default;
    virtual const torus_run::JobDescription& job() const = 0;
    // Returns the next sample if it arrives within that time; nullopt if it did not, or the job is
    // over.
    virtual std::optional<torus_run::Sample> next(std::chrono::milliseconds timeout) = 0;
    virtual bool over() const = 0;
    virtual std::optional<int> exit_code() const { return std::nullopt; }
};

// Connects, and waits for the description of the job.
std::unique_ptr<Feed> watch_job(pid_t job, std::chrono::milliseconds interval);

// Replays a recording at its original pace times `speed`; 0 for no delay.
std::unique_ptr<Feed> replay(const std::string& file, double speed);

// The only running job of this user on this host. Throws with a list if there are none, or several.
pid_t only_job();
// A table of the running jobs, for people.
std::string list_jobs();

// Writes samples to a file.
class Recorder {
  public:
    Recorder(const std::string& file, const torus_run::JobDescription& job);
    void add(const torus_run::Sample& sample);

  private:
    void write(torus_run::MonitorFrame kind, const std::vector<std::byte>& bytes);
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::string name_;
    std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace torusmp::torus_top
