// SPDX-License-Identifier: BSD-3-Clause
// The end of a job by a failure, a timeout or a signal. Nothing of the job must remain.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "folder.h"
#include "local_job.h"
#include "process.h"
#include "programs.h"

namespace torusmp::torus_run::test::job_end_test {

// ---- the end ----

TEST_CASE("The first failing rank's exit code is the job's, and is reported once") {
    const Outcome outcome = run(job(4, {"connect", "barrier", "2:exit=5", "sleep"}));
    CHECK(outcome.code == 5);
    CHECK_CONTAINS(outcome.errors, "torus-run: rank 2 (host ");
    CHECK_CONTAINS(outcome.errors, "exited with code 5");
    CHECK(outcome.lines_of_torus_run() == 1);
    CHECK(outcome.seconds < hang_guard.count());
}

TEST_CASE("A rank killed by a signal ends the job, and the signal is named") {
    const Outcome outcome = run(job(3, {"connect", "1:kill=11", "barrier", "finalize"}));
    CHECK(outcome.code == 128 + SIGSEGV);
    CHECK_CONTAINS(outcome.errors, "rank 1 (host ");
    CHECK_CONTAINS(outcome.errors, "was killed by SIGSEGV (Segmentation fault)");
    CHECK(outcome.lines_of_torus_run() == 1);
    CHECK(count(outcome.errors, "\n") == 1);  // and no rank that waited for it reports it again
}

TEST_CASE("A note of a rank is reported if the job goes on, and not repeated if the job ends") {
    SECTION("it ends") {
        const Outcome outcome =
            run(job(3, {"connect", "note=the link is dead", "barrier", "1:exit=3", "sleep"}));
        CHECK(outcome.code == 3);
        CHECK_CONTAINS(outcome.errors, "rank 1 (host ");
        CHECK(count(outcome.errors, "\n") == 1);
    }
    SECTION("it goes on") {
        Process process(job(2, {"connect", "1:note=the link is\ndead", "echo", "finalize"}));
        CHECK(process.wait_for_error(") reports: the link is\\x0adead\n"));
        process.close_input();
        const Outcome outcome = process.wait();
        INFO(outcome.errors);
        CHECK(outcome.code == 0);
        CHECK(outcome.lines_of_torus_run() == 1);
        CHECK_CONTAINS(outcome.errors, "torus-run: rank 1 (host ");
    }
    SECTION("without a launcher") {
        CHECK(run({rank_program, "connect", "note=alone"}).errors == "alone\n");
    }
}

TEST_CASE("A rank that never connected ends the job too when it fails") {
    const Outcome outcome = run(job(3, {"1:exit=9", "connect", "sleep"}));
    CHECK(outcome.code == 9);
    CHECK_CONTAINS(outcome.errors, "rank 1");
}

TEST_CASE("Ranks that ignore SIGTERM are killed when another has failed") {
    const Outcome outcome = run(
        script(3, "if [ $TORUSMP_RANK = 1 ]; then exit 3; fi; trap '' TERM; sleep 600; sleep 600"));
    CHECK(outcome.code == 3);
    CHECK(outcome.seconds < 30);
}

TEST_CASE("Ranks get SIGTERM and time to tidy up when another has failed") {
    TemporaryFolder folder;
    const std::string ready = folder.file("ready");
    const Outcome outcome = run(script(
        2, fmt::format("if [ $TORUSMP_RANK = 1 ]; then $P wait-for={0}; exit 3; fi; "
                       "trap 'echo tidy; exit 0' TERM; $P touch={0}; while :; do sleep 0.05; done",
                       ready)));
    CHECK(outcome.code == 3);
    CHECK(outcome.output == "tidy\n");
}

TEST_CASE("abort() sets the exit code, and its text is printed with the rank") {
    const Outcome outcome =
        run(job(4, {"connect", "barrier", "3:abort=42,no convergence", "sleep"}));
    CHECK(outcome.code == 42);
    CHECK_CONTAINS(outcome.errors, "torus-run: rank 3 (host ");
    CHECK_CONTAINS(outcome.errors, "aborted with code 42: no convergence");
    CHECK(outcome.lines_of_torus_run() == 1);
}

TEST_CASE("An exit without finalize is a failure, even with exit code 0") {
    const Outcome outcome = run(job(3, {"connect", "barrier", "2:exit=0", "sleep"}));
    CHECK(outcome.code == 1);
    CHECK_CONTAINS(outcome.errors, "rank 2");
    CHECK_CONTAINS(outcome.errors, "exited with code 0 without MPI_Finalize or QMP_finalize");
}

TEST_CASE("A rank that notices the end of another one before torus-run is not the cause") {
    const TemporaryFolder folder;
    const std::string pid = folder.file("pid");
    const Outcome outcome = run(job(2, {"connect", "barrier", "1:half-end=" + pid,
                                        "0:await-half-end=" + pid, "abort=7,rank 1 is gone"}));
    INFO(outcome.errors);
    CHECK(outcome.code == 1);
    CHECK_CONTAINS(outcome.errors, "rank 1 (host ");
    CHECK_CONTAINS(outcome.errors,
                   "exited with code 0 without MPI_Finalize or QMP_finalize_msg_passing");
    CHECK(outcome.lines_of_torus_run() == 1);
    CHECK(count(outcome.errors, "\n") == 1);
}

TEST_CASE("A rank that dies under a shell script is noticed while the script lives on") {
    const Outcome outcome = run(script(2,
                                       "if [ $TORUSMP_RANK = 1 ]; then $P connect kill=9; sleep "
                                       "60; fi; $P connect barrier finalize"));
    CHECK(outcome.code == 1);
    CHECK_CONTAINS(outcome.errors, "rank 1");
    CHECK_CONTAINS(outcome.errors, "under the wrapper");
}

TEST_CASE("Waiting for a rank that has finalized is reported and does not hang") {
    const Outcome outcome = run(job(3, {"connect", "2:finalize", "2:sleep", "barrier"}));
    CHECK(outcome.code == 1);
    CHECK_CONTAINS(outcome.errors, "rank 2");
    CHECK_CONTAINS(outcome.errors, "has left the job while rank");
    CHECK_CONTAINS(outcome.errors, "waits in the barrier at the start or the end");
}

TEST_CASE("Waiting for a rank that ended without connecting is reported and does not hang") {
    const Outcome outcome = run(job(3, {"1:exit=0", "connect", "exchange", "finalize"}));
    CHECK(outcome.code == 1);
    CHECK_CONTAINS(outcome.errors, "rank 1");
    CHECK_CONTAINS(outcome.errors, "ended without connecting while rank");
}

TEST_CASE("Ranks in different collective calls are reported and do not hang") {
    const Outcome outcome = run(job(2, {"connect", "0:barrier", "1:exchange", "finalize"}));
    CHECK(outcome.code == 1);
    CHECK_CONTAINS(outcome.errors, "the barrier at the start or the end of the job");
    CHECK_CONTAINS(outcome.errors, "MPI_Init or QMP_init_msg_passing");
}

TEST_CASE("Two processes cannot both be one rank") {
    const Outcome outcome = run(script(1, "$P connect sleep & $P connect sleep"));
    CHECK(outcome.code == 1);
    CHECK_CONTAINS(outcome.errors, "only one of the processes");
}

TEST_CASE("A process that connects twice gets an error") {
    const Outcome outcome = run(job(1, {"connect", "connect"}));
    CHECK(outcome.code == 70);
    CHECK_CONTAINS(outcome.errors, "a second time");
}

TEST_CASE("A timeout ends the job and names the ranks that were still running") {
    const Outcome outcome =
        run(job(3, {"connect", "1:finalize", "1:exit=0", "sleep"}, {"--timeout", "0.5"}));
    CHECK(outcome.code == 124);
    CHECK_CONTAINS(outcome.errors, "--timeout of 0.5 s");
}

// ---- signals ----

TEST_CASE("Signals are passed on to every rank") {
    const int signal = GENERATE(SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2);
    Process process(job(3, {"connect", fmt::format("trap={},caught it", signal), "finalize"}));
    REQUIRE(process.wait_for_output("ready\n", 3));
    process.send(signal);
    const Outcome outcome = process.wait();
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
    CHECK(count(outcome.output, "caught it\n") == 3);
}

TEST_CASE("A signal that the ranks do not catch is the cause of the job's end") {
    const Words options = GENERATE(Words(), Words{"--keep-going"});
    Process process(job(2, {"connect", "print=ready", "sleep"}, options));
    REQUIRE(process.wait_for_output("ready\n", 2));
    process.send(SIGINT);
    const Outcome outcome = process.wait();
    CHECK(outcome.code == 128 + SIGINT);
    CHECK_CONTAINS(outcome.errors, "was ended by SIGINT (Interrupt), passed on by torus-run");
    CHECK(outcome.lines_of_torus_run() == 1);
}

TEST_CASE("A second SIGINT kills ranks that ignore the first") {
    Process process(script(2, "trap '' INT TERM; echo ready; sleep 600"));
    REQUIRE(process.wait_for_output("ready\n", 2));
    process.send(SIGINT);
    // The second must not merge with the first: wait until that one is taken.
    usleep(100'000);
    process.send(SIGINT);
    const Outcome outcome = process.wait();
    CHECK(outcome.code == 128 + SIGINT);
    CHECK_CONTAINS(outcome.errors, "a second SIGINT");
    CHECK(process.all_gone());
}

TEST_CASE("SIGTSTP stops torus-run and its ranks, SIGCONT continues them") {
    Process process(job(2, {"connect", fmt::format("trap={},stopping", SIGTSTP),
                            fmt::format("trap={},woken", SIGCONT), "finalize",
                            // At once: the leak checker stops the process in its own way, and a
                            // SIGCONT meanwhile leaves it hanging.
                            "exit=0"}));
    REQUIRE(process.wait_for_output("ready\n", 2));
    process.send(SIGTSTP);
    REQUIRE(process.wait_for_stop());
    REQUIRE(process.wait_for_output("ready\n", 4));
    process.send(SIGCONT);
    const Outcome outcome = process.wait();
    CHECK(outcome.code == 0);
    CHECK(count(outcome.output, "stopping\n") == 2);
    CHECK(count(outcome.output, "woken\n") == 2);
}

TEST_CASE("A stopped daemon is reported with the remedy, and the job continues with it") {
    TemporaryFolder folder;
    Process process(
        job(2, {"connect", "print=ready", "wait-for=" + folder.file("go"), "barrier", "finalize"}));
    REQUIRE(process.wait_for_output("ready\n", 2));
    const pid_t daemon = process.daemon();
    kill(daemon, SIGSTOP);
    folder.write("go", "");
    CHECK(process.wait_for_error(fmt::format(
        "torus-run: its daemon process (pid {0}) is stopped by SIGSTOP (Stopped (signal)): the job "
        "cannot start, print or end without it; kill -CONT {0} resumes it, kill -KILL {0} ends",
        daemon)));
    kill(daemon, SIGCONT);
    const Outcome outcome = process.wait();
    CHECK(outcome.code == 0);
    CHECK(outcome.lines_of_torus_run() == 1);
}

TEST_CASE("A stopped torus-run misses no events, and reports the end of its job") {
    TemporaryFolder folder;
    Process process(
        job(2, {"connect", "print=ready", "wait-for=" + folder.file("go"), "finalize"}));
    REQUIRE(process.wait_for_output("ready\n", 2));
    process.send(SIGSTOP);
    REQUIRE(wait_for_state(process.pid(), 'T'));
    folder.write("go", "");
    CHECK(process.wait_for_error(
        fmt::format("torus-run: the job has ended with exit code 0, but torus-run (pid {0}) is "
                    "stopped: kill -CONT {0} lets it exit\n",
                    process.pid())));
    process.send(SIGCONT);
    CHECK(process.wait().code == 0);
}

// ---- nothing is left behind ----

TEST_CASE("Processes that ranks leave behind are ended with the job, in any session") {
    SECTION("after a failure") {
        Process process(job(2, {"connect", "spawn-orphan", "barrier", "1:exit=4", "sleep"}));
        const Outcome outcome = process.wait();
        CHECK(outcome.code == 4);
        CHECK(process.all_gone());
    }
    SECTION("after an orderly end, with a message") {
        // The orphan holds our pipes; only its end lets wait() return.
        Process process(job(2, {"connect", "spawn-orphan", "finalize"}));
        const Outcome outcome = process.wait();
        CHECK(outcome.code == 0);
        CHECK_CONTAINS(outcome.errors, "2 processes left behind by the ranks were ended");
        CHECK(process.all_gone());
    }
}

TEST_CASE("SIGKILL of torus-run's processes leaves nothing behind") {
    // The rank runs under a shell, so it is not a child of the daemon. One orphan has its own
    // session.
    const bool kill_front = GENERATE(true, false);
    Process process(script(3, "$P connect spawn-orphan print=ready sleep; true"));
    REQUIRE(process.wait_for_output("ready\n", 3));
    const pid_t daemon = process.daemon();
    REQUIRE(daemon > 0);
    REQUIRE(process.marked().size() == 2 + 3 * 3);
    kill(kill_front ? process.pid() : daemon, SIGKILL);
    CHECK(process.all_gone());
    const Outcome outcome = process.wait();
    CHECK(outcome.code == 128 + SIGKILL);
    if (!kill_front) CHECK_CONTAINS(outcome.errors, "daemon process");
}

TEST_CASE(
    "SIGKILL of both processes of torus-run at the same time ends the ranks and their groups") {
    Process process(script(3, "setsid $P connect print=ready sleep & sleep 600 & wait"));
    REQUIRE(process.wait_for_output("ready\n", 3));
    const pid_t daemon = process.daemon();
    REQUIRE(daemon > 0);
    // Both stand still first, so that neither can act on the death of the other. The daemon goes
    // first: the death of its parent would let the kernel wake it.
    for (const pid_t pid : {process.pid(), daemon}) kill(pid, SIGSTOP);
    for (const pid_t pid : {daemon, process.pid()}) kill(pid, SIGKILL);
    CHECK(process.all_gone());
}

TEST_CASE("torus-run uses no file, and no named socket except the one for observers") {
    TemporaryFolder folder, runtime;
    Process process(job(2, {"connect", "exchange", "print=ready", "sleep"}),
                    {"TMPDIR=" + folder.path(), "XDG_RUNTIME_DIR=" + runtime.path()});
    REQUIRE(process.wait_for_output("ready\n", 2));
    CHECK(folder.empty());
    std::set<std::string> sockets, named;
    for (const pid_t pid : process.marked())
        for (const auto& entry :
             std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid))) {
            const std::string target = std::filesystem::read_symlink(entry.path());
            CHECK_THAT(target, !Catch::Matchers::StartsWith("/dev/shm"));
            CHECK_THAT(target, !Catch::Matchers::StartsWith("/tmp/torusmp"));
            if (target.starts_with("socket:[")) sockets.insert(target.substr(8, target.size() - 9));
        }
    CHECK(sockets.size() >= 4);  // a pair for each rank
    // Num RefCount Protocol Flags Type St Inode [Path]
    std::ifstream unix_sockets("/proc/net/unix");
    for (std::string line; std::getline(unix_sockets, line);) {
        std::istringstream words(line);
        std::string skipped, inode, name;
        for (int i = 0; i < 6; ++i) words >> skipped;
        words >> inode >> name;
        if (sockets.contains(inode) && !name.empty()) {
            CHECK_THAT(name, Catch::Matchers::StartsWith(runtime.path() + "/torusmp/job-"));
            named.insert(name);
        }
    }
    CHECK(named.size() == 1);
    process.send(SIGTERM);
    process.wait();
    for (const std::string& name : named) CHECK_FALSE(std::filesystem::exists(name));
}

}  // namespace torusmp::torus_run::test::job_end_test
