// SPDX-License-Identifier: BSD-3-Clause
#include "launch/agent.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/descriptor.h"

namespace torusmp::launch {
namespace {

constexpr std::string_view place_of_host = "{host}";
constexpr std::string_view place_of_address = "{address}";

bool safe_in_a_shell(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::strchr("_-./:=,@%+", c) != nullptr;
}

std::string base_name(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

// ssh and similar agents join the words of the command with blanks, and a shell splits them again.
bool goes_through_a_shell(const std::string& agent) {
    for (const char* known : {"ssh", "slogin", "gsissh", "autossh", "dbclient", "rsh", "remsh"})
        if (base_name(agent) == known) return true;
    return false;
}

// Removes the quotes and backslashes of one word.
class WordReader {
  public:
    explicit WordReader(std::string_view text) : text_(text) {}

    bool next(std::string& word) {
        while (at_ < text_.size() && blank(text_[at_])) ++at_;
        if (at_ == text_.size()) return false;
        word.clear();
        while (at_ < text_.size() && !blank(text_[at_])) take(word);
        return true;
    }

  private:
    static bool blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

    void take(std::string& word) {
        const char c = text_[at_++];
        if (c == '\'' || c == '"')
            take_quoted(c, word);
        else if (c == '\\' && at_ < text_.size())
            word += text_[at_++];
        else
            word += c;
    }

    void take_quoted(char quote, std::string& word) {
        while (at_ < text_.size() && text_[at_] != quote) {
            const bool escaped = quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size() &&
                                 (text_[at_ + 1] == '"' || text_[at_ + 1] == '\\');
            if (escaped) ++at_;
            word += text_[at_++];
        }
        if (at_ == text_.size())
            throw AgentError(
                fmt::format("launch.agent is '{}': the quote {} does not end", text_, quote));
        ++at_;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

bool put(std::string& word, std::string_view placeholder, const std::string& text) {
    bool found = false;
    for (std::size_t at = 0; (at = word.find(placeholder, at)) != std::string::npos;
         at += text.size()) {
        word.replace(at, placeholder.size(), text);
        found = true;
    }
    return found;
}

struct Pipe {
    base::Descriptor read_end, write_end;
    Pipe() {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0)
            throw AgentError(fmt::format("pipe for an agent: {}", std::strerror(errno)));
        read_end = base::Descriptor(ends[0]);
        write_end = base::Descriptor(ends[1]);
    }
};

base::Descriptor without_blocking(base::Descriptor descriptor) {
    fcntl(descriptor.get(), F_SETFL, O_NONBLOCK);
    return descriptor;
}

bool has_terminal() {
    return bool(base::Descriptor(open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)));
}

// Arguments for posix_spawn, released at the end of the scope.
struct SpawnPlan {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;

    SpawnPlan(int input, int output, int errors) {
        posix_spawn_file_actions_init(&files);
        posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO);
        posix_spawnattr_init(&attributes);
        sigset_t none, ours;
        sigemptyset(&none);
        sigemptyset(&ours);
        sigaddset(&ours, SIGPIPE);
        sigaddset(&ours, SIGCHLD);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setsigdefault(&attributes, &ours);
        const int apart = has_terminal() ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP;
        posix_spawnattr_setflags(&attributes,
                                 short(apart | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
    }
    SpawnPlan(const SpawnPlan&) = delete;
    SpawnPlan& operator=(const SpawnPlan&) = delete;
    ~SpawnPlan() {
        posix_spawn_file_actions_destroy(&files);
        posix_spawnattr_destroy(&attributes);
    }
};

}  // namespace

std::vector<std::string> split_words(std::string_view command) {
    std::vector<std::string> words;
    WordReader reader(command);
    for (std::string word; reader.next(word);) words.push_back(word);
    if (words.empty())
        throw AgentError(
            "launch.agent is empty: expected a command line that starts a program on another host, "
            "like \"ssh -p 2222\"");
    return words;
}

std::string quote_for_shell(const std::string& word) {
    if (!word.empty() && std::all_of(word.begin(), word.end(), safe_in_a_shell)) return word;
    std::string quoted = "'";
    for (const char c : word)
        if (c == '\'')
            quoted += "'\\''";
        else
            quoted += c;
    return quoted + "'";
}

std::vector<std::string> agent_command(const std::string& agent, const std::string& host,
                                       const std::vector<std::string>& command,
                                       const std::string& address) {
    std::vector<std::string> words = split_words(agent);
    const bool shell = goes_through_a_shell(words.front());
    bool placed = false;
    const std::string& link = address.empty() ? host : address;
    for (std::string& word : words)
        // "{host}" may be used only for logging, and "{address}" for the connection.
        placed = int(put(word, place_of_host, host)) + int(put(word, place_of_address, link)) > 0 ||
                 placed;
    if (base_name(words.front()) == "ssh")
        words.insert(words.begin() + 1, {"-x", "-T", "-o", "BatchMode=yes"});
    if (!placed) words.push_back(host);
    for (const std::string& word : command) words.push_back(shell ? quote_for_shell(word) : word);
    return words;
}

bool wants_address(const std::string& agent) {
    return agent.find(place_of_address) != std::string::npos;
}

AgentProcess::AgentProcess(const std::vector<std::string>& command) {
    Pipe input, output, errors;
    const SpawnPlan plan(input.read_end.get(), output.write_end.get(), errors.write_end.get());
    std::vector<char*> argv;
    for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    const int error =
        posix_spawnp(&pid_, argv[0], &plan.files, &plan.attributes, argv.data(), environ);
    if (error != 0) {
        pid_ = -1;
        throw AgentError(
            fmt::format("cannot start the agent '{}': {}", command.front(), std::strerror(error)));
    }
    process_ = base::Descriptor(int(syscall(SYS_pidfd_open, pid_, 0)));
    input_ = without_blocking(std::move(input.write_end));
    output_ = without_blocking(std::move(output.read_end));
    errors_ = without_blocking(std::move(errors.read_end));
}

AgentProcess::AgentProcess(AgentProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      status_(other.status_),
      process_(std::move(other.process_)),
      input_(std::move(other.input_)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)) {}

AgentProcess::~AgentProcess() {
    if (pid_ <= 0 || end()) return;
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

std::optional<int> AgentProcess::end() {
    if (status_) return status_;
    int status = 0;
    const pid_t found = waitpid(pid_, &status, WNOHANG);
    if (found == pid_) status_ = status;
    if (found < 0 && errno == ECHILD) status_ = 0;  // reaped elsewhere in the process
    return status_;
}

}  // namespace torusmp::launch
