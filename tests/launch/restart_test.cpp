// SPDX-License-Identifier: BSD-3-Clause
// Jobs that start again after a death (--restart-on-death), on the same hosts, on spares and on
// fewer.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <sstream>
#include <string>

#include "cluster.h"
#include "folder.h"
#include "local_job.h"
#include "process.h"
#include "programs.h"

namespace torusmp::torus_run::test::restart_test {

namespace {

Words restarts(int most, Words more = {}) {
    more.insert(more.begin(), {"--restart-on-death", std::to_string(most)});
    return more;
}

// The lines of torus-run, without the pids in them.
std::string lines_of(const Outcome& outcome) {
    std::string text, line;
    for (std::istringstream rest(outcome.errors); std::getline(rest, line);) {
        if (!line.starts_with("torus-run: ")) continue;
        const std::size_t pid = line.find(", pid ");
        if (pid != line.npos) line.erase(pid, line.find(')', pid) - pid);
        text += line.substr(11) + "\n";
    }
    return text;
}

const char* const killed =
    "was killed by SIGKILL (Killed); all ranks are ended, to start them again\n";

}  // namespace

TEST_CASE("All ranks start again when one is killed, and know the number of restarts") {
    const Outcome outcome = run(
        script(3,
               "echo start $TORUSMP_RESTART; [ $TORUSMP_RANK$TORUSMP_RESTART = 10 ] && kill -9 $$; "
               "exec $P connect exchange barrier finalize",
               restarts(2)));
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
    CHECK(count(outcome.output, "start 1\n") == 3);
    CHECK(count(outcome.output, "start 2\n") == 0);
    CHECK(lines_of(outcome) == fmt::format(
                                   "rank 1 (host {}) {}restart 1 of 2: on the same hosts\n",
                                   [] {
                                       char name[256];
                                       gethostname(name, sizeof name);
                                       return std::string(name);
                                   }(),
                                   killed));
}

TEST_CASE("Without the option nothing is restarted, and the variable is not set") {
    const Outcome outcome =
        run(script(2, "echo [$TORUSMP_RESTART]; kill -9 $$"), {"TORUSMP_RESTART=7"});
    CHECK(outcome.code == 128 + SIGKILL);
    CHECK(count(outcome.output, "[]\n") == count(outcome.output, "\n"));
    CHECK(outcome.lines_of_torus_run() == 1);
}

TEST_CASE("A job that dies each time is ended after its restarts, with the last cause") {
    const Outcome outcome = run(script(2,
                                       "echo start $TORUSMP_RESTART; $P connect barrier finalize; "
                                       "[ $TORUSMP_RANK = 1 ] && kill -9 $$; sleep 600",
                                       restarts(3)));
    INFO(outcome.errors);
    CHECK(outcome.code == 128 + SIGKILL);
    for (int start = 0; start <= 3; ++start)
        CHECK(count(outcome.output, fmt::format("start {}\n", start)) == 2);
    CHECK(count(outcome.errors, "to start them again\n") == 3);
    CHECK(count(outcome.errors, "; the job is ended after 3 restarts\n") == 1);
    CHECK(outcome.lines_of_torus_run() == 7);
}

TEST_CASE(
    "A program that exits has not died; a program ended by a signal has, also under a shell") {
    const auto starts = [](const std::string& what) {
        const Outcome outcome = run(script(2, "echo start $TORUSMP_RESTART; " + what, restarts(1)));
        INFO(what << "\n" << outcome.errors);
        CHECK(outcome.code != 0);
        return count(outcome.output, "start 1\n") > 0 ? 2 : 1;
    };
    CHECK(starts("exec $P connect barrier 1:exit=3 sleep") == 1);
    CHECK(starts("exec $P connect barrier 1:abort=5,enough sleep") == 1);
    CHECK(starts("exec $P connect barrier 1:exit=0 sleep") == 1);
    CHECK(starts("exec $P connect barrier 1:kill=11 sleep") == 2);
    CHECK(starts("sh -c 'kill -6 $$'; exit $?") == 2);
}

TEST_CASE("A job that its user ends is not started again") {
    for (const int signal : {SIGINT, SIGTERM}) {
        Process process(job(2, {"connect", "print=ready", "sleep"}, restarts(5)));
        REQUIRE(process.wait_for_output("ready\n", 2));
        process.send(signal);
        const Outcome outcome = process.wait();
        INFO(outcome.errors);
        CHECK(outcome.code == 128 + signal);
        CHECK(count(outcome.output, "ready\n") == 2);
        CHECK(process.all_gone());
    }
}

TEST_CASE("the limit of --timeout includes all starts") {
    const Outcome outcome =
        run(script(1, "sleep 0.3; kill -9 $$", restarts(1000, {"--timeout", "2"})));
    INFO(outcome.errors);
    CHECK(outcome.code == 124);
    CHECK_CONTAINS(outcome.errors, "restart 1 of 1000");
    CHECK(outcome.seconds < 30);
}

TEST_CASE("Each start reads a file from its beginning, and finds the end of a pipe") {
    const TemporaryFolder folder;
    const std::string input = folder.write("input", "skipped\nfirst\nsecond\n");
    const std::string once = " [ $TORUSMP_RESTART = 0 ] && kill -9 $$; true";
    Words words = script(1, "read a; echo got $a;" + once, restarts(1));
    const std::string runner = folder.script("run", "{ read skip; \"$@\"; } < " + input + "\n");
    Words command{runner};
    command.insert(command.end(), words.begin(), words.end());
    Outcome outcome = run(command);
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
    CHECK(outcome.output == "got first\ngot first\n");

    Process process(script(1, "read a; echo got $a;" + once, restarts(1)));
    process.type("typed\nrest\n");
    outcome = process.wait();
    CHECK(outcome.code == 0);
    CHECK(outcome.output == "got typed\ngot\n");
}

TEST_CASE("Files of output keep what earlier starts wrote") {
    const TemporaryFolder folder;
    const Outcome outcome = run(script(2,
                                       "echo start $TORUSMP_RESTART; $P connect barrier finalize; "
                                       "[ $TORUSMP_RESTART$TORUSMP_RANK = 00 ] && "
                                       "kill -9 $$; [ $TORUSMP_RESTART = 0 ] && sleep 600; true",
                                       restarts(1, {"--output-filename", folder.file("out")})));
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
    for (const char* rank : {"0", "1"})
        CHECK(folder.read(fmt::format("out/rank.{}/stdout", rank)) == "start 0\nstart 1\n");
}

// ---- hosts ----

namespace {

// Waits for the first start, kills the daemon of a host, and waits for the end of the second.
Outcome lose(const Cluster& cluster, const std::string& host, const Words& options,
             bool for_ever = false) {
    const std::string program = "[ $TORUSMP_RESTART = 0 ] || exec " + rank_program +
                                " connect exchange barrier report finalize; exec " + rank_program +
                                " connect print=ready sleep";
    Process process(cluster.start({"/bin/sh", "-c", program}, options));
    REQUIRE(process.wait_for_output("ready\n", 4));
    if (for_ever) cluster.folder().write("cut", fmt::format(" > {}\n", host));
    kill(daemon_of(process, host), SIGKILL);
    const Outcome outcome = process.wait();
    CHECK(process.all_gone());
    return outcome;
}

}  // namespace

TEST_CASE("A host whose daemon died is used again if no other host is left") {
    const Cluster cluster("[4]", {"qa", "qb", "qc", "qd"});
    const Outcome outcome = lose(cluster, "qb", restarts(1));
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
    CHECK(count(outcome.output, " of 4, local") == 4);
    CHECK_CONTAINS(outcome.errors, "host qb (node 1, rank 1) is lost: ");
    CHECK_CONTAINS(outcome.errors, "; all ranks are ended, to start them again\n");
    CHECK_CONTAINS(outcome.errors, "torus-run: restart 1 of 1: on the same hosts\n");
}

TEST_CASE("A spare takes the place of a host whose daemon died, and a dead spare is passed over") {
    const Cluster cluster("[6]", {"qa", "qb", "downc", "qd", "qe", "qf"});
    const Outcome outcome = lose(cluster, "qb", restarts(2, {"--spares", "downc,qe"}));
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
    CHECK(count(outcome.output, " of 4, local") == 4);
    CHECK_CONTAINS(outcome.errors, "torus-run: restart 1 of 2: downc takes the place of qb\n");
    CHECK_CONTAINS(outcome.errors, "host downc ");
    CHECK_CONTAINS(outcome.errors, "torus-run: restart 1 of 2: qe takes the place of qb\n");
}

TEST_CASE("Spares and hosts that are left out are not used at first") {
    const Cluster cluster("[6]", {"qa", "qb", "downc", "qd", "qe", "downf"});
    const auto ranks = [&](const Words& options) {
        const Outcome outcome =
            run(cluster.start({"/bin/sh", "-c", "echo $TORUSMP_RANK ${HOME##*/}"}, options));
        INFO(outcome.errors);
        CHECK(outcome.code == 0);
        CHECK(outcome.errors.empty());
        return sorted_lines(outcome.output);
    };
    CHECK(ranks({"--spares", "downc,downf"}) == Words{"0 qa", "1 qb", "2 qd", "3 qe"});
    CHECK(ranks({"--spares", "4"}) == Words{"0 qa", "1 qb"});
    CHECK(ranks({"--spares", "4", "-np", "4"}) == Words{"0 qa", "1 qa", "2 qb", "3 qb"});
    CHECK(ranks({"--spares", "downc,downf", "-ppn", "2", "-np", "4"}) ==
          Words{"0 qa", "1 qa", "2 qb", "3 qb"});
    CHECK(ranks({"--spares", "1", "-host", "qa,qb,downc"}) == Words{"0 qa", "1 qb"});
    CHECK(ranks({"--without", "downc,downf"}) == Words{"0 qa", "1 qb", "2 qd", "3 qe"});
    CHECK(ranks({"--without", "downc,downf", "-np", "8"}) ==
          Words{"0 qa", "1 qa", "2 qb", "3 qb", "4 qd", "5 qd", "6 qe", "7 qe"});
    CHECK(ranks({"--without", "downc,downf", "--spares", "qb"}) == Words{"0 qa", "1 qd", "2 qe"});
    CHECK(ranks({"--without", "downc", "-host", "qa,qb,downc"}) == Words{"0 qa", "1 qb"});
}

TEST_CASE("Without spares, fewer hosts get more ranks each, unless the number of ranks is given") {
    const Cluster cluster("[4]", {"qa", "qb", "qc", "qd"});
    const auto start = [&](const Words& options) { return lose(cluster, "qb", options, true); };
    SECTION("more ranks on each") {
        const Outcome outcome = start(restarts(1, {"-np", "4"}));
        INFO(outcome.errors);
        CHECK(outcome.code == 0);
        CHECK(count(outcome.output, " of 4, local") == 4);
        CHECK_CONTAINS(outcome.errors, "torus-run: restart 1 of 1: on the same hosts\n");
        CHECK_CONTAINS(outcome.errors, "connect to host port 22: No route to host");
        CHECK_CONTAINS(outcome.errors,
                       "torus-run: restart 1 of 1: 4 ranks on qa and qc, 2 on each\n");
    }
    SECTION("fewer ranks") {
        const Outcome outcome = start(restarts(1, {"-ppn", "1"}));
        INFO(outcome.errors);
        CHECK(outcome.code == 0);
        CHECK(count(outcome.output, " of 3, local") == 3);
        CHECK_CONTAINS(outcome.errors,
                       "torus-run: restart 1 of 1: 3 ranks on qa, qc and qd, 1 on each\n");
    }
    SECTION("neither is allowed") {
        const Outcome outcome = start(restarts(1, {"-np", "4", "-ppn", "1"}));
        INFO(outcome.errors);
        CHECK(outcome.code == 1);
        CHECK_CONTAINS(
            outcome.errors,
            "torus-run: no restart: 4 ranks with 1 on each host need 4 hosts, and 3 of 4 "
            "can be used\n");
    }
}

TEST_CASE("Wrong options of restarts are reported before anything starts") {
    const Cluster cluster("[4]", {"qa", "qb", "qc", "qd"});
    const auto refusal = [&](const Words& options) {
        const Outcome outcome = run(cluster.job({"print=started"}, options));
        CHECK(outcome.code == 2);
        CHECK(outcome.output.empty());
        CHECK(outcome.lines_of_torus_run() == 1);
        return outcome.errors;
    };
    CHECK_CONTAINS(refusal({"--restart-on-death", "often"}), "--restart-on-death");
    CHECK_CONTAINS(refusal({"--restart-on-death", "-1"}),
                   "--restart-on-death -1: expected a number of restarts from 0 to 1000000");
    CHECK_CONTAINS(refusal({"--restart-on-death", "1", "--keep-going"}), "exclude each other");
    CHECK_CONTAINS(refusal({"--with-ft", "ulfm", "--restart-on-death", "1"}), "exclude each other");
    CHECK_CONTAINS(refusal({"--spares", "qx"}),
                   "nodes.spares: qx is not in nodes.hosts; did you mean qa?");
    CHECK_CONTAINS(refusal({"--spares", "qa,qa"}), "names qa twice");
    CHECK_CONTAINS(refusal({"--spares", "4"}), "nodes.hosts has 4: expected at most 3");
    CHECK_CONTAINS(refusal({"--spares", "-2"}), "-2 is not from 0 to ");
    CHECK_CONTAINS(refusal({"--spares", "1", "-np", "5"}),
                   "5 ranks do not evenly fill the 3 hosts that nodes.spares (--spares) allows: "
                   "expected -np 3 or 6, or -ppn 5 (5 ranks on one host)");
    CHECK_CONTAINS(refusal({"--spares", "2", "-host", "qa,qb"}), "leaves no host for ranks");
    CHECK_CONTAINS(refusal({"--without", "qx"}),
                   "--without: qx is not in nodes.hosts; did you mean qa?");
    CHECK_CONTAINS(refusal({"--without", "qa,qa"}), "--without names qa twice");
    CHECK_CONTAINS(refusal({"--without", "qa,"}), "--without qa,: expected hosts, for example a,b");
    CHECK_CONTAINS(refusal({"--without", "qa", "-host", "qa"}), "leaves no host for ranks");
}

}  // namespace torusmp::torus_run::test::restart_test
