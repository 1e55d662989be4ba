// SPDX-License-Identifier: BSD-3-Clause
// torus-run on a terminal: a pseudo-terminal is the controlling terminal of a session made for it.
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <string>

#include "process.h"

namespace torusmp::torus_run::test {
namespace {

// The session's leader: opens the terminal, starts torus-run in a group of its own, and passes on
// how it ended: the exit code, or 200 if it was stopped.
constexpr int was_stopped = 200;

[[noreturn]] void lead_session(const char* terminal, bool foreground, const char* step) {
    setsid();
    const int fd = open(terminal, O_RDWR);
    if (fd < 0 || ioctl(fd, TIOCSCTTY, 0) < 0) _exit(210);
    for (int i = 0; i < 3; ++i) dup2(fd, i);
    signal(SIGTTOU, SIG_IGN);
    const pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        if (foreground) tcsetpgrp(0, getpid());
        signal(SIGTTOU, SIG_DFL);
        execl(TORUS_RUN, TORUS_RUN, "-np", "2", RANK_PROGRAM, step, nullptr);
        _exit(211);
    }
    int status = 0;
    waitpid(child, &status, WUNTRACED);
    if (WIFSTOPPED(status)) {
        kill(-child, SIGKILL);
        _exit(was_stopped);
    }
    _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

class Terminal {
  public:
    Terminal(bool foreground, const char* step)
        : master_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
        REQUIRE(master_ >= 0);
        REQUIRE(grantpt(master_) == 0);
        REQUIRE(unlockpt(master_) == 0);
        const std::string name = ptsname(master_);
        // Held open, so that output is kept until it is read.
        slave_ = open(name.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
        leader_ = fork();
        REQUIRE(leader_ >= 0);
        if (leader_ == 0) lead_session(name.c_str(), foreground, step);
    }
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;
    ~Terminal() {
        close(slave_);
        close(master_);  // a hangup: whoever is left in the session gets SIGHUP
        if (leader_ > 0) {
            kill(leader_, SIGKILL);
            waitpid(leader_, nullptr, 0);
        }
    }

    void type(const std::string& text) const {
        REQUIRE(write(master_, text.data(), text.size()) == ssize_t(text.size()));
    }

    // The exit code of torus-run; what it wrote is in `text`.
    int wait(std::string& text) {
        const auto end = std::chrono::steady_clock::now() + hang_guard;
        int status = 0;
        while (waitpid(leader_, &status, WNOHANG) == 0) {
            REQUIRE(std::chrono::steady_clock::now() < end);
            read_some(text, 20);
        }
        leader_ = -1;
        while (read_some(text, 0)) continue;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

    bool wait_for(const std::string& word, int times, std::string& text) const {
        const auto end = std::chrono::steady_clock::now() + hang_guard;
        while (count(text, word) < times && std::chrono::steady_clock::now() < end)
            read_some(text, 50);
        return count(text, word) >= times;
    }

  private:
    bool read_some(std::string& text, int milliseconds) const {
        pollfd ready{master_, POLLIN, 0};
        if (poll(&ready, 1, milliseconds) <= 0) return false;
        char piece[1024];
        const ssize_t n = read(master_, piece, sizeof piece);
        if (n > 0) text.append(piece, std::size_t(n));
        return n > 0;
    }

    int master_, slave_ = -1;
    pid_t leader_ = -1;
};

}  // namespace

TEST_CASE("Input typed on a terminal reaches rank 0") {
    Terminal terminal(true, "echo");
    terminal.type("hello\n\x04");
    std::string text;
    CHECK(terminal.wait(text) == 0);
    INFO(text);
    CHECK(count(text, "in: hello") == 1);
}

TEST_CASE("In the background torus-run is not stopped by its terminal's input") {
    Terminal terminal(false, "print=done");
    terminal.type("for the shell\n");
    std::string text;
    CHECK(terminal.wait(text) == 0);
    INFO(text);
    CHECK(count(text, "done") == 2);
}

TEST_CASE("The interrupt key reaches every rank once") {
    Terminal terminal(true, "trap=2,interrupted");
    std::string text;
    REQUIRE(terminal.wait_for("ready", 2, text));
    terminal.type("\x03");
    CHECK(terminal.wait(text) == 0);
    INFO(text);
    CHECK(count(text, "interrupted") == 2);
}

}  // namespace torusmp::torus_run::test
