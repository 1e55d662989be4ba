// SPDX-License-Identifier: BSD-3-Clause
#include "process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace torusmp::torus_run::test {
namespace {

using Clock = std::chrono::steady_clock;

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> list;
    for (std::string& string : strings) list.push_back(string.data());
    list.push_back(nullptr);
    return list;
}

std::vector<std::string> environment_with(const std::vector<std::string>& added) {
    std::vector<std::string> all;
    for (char** entry = environ; *entry; ++entry) all.emplace_back(*entry);
    all.insert(all.end(), added.begin(), added.end());
    return all;
}

bool take(int& fd, std::string& text) {
    char piece[4096];
    const ssize_t n = read(fd, piece, sizeof piece);
    if (n > 0) {
        text.append(piece, std::size_t(n));
        return true;
    }
    close(fd);
    fd = -1;
    return false;
}

}  // namespace

int Outcome::lines_of_torus_run() const {
    return count("\n" + errors, "\ntorus-run: ");
}

std::vector<std::string> sorted_lines(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    std::sort(lines.begin(), lines.end());
    return lines;
}

int count(const std::string& text, const std::string& piece) {
    int found = 0;
    for (std::size_t at = 0; (at = text.find(piece, at)) != std::string::npos; at += piece.size())
        ++found;
    return found;
}

Process::Process(const std::vector<std::string>& command,
                 const std::vector<std::string>& environment)
    : started_(Clock::now()) {
    static int runs = 0;
    mark_ = fmt::format("LAUNCH_TEST_MARK={}.{}", getpid(), ++runs);
    std::vector<std::string> words = command, variables = environment_with(environment);
    variables.push_back(mark_);
    const std::vector<char*> argv = pointers(words), envp = pointers(variables);
    int in[2], out[2], err[2];
    REQUIRE(pipe2(in, O_CLOEXEC) == 0);
    REQUIRE(pipe2(out, O_CLOEXEC) == 0);
    REQUIRE(pipe2(err, O_CLOEXEC) == 0);
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        dup2(err[1], 2);
        execve(argv[0], argv.data(), envp.data());
        _exit(126);
    }
    close(in[0]);
    close(out[1]);
    close(err[1]);
    input_ = in[1];
    output_ = out[0];
    errors_ = err[0];
}

Process::~Process() {
    for (int tries = 0; tries < 100; ++tries) {
        const std::vector<pid_t> left = marked();
        if (left.empty()) break;
        for (const pid_t pid : left) kill(pid, SIGKILL);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (!reaped_) waitpid(pid_, &status_, 0);
    for (const int fd : {input_, output_, errors_})
        if (fd >= 0) close(fd);
}

void Process::type(const std::string& text) const {
    CHECK(write(input_, text.data(), text.size()) == ssize_t(text.size()));
}

void Process::close_input() {
    if (input_ >= 0) close(input_);
    input_ = -1;
}

void Process::collect(int milliseconds) {
    pollfd ready[2] = {{output_, POLLIN, 0}, {errors_, POLLIN, 0}};
    if (poll(ready, 2, milliseconds) <= 0) return;
    if (ready[0].revents) take(output_, output_text_);
    if (ready[1].revents) take(errors_, errors_text_);
}

bool Process::ended(bool block) {
    if (!reaped_) reaped_ = waitpid(pid_, &status_, block ? 0 : WNOHANG) == pid_;
    return reaped_;
}

bool Process::wait_for_output(const std::string& text, int times) {
    return wait_for(output_text_, text, times);
}

bool Process::wait_for_error(const std::string& text) {
    return wait_for(errors_text_, text, 1);
}

bool Process::wait_for(const std::string& collected, const std::string& text, int times) {
    while (count(collected, text) < times) {
        if (Clock::now() - started_ > hang_guard || (output_ < 0 && errors_ < 0)) return false;
        collect(100);
    }
    return true;
}

bool Process::wait_for_stop() {
    int status = 0;
    if (waitpid(pid_, &status, WUNTRACED) != pid_) return false;
    if (WIFSTOPPED(status)) return true;
    reaped_ = true;
    status_ = status;
    return false;
}

Outcome Process::wait() {
    while (output_ >= 0 || errors_ >= 0) {
        if (Clock::now() - started_ > hang_guard) {
            UNSCOPED_INFO("output so far: " << output_text_ << "\nerrors so far: " << errors_text_);
            FAIL("torus-run hangs");
        }
        collect(200);
    }
    ended(true);
    return {WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_), output_text_,
            errors_text_, std::chrono::duration<double>(Clock::now() - started_).count()};
}

std::vector<pid_t> Process::marked() const {
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const std::string name = entry.path().filename();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        // Names and values end with a zero byte each.
        const std::string environment = '\0' + read_file("/proc/" + name + "/environ");
        if (environment.find('\0' + mark_ + '\0') != std::string::npos)
            found.push_back(pid_t(std::stol(name)));
    }
    return found;
}

bool Process::all_gone() const {
    const auto end = Clock::now() + hang_guard;
    while (!marked().empty()) {
        if (Clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
}

std::vector<pid_t> Process::marked(const std::string& name, const std::string& variable) const {
    std::vector<pid_t> found;
    for (const pid_t pid : marked()) {
        const std::string environment = '\0' + read_file(fmt::format("/proc/{}/environ", pid));
        if (read_file(fmt::format("/proc/{}/comm", pid)) == name + "\n" &&
            environment.find('\0' + variable + '\0') != std::string::npos)
            found.push_back(pid);
    }
    return found;
}

bool wait_for_state(pid_t pid, char state) {
    const auto end = Clock::now() + hang_guard;
    while (Clock::now() < end) {
        const std::string stat = read_file(fmt::format("/proc/{}/stat", pid));
        const std::size_t name_end = stat.rfind(')');
        if (name_end == std::string::npos) return false;
        if (stat.size() > name_end + 2 && stat[name_end + 2] == state) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
}

pid_t Process::head() const {
    for (const pid_t pid : marked()) {
        const std::string stat = read_file(fmt::format("/proc/{}/stat", pid));
        const std::size_t name_end = stat.rfind(')');
        if (name_end == std::string::npos) continue;
        std::istringstream words(stat.substr(name_end + 1));
        char state = 0;
        pid_t parent = 0;
        words >> state >> parent;
        if (parent == pid_ && stat.find("(torus-daemon)") != std::string::npos) return pid;
    }
    return -1;
}

pid_t Process::daemon() const {
    for (const pid_t pid : marked())
        if (read_file(fmt::format("/proc/{}/comm", pid)) == "torus-daemon\n") return pid;
    return -1;
}

Outcome run(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
    Process process(command, environment);
    process.close_input();
    return process.wait();
}

}  // namespace torusmp::torus_run::test
