// SPDX-License-Identifier: BSD-3-Clause
// Where samples come from: a running job of this user on this host, or a file that was recorded.
// Errors are std::runtime_error with a message for people.
#pragma once

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "programs/torus_run/streams/channel.h"
#include "programs/torus_top/view.h"

namespace torusmp::top {

class Feed {
  public:
    virtual ~Feed() = default;
    virtual const launch::JobDescription& job() const = 0;
    // The next sample if it comes within that time, or at the end of the job nothing for ever.
    virtual std::optional<launch::Sample> next(std::chrono::milliseconds patience) = 0;
    virtual bool over() const = 0;
    virtual std::optional<int> exit_code() const { return std::nullopt; }
};

// Connects, and waits until the job has said what it is.
std::unique_ptr<Feed> watch_job(pid_t job, std::chrono::milliseconds interval);

// Plays a file in the time in which it was recorded; `speed` 0: at once.
std::unique_ptr<Feed> replay(const std::string& file, double speed);

// The only job of this user that runs here; throws with a list if there are none, or several.
pid_t only_job();
// A table of the jobs, for people.
std::string list_jobs();

// Writes samples to a file.
class Recorder {
  public:
    Recorder(const std::string& file, const launch::JobDescription& job);
    void add(const launch::Sample& sample);

  private:
    void write(launch::MonitorFrame kind, const std::vector<std::byte>& bytes);
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::string name_;
    std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace torusmp::top
