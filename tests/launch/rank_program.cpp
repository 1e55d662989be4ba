// SPDX-License-Identifier: BSD-3-Clause
// A rank for the tests of torus-run. It takes the steps in its arguments in order. Only rank RANK
// takes the step "RANK:step".
//
//   connect exchange exchange-large barrier finalize    the bootstrap's calls, results checked
//   print=TEXT error=TEXT        prints a line to standard output, standard error
//   note=TEXT                    an observation, which the launcher may replace by its own
//   echo                         prints standard input, with "in: " before each line
//   exit=CODE kill=SIGNAL abort=CODE,TEXT
//   sleep                        sleeps ten minutes, far longer than any test waits
//   trap=SIGNAL,TEXT             catches the signal, prints TEXT and ends orderly
//   wait-for=FILE touch=FILE     meeting points with the test
//   half-end=FILE                writes its pid to FILE; its main thread ends, another one lives
//                                for 0.3 s: the process has closed its descriptors but exists
//   await-half-end=FILE          waits for the half-end of another rank
//   eat=MEBIBYTES                touches so much memory
//   spawn-orphan                 leaves a grandchild in a session of its own, asleep
//   system=COMMAND               runs COMMAND in a shell
//   report                       prints name, rank, size and local ranks
//   dead-cables                  prints the cables that the launcher reported as dead
//   link=DIRECTION,PEER,STATE,WHY,HOPS   a report of a link; STATE and HOPS (DIRECTION RANK ...) as
//                                numbers
//   watch                        asks to be notified of deaths
//   deaths=N                     waits until N ranks are dead and prints each
//   exchange-living              an exchange in which dead ranks have no part
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

#include "launch/bootstrap.h"

namespace {

using torusmp::launch::Bootstrap;

std::unique_ptr<Bootstrap> bootstrap;
volatile sig_atomic_t caught = 0;

[[noreturn]] void fail(const std::string& what) {
    fmt::print(stderr, "rank_program: {}\n", what);
    std::exit(70);
}

Bootstrap& joined() {
    if (!bootstrap) fail("this step needs connect before it");
    return *bootstrap;
}

// The contribution of a rank: r+1 numbers (many more in the large variant) that depend on the rank.
std::vector<std::byte> contribution(int rank, std::size_t factor) {
    std::vector<std::byte> bytes(std::size_t(rank) * factor);
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = std::byte((rank * 31 + int(i)) & 0xff);
    return bytes;
}

void exchange(std::size_t factor) {
    const auto everyone = joined().exchange(contribution(joined().rank(), factor));
    if (int(everyone.size()) != joined().size()) fail("exchange gave the wrong number of ranks");
    for (int rank = 0; rank < joined().size(); ++rank)
        if (everyone[std::size_t(rank)] != contribution(rank, factor))
            fail(fmt::format("exchange gave wrong bytes for rank {}", rank));
    // All hold the same secret.
    const auto secret = joined().secret();
    for (const auto& theirs : joined().exchange(secret))
        if (!std::equal(theirs.begin(), theirs.end(), secret.begin(), secret.end()))
            fail("the secrets differ");
}

void exchange_living() {
    const auto mine = contribution(joined().rank() + 1, 1);
    std::string living;
    const auto everyone = joined().exchange(mine);
    for (std::size_t rank = 0; rank < everyone.size(); ++rank)
        if (!everyone[rank].empty()) living += fmt::format(" {}", rank);
    fmt::print("living{}\n", living);
    std::fflush(stdout);
}

void deaths(int wanted) {
    std::vector<torusmp::launch::Death> dead;
    while (int(dead.size()) < wanted) {
        pollfd notice{joined().deaths_descriptor(), POLLIN, 0};
        poll(&notice, 1, -1);
        for (auto& death : joined().deaths()) dead.push_back(death);
        if (notice.revents & POLLHUP) break;
    }
    std::sort(dead.begin(), dead.end(),
              [](const auto& a, const auto& b) { return a.rank < b.rank; });
    for (const auto& death : dead)
        fmt::print("rank {} on {} {}\n", death.rank, death.host, death.cause);
    std::fflush(stdout);
}

void report() {
    std::string local;
    for (const int rank : joined().local_ranks()) local += fmt::format(" {}", rank);
    fmt::print("{} rank {} of {}, local{}\n", joined().name(), joined().rank(), joined().size(),
               local);
    std::fflush(stdout);
}

void dead_cables() {
    std::string text;
    for (const auto& cable : joined().dead_cables())
        text += fmt::format(" {}:{}+", cable.rank, cable.dimension);
    fmt::print("dead cables of rank {}:{}\n", joined().rank(), text.empty() ? " none" : text);
    std::fflush(stdout);
}

void report_link(const std::string& value) {
    using torusmp::routing::Direction;
    std::istringstream words(value);
    int direction = 0, state = 0, rank = 0;
    char comma = 0;
    torusmp::routing::LinkNews report;
    words >> direction >> comma >> report.peer >> comma >> state >> comma;
    std::getline(words, report.why, ',');
    report.direction = Direction::from_index(direction);
    report.state = torusmp::routing::LinkNews::State(state);
    while (words >> direction >> rank)
        report.path.push_back({Direction::from_index(direction), rank});
    joined().report_link(report);
}

void echo() {
    for (std::string line; std::getline(std::cin, line);) fmt::print("in: {}\n", line);
    std::fflush(stdout);
}

void spawn_orphan() {
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            sleep(600);
            _exit(0);
        }
        _exit(0);
    }
    wait(nullptr);
}

