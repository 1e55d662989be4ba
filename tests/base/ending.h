// SPDX-License-Identifier: BSD-3-Clause
// Runs code that ends its process in a child, and returns how the child ended.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <functional>
#include <string>

namespace testing {

struct Ending {
    int status = 0;
    std::string text;  // on standard error
};

inline Ending ending_of(const std::function<void()>& act) {
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);  // Catch2 reports it otherwise
        dup2(ends[1], STDERR_FILENO);
        act();
        _exit(0);
    }
    close(ends[1]);
    Ending ending;
    std::array<char, 4096> some{};
    for (ssize_t got = 0; (got = read(ends[0], some.data(), some.size())) > 0;)
        ending.text.append(some.data(), std::size_t(got));
    close(ends[0]);
    REQUIRE(waitpid(child, &ending.status, 0) == child);
    return ending;
}

}  // namespace testing
