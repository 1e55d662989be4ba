// SPDX-License-Identifier: BSD-3-Clause
// Agents: their command lines, and the process with its pipes.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <sstream>

#include "base/descriptor.h"
#include "launch/agent.h"

namespace torusmp::torus_run {
namespace {

using Words = std::vector<std::string>;

// Everything until the end of the stream.
std::string read_all(int fd) {
    std::string text;
    char piece[256];
    while (true) {
        pollfd ready{fd, POLLIN, 0};
        REQUIRE(poll(&ready, 1, 60'000) == 1);
        const ssize_t n = read(fd, piece, sizeof piece);
        if (n == 0) return text;
        REQUIRE(n > 0);
        text.append(piece, std::size_t(n));
    }
}

// In a new session, with a terminal of that name or without: whether an agent is in the session
// that is expected, in a group of its own.
[[noreturn]] void start_agent_in_session(const char* terminal) {
    setsid();
    if (terminal != nullptr) {
        const int fd = open(terminal, O_RDWR);
        if (fd < 0 || ioctl(fd, TIOCSCTTY, 0) < 0) _exit(2);
    }
    launch::AgentProcess agent({"/bin/sh", "-c", "cat /proc/$$/stat"});
    std::string text;
    char piece[512];
    while (true) {
        pollfd ready{agent.output().get(), POLLIN, 0};
        poll(&ready, 1, 60'000);
        const ssize_t n = read(agent.output().get(), piece, sizeof piece);
        if (n <= 0) break;
        text.append(piece, std::size_t(n));
    }
    std::istringstream words(text);
    std::string name, state;
    pid_t pid = 0, parent = 0, group = 0, session = 0;
    words >> pid >> name >> state >> parent >> group >> session;
    const pid_t expected = terminal != nullptr ? agent.pid() : getpid();
    _exit(words && group == agent.pid() && session == expected ? 0 : 1);
}

// The exit code of what a child does in a new session.
int code_in_session(const char* terminal) {
    const pid_t child = fork();
    if (child == 0) start_agent_in_session(terminal);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("An agent's command line is split as by a shell, with quotes and backslashes removed") {
    CHECK(launch::split_words("ssh") == Words{"ssh"});
    CHECK(launch::split_words("  ssh -p  2222\t-4 ") == Words{"ssh", "-p", "2222", "-4"});
    CHECK(launch::split_words("a 'b c' \"d \\\" e\" f\\ g ''") ==
          Words{"a", "b c", "d \" e", "f g", ""});
    CHECK(launch::split_words("pre'fix one'd $HOME *") == Words{"prefix oned", "$HOME", "*"});
}

TEST_CASE("An agent without words, or with an open quote, is refused") {
    CHECK_THROWS_WITH(launch::split_words("  "),
                      Catch::Matchers::Contains("launch.agent is empty"));
    CHECK_THROWS_WITH(launch::split_words("ssh 'open"), Catch::Matchers::Contains("does not end"));
}

TEST_CASE("ssh gets a command that the shell of the other host splits into the same words") {
    CHECK(launch::agent_command("/usr/bin/ssh -p 22", "qcd001",
                                {"/opt/my tools/run", "--daemon", "it's"}) ==
          Words{"/usr/bin/ssh", "-x", "-T", "-o", "BatchMode=yes", "-p", "22", "qcd001",
                "'/opt/my tools/run'", "--daemon", "'it'\\''s'"});
}

TEST_CASE("Other agents get the command unchanged") {
    CHECK(launch::agent_command("ip netns exec", "t3", {"/opt/my tools/run", "a b", ""}) ==
          Words{"ip", "netns", "exec", "t3", "/opt/my tools/run", "a b", ""});
}

TEST_CASE("The host replaces its placeholder in the agent's command") {
    CHECK(launch::agent_command("nsenter --net=/run/netns/{host} --", "t3", {"run"}) ==
          Words{"nsenter", "--net=/run/netns/t3", "--", "run"});
}

TEST_CASE(
    "The address on the link replaces its placeholder, or the name does if no address is known") {
    CHECK(launch::agent_command("rexec -l {host} {address}", "t3", {"run"}, "fe80::1%eth1") ==
          Words{"rexec", "-l", "t3", "fe80::1%eth1", "run"});
    CHECK(launch::agent_command("rexec {address}", "t3", {"run"}) == Words{"rexec", "t3", "run"});
    CHECK(launch::wants_address("ssh {address}"));
    CHECK_FALSE(launch::wants_address("ssh"));
}

TEST_CASE("A quoted word comes out of a shell unchanged") {
    const std::string word = GENERATE(as<std::string>(), "plain", "", "a b", "it's", "$HOME `id`",
                                      "\"x\" \\ *", "~", "a\nb", "-n", ";|&<>(){}[]!#");
    launch::AgentProcess shell({"/bin/sh", "-c", "printf %s " + launch::quote_for_shell(word)});
    CHECK(read_all(shell.output().get()) == word);
}

TEST_CASE("An agent has pipes for its three streams, and its end shows on its descriptor") {
    launch::AgentProcess agent(
        {"/bin/sh", "-c", "read line; echo \"got $line\"; echo oops >&2; exit 7"});
    CHECK_FALSE(agent.end());
    REQUIRE(write(agent.input().get(), "word\n", 5) == 5);
    CHECK(read_all(agent.output().get()) == "got word\n");
    CHECK(read_all(agent.errors().get()) == "oops\n");
    pollfd ended{agent.process(), POLLIN, 0};
    REQUIRE(poll(&ended, 1, 60'000) == 1);
    REQUIRE(agent.end());
    CHECK(WEXITSTATUS(*agent.end()) == 7);
}

TEST_CASE("An agent that does not exist is named") {
    CHECK_THROWS_WITH(
        launch::AgentProcess({"torusmp-no-such-agent", "host"}),
        Catch::Matchers::Contains("cannot start the agent 'torusmp-no-such-agent': No such"));
}

TEST_CASE("An agent has a session of its own if torus-run has a terminal, and only then") {
    CHECK(code_in_session(nullptr) == 0);
    const base::Descriptor terminal(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    REQUIRE(terminal);
    REQUIRE(grantpt(terminal.get()) == 0);
    REQUIRE(unlockpt(terminal.get()) == 0);
    CHECK(code_in_session(ptsname(terminal.get())) == 0);
}

TEST_CASE("An agent is killed with its owner, and none of the owner's pipes leaks into another") {
    pid_t first = -1;
    {
        launch::AgentProcess agent({"sleep", "600"});
        first = agent.pid();
        CHECK(kill(first, 0) == 0);
        // Started later, it must not hold the other's input open.
        launch::AgentProcess other({"/bin/sh", "-c", "cat; echo end"});
        launch::AgentProcess third({"sleep", "600"});
        other.input().reset();
        CHECK(read_all(other.output().get()) == "end\n");
    }
    CHECK(kill(first, 0) == -1);
    CHECK(errno == ESRCH);
}

}  // namespace torusmp::torus_run
