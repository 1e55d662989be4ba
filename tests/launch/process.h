// SPDX-License-Identifier: BSD-3-Clause
// Runs torus-run for a test: collects its output, and marks every process of the run in its
// environment, so that surviving processes can be found.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace torusmp::torus_run::test {

// Only guards against hangs. No test passes or fails by less.
inline constexpr std::chrono::seconds hang_guard{60};

struct Outcome {
    int code = -1;  // exit code, or 128 + signal
    std::string output, errors;
    double seconds = 0;

    int lines_of_torus_run() const;  // messages on standard error
};

// The lines of a text, sorted, for output whose order is free.
std::vector<std::string> sorted_lines(const std::string& text);
int count(const std::string& text, const std::string& piece);

class Process {
  public:
    // `environment`: "NAME=value" added to this process's own.
    explicit Process(const std::vector<std::string>& command,
                     const std::vector<std::string>& environment = {});
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
    // Kills and reaps whatever is left of the run.
    ~Process();

    pid_t pid() const { return pid_; }
    void send(int signal) const { kill(pid_, signal); }
    void type(const std::string& text) const;
    void close_input();

    // Waits until the text has come `times` times on standard output. False: ended before.
    bool wait_for_output(const std::string& text, int times = 1);
    // The same on standard error.
    bool wait_for_error(const std::string& text);
    // Waits for a stop or for the end, whichever is first. True: stopped.
    bool wait_for_stop();
    Outcome wait();

    // Living processes of this run, torus-run included; dead ones not yet reaped do not count.
    std::vector<pid_t> marked() const;
    // Waits until none is left. False: some stay.
    bool all_gone() const;
    pid_t daemon() const;
    // The daemon that is a child of this process.
    pid_t head() const;
    // The same, limited to a process name (comm) and to a variable "NAME=value" in the environment.
    std::vector<pid_t> marked(const std::string& name, const std::string& variable) const;

  private:
    void collect(int milliseconds);
    bool wait_for(const std::string& collected, const std::string& text, int times);
    bool ended(bool block);

    std::string mark_;
    pid_t pid_ = -1;
    int status_ = 0;
    bool reaped_ = false;
    int input_ = -1, output_ = -1, errors_ = -1;
    std::string output_text_, errors_text_;
    std::chrono::steady_clock::time_point started_;
};

// Waits until the kernel shows this state ('T': stopped, 'S', ...) of a process. False: it does
// not.
bool wait_for_state(pid_t pid, char state);

// Starts, closes standard input, waits.
Outcome run(const std::vector<std::string>& command,
            const std::vector<std::string>& environment = {});

}  // namespace torusmp::torus_run::test