void trap(const std::string& value) {
    const std::size_t comma = value.find(',');
    const int signal_number = std::atoi(value.c_str());
    struct sigaction action {};
    action.sa_handler = [](int) { caught = 1; };
    sigset_t block, before;
    sigemptyset(&block);
    sigaddset(&block, signal_number);
    sigprocmask(SIG_BLOCK, &block, &before);
    sigaction(signal_number, &action, nullptr);
    fmt::print("ready\n");
    std::fflush(stdout);
    while (!caught) sigsuspend(&before);
    fmt::print("{}\n", value.substr(comma + 1));
    std::fflush(stdout);
}

void eat(const std::string& mebibytes) {
    constexpr std::size_t piece = std::size_t(1) << 20;
    for (int i = 0; i < std::atoi(mebibytes.c_str()); ++i) {
        char* const memory = static_cast<char*>(std::malloc(piece));
        if (memory == nullptr) fail("malloc");
        for (std::size_t at = 0; at < piece; at += 4096)
            static_cast<volatile char*>(memory)[at] = 1;
    }
}

void half_end(const std::string& file) {
    std::thread([] {
        usleep(300'000);
        _exit(0);
    }).detach();
    const std::string written = file + ".new";
    FILE* const out = std::fopen(written.c_str(), "w");
    if (out == nullptr) fail("fopen");
    fmt::print(out, "{}\n", getpid());
    std::fclose(out);
    rename(written.c_str(), file.c_str());
    syscall(SYS_exit, 0);
}

void wait_for(const std::string& file) {
    struct stat info {};
    while (stat(file.c_str(), &info) != 0) usleep(2000);
}

void await_half_end(const std::string& file) {
    wait_for(file);
    int pid = 0;
    FILE* const in = std::fopen(file.c_str(), "r");
    if (in == nullptr || std::fscanf(in, "%d", &pid) != 1) fail("no pid in " + file);
    std::fclose(in);
    struct stat info {};
    while (stat(fmt::format("/proc/{}/fd/0", pid).c_str(), &info) == 0) usleep(500);
}

const std::map<std::string, std::function<void(const std::string&)>> steps = {
    {"connect",
     [](const std::string&) {
         try {
             bootstrap = torusmp::launch::connect_bootstrap();
         } catch (const torusmp::launch::BootstrapError& error) {
             fail(error.what());
         }
     }},
    {"exchange", [](const std::string&) { exchange(1); }},
    {"exchange-large", [](const std::string&) { exchange(40'000); }},
    {"barrier", [](const std::string&) { joined().barrier(); }},
    {"finalize", [](const std::string&) { joined().finalize(); }},
    {"watch", [](const std::string&) { joined().deaths(); }},
    {"deaths", [](const std::string& count) { deaths(std::atoi(count.c_str())); }},
    {"exchange-living", [](const std::string&) { exchange_living(); }},
    {"report", [](const std::string&) { report(); }},
    {"dead-cables", [](const std::string&) { dead_cables(); }},
    {"link", report_link},
    {"print",
     [](const std::string& text) {
         fmt::print("{}\n", text);
         std::fflush(stdout);
     }},
    {"part",
     [](const std::string& text) {
         fmt::print("{}", text);
         std::fflush(stdout);
     }},
    {"error", [](const std::string& text) { fmt::print(stderr, "{}\n", text); }},
    {"note", [](const std::string& text) { joined().note(text); }},
    {"echo", [](const std::string&) { echo(); }},
    {"exit", [](const std::string& code) { _exit(std::atoi(code.c_str())); }},
    {"kill",
     [](const std::string& number) {
         signal(std::atoi(number.c_str()), SIG_DFL);  // a sanitizer may have taken it
         kill(getpid(), std::atoi(number.c_str()));
     }},
    {"abort",
     [](const std::string& value) {
         joined().abort(std::atoi(value.c_str()), value.substr(value.find(',') + 1));
     }},
    {"sleep",
     [](const std::string&) {
         for (unsigned left = 600; left > 0;) left = sleep(left);
     }},
    {"trap", trap},
    {"touch", [](const std::string& file) { close(open(file.c_str(), O_CREAT | O_WRONLY, 0600)); }},
    {"wait-for", wait_for},
    {"half-end", half_end},
    {"await-half-end", await_half_end},
    {"eat", eat},
    {"spawn-orphan", [](const std::string&) { spawn_orphan(); }},
    {"system",
     [](const std::string& command) {
         if (const int status = std::system(command.c_str()); status != 0)
             fail(fmt::format("'{}' gave status {}", command, status));
     }},
};

// Nothing where the step is for another rank.
std::string for_this_rank(const std::string& word) {
    const std::size_t colon = word.find(':');
    if (colon == std::string::npos || word.find_first_not_of("0123456789") != colon) return word;
    const char* rank = bootstrap ? nullptr : std::getenv("TORUSMP_RANK");
    const int mine = bootstrap ? bootstrap->rank() : rank ? std::atoi(rank) : 0;
    return std::atoi(word.c_str()) == mine ? word.substr(colon + 1) : std::string();
}

}  // namespace

int main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        const std::string word = for_this_rank(argv[i]);
        if (word.empty()) continue;
        const std::size_t equals = word.find('=');
        const auto step = steps.find(word.substr(0, equals));
        if (step == steps.end()) fail(fmt::format("unknown step '{}'", word));
        try {
            step->second(equals == std::string::npos ? std::string() : word.substr(equals + 1));
        } catch (const torusmp::launch::BootstrapError& error) {
            fail(error.what());
        }
    }
    return 0;
}
