// SPDX-License-Identifier: BSD-3-Clause
// Ranks, daemons and hosts that die or stop in a job over several hosts.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>

#include "cluster.h"

namespace torusmp::torus_run::test::host_deaths_test {

TEST_CASE("A rank that is stopped for longer than the timeout is named and ends the job") {
    const Cluster cluster("[2]", {"qa", "qb"});
    SECTION("as itself") {
        Process process(cluster.job({"connect", "1:kill=19", "sleep"}, {"--set", short_timeout}));
        const Outcome outcome = process.wait();
        INFO(outcome.errors);
        CHECK(outcome.code == 128 + SIGSTOP);
        CHECK_CONTAINS(outcome.errors, "torus-run: rank 1 (host qb, pid ");
        CHECK_CONTAINS(outcome.errors,
                       "has been stopped by SIGSTOP (Stopped (signal)) for longer than "
                       "transport.timeout = 2s; the job is ended");
        CHECK(process.all_gone());
    }
    SECTION("under a wrapper") {
        Process process(cluster.start(
            {"/bin/sh", "-c", rank_program + " connect barrier 1:kill=19 sleep; true"},
            {"--set", short_timeout}));
        const Outcome outcome = process.wait();
        INFO(outcome.errors);
        CHECK(outcome.code == 128 + SIGSTOP);
        CHECK_CONTAINS(outcome.errors, "rank 1 (host qb, pid ");
        CHECK(process.all_gone());
    }
}

TEST_CASE("A rank that is stopped and continued before the timeout is not harmed") {
    const Cluster cluster("[2]", {"qa", "qb"});
    const std::string go = cluster.folder().file("go");
    Process process(cluster.job({"connect", "print=ready", "wait-for=" + go, "barrier", "finalize"},
                                {"--set", "transport.timeout=60s"}));
    REQUIRE(process.wait_for_output("ready\n", 2));
    const pid_t rank = rank_of(process, "qb");
    kill(rank, SIGSTOP);
    REQUIRE(wait_for_state(rank, 'T'));
    kill(rank, SIGCONT);
    cluster.folder().write("go", "");
    const Outcome outcome = process.wait();
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
}

TEST_CASE(
    "If any part of torus-run on any host is killed, all processes end and the host is named") {
    struct Case {
        std::string name;
        std::function<pid_t(const Process&)> victim;
        std::string expected;
    };
    const Case cases[] = {
        {"the daemon of a host", [](const Process& p) { return daemon_of(p, "qb"); },
         "host qb (node 1, rank 1) is lost: its agent 'agent' "},
        {"the front of a host", [](const Process& p) { return guard_of(p, "qb"); },
         "host qb (node 1, rank 1) is lost: its agent 'agent' was killed by SIGKILL"},
        {"a rank", [](const Process& p) { return rank_of(p, "qb"); }, "rank 1 (host qb, pid "},
        {"torus-run", [](const Process& p) { return p.pid(); }, ""},
        {"the head", [](const Process& p) { return p.head(); }, "its daemon process"},
    };
    for (const Case& killed : cases) {
        INFO(killed.name);
        const Cluster cluster("[3]", {"qa", "qb", "localhost"});
        Process process(cluster.job({"connect", "spawn-orphan", "print=ready", "sleep"}));
        REQUIRE(process.wait_for_output("ready\n", 3));
        kill(killed.victim(process), SIGKILL);
        CHECK(process.all_gone());
        const Outcome outcome = process.wait();
        CHECK(outcome.code != 0);
        CHECK_CONTAINS(outcome.errors, killed.expected);
        CHECK(outcome.lines_of_torus_run() == (killed.expected.empty() ? 0 : 1));
        CHECK(count(outcome.errors, "the job is ended") == (killed.expected.empty() ? 0 : 1));
    }
}

TEST_CASE("A stopped daemon is detected by its silence, and the whole job ends") {
    const Cluster cluster("[2]", {"qa", "qb"});
    Process process(
        cluster.job({"connect", "spawn-orphan", "print=ready", "sleep"}, {"--set", short_timeout}));
    REQUIRE(process.wait_for_output("ready\n", 2));
    SECTION("on another host") {
        kill(daemon_of(process, "qb"), SIGSTOP);
        CHECK(process.all_gone());
        const Outcome outcome = process.wait();
        INFO(outcome.errors);
        CHECK(outcome.code != 0);
        CHECK_CONTAINS(outcome.errors, "host qb (node 1, rank 1) is lost: ");
        CHECK(outcome.lines_of_torus_run() == 1);
    }
    SECTION("at the head, whose hosts then end by themselves") {
        const pid_t head = process.head();
        kill(head, SIGSTOP);
        const auto end = std::chrono::steady_clock::now() + hang_guard;
        while (!process.marked("torus-daemon", "FAKE_HOST=qa").empty() &&
               std::chrono::steady_clock::now() < end)
            usleep(10'000);
        CHECK(process.marked("torus-daemon", "FAKE_HOST=qa").empty());
        kill(head, SIGCONT);
        CHECK(process.all_gone());
        const Outcome outcome = process.wait();
        INFO(outcome.errors);
        CHECK(outcome.code != 0);
        CHECK_CONTAINS(outcome.errors,
                       fmt::format("torus-run: its daemon process (pid {}) is stopped by SIGSTOP "
                                   "(Stopped (signal)): ",
                                   head));
        CHECK_CONTAINS(outcome.errors,
                       "resumes it (within transport.timeout = 2s, after which the other hosts "
                       "end");
        CHECK_CONTAINS(outcome.errors,
                       fmt::format("gave up on torus-run: the daemon process on this host (pid {}) "
                                   "did not run for ",
                                   head));
        CHECK(outcome.lines_of_torus_run() == 2);
    }
}

TEST_CASE("A job that is stopped as a whole for longer than the timeout continues") {
    const Cluster cluster("[2]", {"qa", "localhost"});
    const std::string go = cluster.folder().file("go");
    Process process(cluster.job({"connect", "print=ready", "wait-for=" + go, "barrier", "finalize"},
                                {"--set", short_timeout}));
    REQUIRE(process.wait_for_output("ready\n", 2));
    // Each daemon before the process that watches it, which goes on first.
    std::vector<pid_t> order{process.head(), daemon_of(process, "qa")};
    for (const pid_t pid : process.marked())
        if (std::find(order.begin(), order.end(), pid) == order.end()) order.push_back(pid);
    for (const pid_t pid : order) {
        kill(pid, SIGSTOP);
        REQUIRE(wait_for_state(pid, 'T'));
        usleep(50'000);  // until its parent knows
    }
    sleep(3);  // longer than the timeout: the test is that nothing happens
    std::reverse(order.begin(), order.end());
    for (const pid_t pid : order) {
        kill(pid, SIGCONT);
        usleep(50'000);
    }
    cluster.folder().write("go", "");
    const Outcome outcome = process.wait();
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
    CHECK(outcome.errors.empty());
}

TEST_CASE("Ranks that watch get the rank, host and cause of a death before the job ends") {
    const Cluster cluster("[3]", {"qa", "qb", "localhost"});
    const Outcome outcome = run(cluster.job(
        {"connect", "watch", "barrier", "1:kill=9", "deaths=1", "abort=9,lost my neighbour"}));
    INFO(outcome.errors);
    CHECK(outcome.code == 128 + SIGKILL);
    CHECK(outcome.output ==
          "rank 1 on qb was killed by SIGKILL (Killed)\n"
          "rank 1 on qb was killed by SIGKILL (Killed)\n");
    CHECK_CONTAINS(outcome.errors, "rank 1 (host qb, pid ");
    CHECK(count(outcome.errors, "): lost my neighbour") == 2);
}

TEST_CASE("With --keep-going the others go on when a rank dies, and exchange data without it") {
    const Cluster cluster("[3]", {"qa", "qb", "localhost"});
    const Outcome outcome = run(cluster.job({"connect", "watch", "barrier", "1:kill=9", "deaths=1",
                                             "barrier", "exchange-living", "finalize"},
                                            {"--keep-going"}));
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
    CHECK(count(outcome.output, "rank 1 on qb was killed by SIGKILL (Killed)\n") == 2);
    CHECK(count(outcome.output, "living 0 2\n") == 2);
    CHECK_CONTAINS(outcome.errors, "was killed by SIGKILL (Killed); the other ranks continue");
    CHECK(outcome.lines_of_torus_run() == 1);
}

TEST_CASE("With --keep-going the ranks that end by themselves decide the exit code") {
    const auto code_of = [](const std::string& script) {
        return run({torus_run, "--keep-going", "-np", "3", "/bin/sh", "-c", script}).code;
    };
    CHECK(code_of("test $TORUSMP_RANK != 1 || kill -9 $$") == 0);
    CHECK(code_of("test $TORUSMP_RANK != 1 || kill -9 $$; sleep 0.2; exit 3") == 3);
    CHECK(code_of("test $TORUSMP_RANK != 1 || exit 4; sleep 0.2") == 4);
    CHECK(code_of("kill -9 $$") == 128 + SIGKILL);
}

TEST_CASE(
    "With --keep-going the others go on without a host that is lost or a rank that is stopped") {
    const Cluster cluster("[3]", {"qa", "qb", "localhost"}, "ranks_per_node = [2]");
    Process process(cluster.job(
        {"connect", "watch", "print=ready", "deaths=3", "barrier", "exchange-living", "finalize"},
        {"--keep-going", "--set", short_timeout}));
    REQUIRE(process.wait_for_output("ready\n", 6));
    kill(daemon_of(process, "qb"), SIGKILL);
    const auto ranks =
        process.marked(std::string("launch_rank_program").substr(0, 15), "TORUSMP_RANK=1");
    kill(only(ranks), SIGSTOP);
    const Outcome outcome = process.wait();
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
    CHECK(count(outcome.output, "rank 1 on qa has been stopped by SIGSTOP") == 3);
    CHECK(count(outcome.output, "rank 2 on qb is lost because its host is lost: ") == 3);
    CHECK(count(outcome.output, "rank 3 on qb is lost because its host is lost: ") == 3);
    CHECK(count(outcome.output, "living 0 4 5\n") == 3);
    CHECK(process.all_gone());
}

}  // namespace torusmp::torus_run::test::host_deaths_test
