// SPDX-License-Identifier: BSD-3-Clause
// Starts a program on another host through an agent: ssh, or any command line that takes a host, a
// program and its arguments (`launch.agent`).
//
// An AgentProcess owns the agent and its three pipes; it is used by the thread that created it.
// When the AgentProcess is destroyed, the program at the other end reads the end of its standard
// input. Keep the command line short: ssh passes it to a shell of the other host, while other
// agents run it unchanged. Send other data over standard input.
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

// The words of a command line; only the quotes and backslashes of a shell are interpreted. Throws
// AgentError for an unclosed quote, and for an empty command line.
std::vector<std::string> split_words(std::string_view command);

// A word quoted so that a shell reads it back unchanged.
std::string quote_for_shell(const std::string& word);

// The command line that runs `command` on `host`: AGENT HOST COMMAND. If a word of the agent
// contains "{host}", the name replaces it and is not appended to the agent; "{address}" is replaced
// by `address`, the address of the host on the link that leads to it. For ssh and similar agents,
// the command is quoted for the remote shell; ssh also gets the options that disable its prompts.
// Throws AgentError.
std::vector<std::string> agent_command(const std::string& agent, const std::string& host,
                                       const std::vector<std::string>& command,
                                       const std::string& address = {});
// Whether the agent uses addresses of links: its command line contains "{address}".
bool wants_address(const std::string& agent);

class AgentProcess {
  public:
    // If there is a terminal, the agent gets a session of its own, so that it cannot prompt there;
    // otherwise a process group of its own in this session: kernels share cores among sessions
    // before they share them among processes, so ranks on nodes that are namespaces of one host
    // could not yield to each other. Throws AgentError, for example if the program does not exist.
    explicit AgentProcess(const std::vector<std::string>& command);
    AgentProcess(AgentProcess&& other) noexcept;
    AgentProcess& operator=(AgentProcess&&) = delete;
    // Kills and reaps it, unless it has ended.
    ~AgentProcess();

    pid_t pid() const { return pid_; }
    // A pidfd, which is readable when the process ends.
    int process() const { return process_.get(); }
    // Our ends of its pipes, all non-blocking. An owner may move them out.
    base::Descriptor& input() { return input_; }
    base::Descriptor& output() { return output_; }
    base::Descriptor& errors() { return errors_; }

    // The status of waitpid; empty if the process still runs.
    std::optional<int> end();
    // For an owner that reaps all its children in one place.
    void reaped(int status) { status_ = status; }

  private:
    pid_t pid_ = -1;
    std::optional<int> status_;
    base::Descriptor process_, input_, output_, errors_;
};

}  // namespace torusmp::launch
