// SPDX-License-Identifier: BSD-3-Clause
#include "bench/figures/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

#include "base/descriptor.h"

extern char** environ;

namespace torusmp::bench {
namespace {

std::atomic<pid_t> running = 0;

// A signal that ends the report also ends the program that it runs.
extern "C" void end_with_child(int signal) {
    if (const pid_t child = running; child > 0) kill(child, SIGTERM);
    _exit(128 + signal);
}

}  // namespace

// The pipe reaches its end when all processes of the program are gone.
Ended run_program_whole(std::vector<std::string> words) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe");
    const base::Descriptor out(ends[0]);
    base::Descriptor in(ends[1]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    pid_t child = 0;
    const int failed =
        posix_spawnp(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0)
        return {1, fmt::format("cannot start {}: {}", words[0], std::strerror(failed))};
    in.reset();
    running = child;
    Ended ended;
    char piece[4096];
    for (;;) {
        const ssize_t got = read(out.get(), piece, sizeof piece);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        ended.text.append(piece, std::size_t(got));
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    running = 0;
    ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return ended;
}

void end_children_with_us() {
    struct sigaction action {};
    action.sa_handler = end_with_child;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

}  // namespace torusmp::bench
