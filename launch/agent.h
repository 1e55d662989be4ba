// SPDX-License-Identifier: BSD-3-Clause
// Starts a program on another host through an agent: ssh, or any command line that takes a host, a
// program and its arguments (`launch.agent`).
//
// An AgentProcess owns the agent and its three pipes; it is used by the thread that made it. The
// program at the other end hears the end of its standard input when the AgentProcess is destroyed.
// Little should go through the command line: ssh hands it to a shell of the other host, while other
// agents run it as it is. What a program needs to know is better sent over its standard input.
#pragma once

#include <sys/types.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"

namespace torusmp::launch {

class AgentError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// The words of a command line, with the quotes and backslashes of a shell and nothing else of it.
// Throws AgentError for an unclosed quote, and if there is no word.
std::vector<std::string> split_words(std::string_view command);

// A word quoted such that a shell reads it back as it is.
std::string quote_for_shell(const std::string& word);

// The command line that runs `command` on `host`: AGENT HOST COMMAND. If a word of the agent
// contains "{host}", the name goes there and not after the agent; likewise for `address` and
// "{address}", the address of the host on the link that leads to it. ssh and its like get the
// command quoted for the shell that reads it, and ssh also the options that keep it from asking
// questions nobody could answer. Throws AgentError.
std::vector<std::string> agent_command(const std::string& agent, const std::string& host,
                                       const std::vector<std::string>& command,
                                       const std::string& address = {});
// Whether the agent uses addresses of links: its command line contains "{address}".
bool wants_address(const std::string& agent);

class AgentProcess {
  public:
    // Where there is a terminal, in a session of its own, so that nothing can ask questions there;
    // else in a group of its own in this session: kernels share cores among sessions before they
    // do among processes, so ranks on nodes that are namespaces of one host could not yield to each
    // other. Throws AgentError, for example if there is no such program.
    explicit AgentProcess(const std::vector<std::string>& command);
    AgentProcess(AgentProcess&& other) noexcept;
    AgentProcess& operator=(AgentProcess&&) = delete;
    // Kills and reaps it, unless it has ended.
    ~AgentProcess();

    pid_t pid() const { return pid_; }
    // A pidfd: readable at the end of the process.
    int process() const { return process_.get(); }
    // Our ends of its pipes, all non-blocking. An owner may move them out.
    base::Descriptor& input() { return input_; }
    base::Descriptor& output() { return output_; }
    base::Descriptor& errors() { return errors_; }

    // waitpid's status; nothing: it still runs.
    std::optional<int> end();
    // For an owner who reaps all its children in one place.
    void reaped(int status) { status_ = status; }

  private:
    pid_t pid_ = -1;
    std::optional<int> status_;
    base::Descriptor process_, input_, output_, errors_;
};

}  // namespace torusmp::launch
