// SPDX-License-Identifier: BSD-3-Clause
// torus-run over several hosts: successful jobs, their streams, their end, and signals. The hosts
// are fictitious, see cluster.h.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "base/process_state.h"
#include "cluster.h"
#include "programs/torus_run/front/meeting.h"

namespace torusmp::torus_run::test::hosts_test {

// ---- an orderly job ----

TEST_CASE("The daemon of a host whose ranks have ended sleeps while ranks elsewhere run") {
    const Cluster cluster("[2]", {"qa", "qb"});
    Process process(
        cluster.start({"/bin/sh", "-c", "test $TORUSMP_RANK = 1 || { echo waits; read line; }"}));
    REQUIRE(process.wait_for_output("waits"));
    const pid_t daemon = daemon_of(process, "qb");
    while (!process.marked("sh", "TORUSMP_RANK=1").empty()) usleep(20'000);
    const auto used = [daemon] { return base::process_state(daemon).cpu; };
    const auto before = used();
    sleep(1);
    CHECK(used() - before < 150'000'000);  // ns; it sends two or so heartbeats
    process.type("\n");
    const Outcome outcome = process.wait();
    CHECK(outcome.code == 0);
    CHECK(outcome.errors.empty());
}

TEST_CASE("Ranks of several hosts exchange data and know the ranks of their host") {
    const Cluster cluster("[2]", {"qa", "qb"}, "ranks_per_node = [2]");
    const Outcome outcome = run(
        cluster.job({"connect", "exchange", "barrier", "exchange-large", "report", "finalize"}));
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
    CHECK(outcome.errors.empty());
    CHECK(sorted_lines(outcome.output) ==
          Words{"torus-run rank 0 of 4, local 0 1", "torus-run rank 1 of 4, local 0 1",
                "torus-run rank 2 of 4, local 2 3", "torus-run rank 3 of 4, local 2 3"});
}

TEST_CASE("More ranks than hosts fill the hosts, and fewer take the hosts named first") {
    const Cluster cluster("[4]", {"qa", "qb", "qc", "qd"});
    const Words show{"/bin/sh", "-c", "echo ${HOME##*/} $TORUSMP_RANK of $TORUSMP_SIZE"};
    const auto ran = [&](const Words& options) {
        const Outcome outcome = run(cluster.start(show, options));
        INFO(outcome.errors);
        CHECK(outcome.code == 0);
        return sorted_lines(outcome.output);
    };
    const Words eight{"qa 0 of 8", "qa 1 of 8", "qb 2 of 8", "qb 3 of 8",
                      "qc 4 of 8", "qc 5 of 8", "qd 6 of 8", "qd 7 of 8"};
    CHECK(ran({"-np", "8"}) == eight);
    CHECK(ran({"-ppn", "2"}) == eight);
    CHECK(ran({"-np", "8", "--map-by", "ppr:2:node"}) == eight);
    CHECK(ran({"-np", "2"}) == Words{"qa 0 of 2", "qb 1 of 2"});
    CHECK(ran({"-np", "4", "-N", "2"}) ==
          Words{"qa 0 of 4", "qa 1 of 4", "qb 2 of 4", "qb 3 of 4"});
    CHECK(ran({"-H", "qc,qd"}) == Words{"qc 0 of 2", "qd 1 of 2"});
    CHECK(ran({"-H", "qc,qd", "--here", "qa"}) == Words{"qc 0 of 2", "qd 1 of 2"});
    CHECK(ran({"-H", "qd:2,qa:2"}) == Words{"qa 2 of 4", "qa 3 of 4", "qd 0 of 4", "qd 1 of 4"});
    CHECK(ran({"-np", "3"}) == Words{"qa 0 of 3", "qb 1 of 3", "qc 2 of 3"});
    CHECK(ran({"-H", "qb", "-np", "2"}) == Words{"qb 0 of 2", "qb 1 of 2"});
    const auto refused = [&](const Words& options) {
        const Outcome outcome = run(cluster.start(show, options));
        CHECK(outcome.code == 2);
        CHECK(outcome.output.empty());
        return outcome.errors;
    };
    using Catch::Matchers::Contains;
    CHECK_THAT(refused({"-np", "6"}),
               Contains("-np 4 or 8, or -ppn 2 (2 ranks on each of 3 hosts)"));
    CHECK(ran({"-np", "6", "-ppn", "2"}) ==
          Words{"qa 0 of 6", "qa 1 of 6", "qb 2 of 6", "qb 3 of 6", "qc 4 of 6", "qc 5 of 6"});
    CHECK(ran({"-H", "qa,qc"}) == Words{"qa 0 of 2", "qc 1 of 2"});  // they have no [links]
    CHECK_THAT(refused({"-H", "qa,zz"}),
               Contains("no host zz: expected hosts among qa, qb, qc, qd"));
    CHECK_THAT(refused({"-H", "qa:2,qb"}), Contains("the same number for all hosts"));
    const Outcome map = run(cluster.start({"/bin/true"}, {"-np", "8", "--display-map"}));
    CHECK_THAT(map.output,
               Contains("torus-run: qa: ranks 0, 1\n") && Contains("torus-run: qd: ranks 6, 7\n"));
    // Ranks exchange data, so their torus must be the torus of the launcher.
    const Outcome outcome =
        run(cluster.job({"connect", "exchange", "barrier", "report", "finalize"}, {"-np", "8"}));
    CHECK(outcome.code == 0);
    CHECK(count(outcome.output, "rank 5 of 8, local 4 5\n") == 1);
}

TEST_CASE("Ranks get the variables by which programs of torchrun find each other") {
    const std::string show =
        "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $MASTER_ADDR "
        "${GLOO_SOCKET_IFNAME-no} ${NCCL_SOCKET_IFNAME-no} "
        "$((MASTER_PORT >= 20000 && MASTER_PORT < 32000))";
    const Words plain{"/usr/bin/env", "-u", "RANK", "-u", "MASTER_ADDR", "-u", "MASTER_PORT"};
    const auto lines = [&](Words words) {
        words.insert(words.begin(), plain.begin(), plain.end());
        const Outcome outcome = run(words);
        INFO(outcome.errors);
        CHECK(outcome.code == 0);
        return sorted_lines(outcome.output);
    };
    const Cluster cluster("[2]", {"qa", "qb"});
    CHECK(lines(cluster.start({"/bin/sh", "-c", show}, {"-np", "4"})) ==
          Words{"0 4 0 2 qa no no 1", "1 4 1 2 qa no no 1", "2 4 0 2 qa no no 1",
                "3 4 1 2 qa no no 1"});
    CHECK(lines({torus_run, "-np", "2", "/bin/sh", "-c", show}) ==
          Words{"0 2 0 2 127.0.0.1 lo lo 1", "1 2 1 2 127.0.0.1 lo lo 1"});
    CHECK(lines({torus_run, "-np", "1", "-x", "RANK=7", "-x", "MASTER_ADDR=me", "/bin/sh", "-c",
                 "echo $RANK $MASTER_ADDR"}) == Words{"7 me"});
    CHECK(lines({"/usr/bin/env", "MASTER_PORT=12345", torus_run, "-np", "1", "/bin/sh", "-c",
                 "echo $MASTER_PORT"}) == Words{"12345"});
    // A job inside a rank has numbers of its own.
    CHECK(lines({torus_run, "-np", "1", torus_run, "-np", "2", "/bin/sh", "-c",
                 "echo $RANK $WORLD_SIZE"}) == Words{"0 2", "1 2"});
    // All ranks of a job know the same port, which is free: rank 0 can listen there.
    const Words ports = lines({torus_run, "-np", "3", "/bin/sh", "-c", "echo $MASTER_PORT"});
    REQUIRE(ports.size() == 3);
    CHECK(ports.front() == ports.back());
}

TEST_CASE("Programs of NCCL get the RDMA devices of the links of their host") {
    const TemporaryFolder root;
    for (const char* device : {"eth1/device/infiniband/mlx5_1", "eth2/device/infiniband/mlx5_0",
                               "eth2/device/infiniband/mlx5_1", "eth3", "eth0/device/infiniband/x"})
        std::filesystem::create_directories(root.file(std::string("sys/class/net/") + device));
    const auto of = [&](const Words& links) { return meeting_devices(links, root.file("")); };
    CHECK(of({"eth1", "eth2"}) ==
          Words{"GLOO_SOCKET_IFNAME=lo:torus", "NCCL_SOCKET_IFNAME==eth1,eth2",
                "NCCL_IB_HCA==mlx5_1,mlx5_0", "NCCL_IB_SUBNET_AWARE_ROUTING=1"});
    CHECK(of({"eth3"}) == Words{"GLOO_SOCKET_IFNAME=lo:torus"});
    CHECK(of({"gone"}) == Words{"GLOO_SOCKET_IFNAME=lo:torus"});
    for (const std::string& variable : of({"eth1"}))
        CHECK(is_of_a_meeting(variable.substr(0, variable.find('='))));
}

TEST_CASE("A list of hosts without a geometry file names the command that finds their cables") {
    const Outcome outcome = run({torus_run, "-H", "qa,qb", "/bin/true"});
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.errors,
               Catch::Matchers::Contains("torus-check --discover torus.toml --hosts qa,qb"));
    const Cluster cluster("[1]", {"qa"});
    const Outcome one = run({torus_run, "-H", "qa:2", "--agent", cluster.folder().file("agent"),
                             "/bin/sh", "-c", "echo ${HOME##*/} $TORUSMP_RANK"});
    INFO(one.errors);
    CHECK(sorted_lines(one.output) == Words{"qa 0", "qa 1"});
}

TEST_CASE("On every host ranks find our libraries after the folders of the user") {
    const Cluster cluster("[2]", {"qa", "localhost"});
    Words words = cluster.start({"/bin/sh", "-c", "echo $LD_LIBRARY_PATH"});
    words.insert(words.begin(), {"/usr/bin/env", "LD_LIBRARY_PATH=/of/user"});
    const Outcome outcome = run(words);
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
    const std::string line = std::string("/of/user:") + LIBRARY_FOLDER;
    CHECK(sorted_lines(outcome.output) == Words{line, line});
}

TEST_CASE("If a node is a block in two dimensions, its ranks are not consecutive") {
    const Cluster cluster("[2, 2]", {"qa", "qb", "qc", "qd"}, "ranks_per_node = [2, 1]");
    const Outcome outcome = run(cluster.job({"connect", "report", "exchange", "finalize"}));
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
    const Words lines = sorted_lines(outcome.output);
    REQUIRE(lines.size() == 8);
    CHECK(lines[0] == "torus-run rank 0 of 8, local 0 2");
    CHECK(lines[5] == "torus-run rank 5 of 8, local 5 7");
}

TEST_CASE("This host may be one of the hosts, and needs no agent") {
    const Cluster cluster("[3]", {"qa", "localhost", "qc"});
    const Outcome outcome = run(cluster.job({"connect", "exchange", "report", "finalize"}));
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
    CHECK(count(outcome.output, "rank 1 of 3, local 1\n") == 1);
    CHECK(sorted_lines(cluster.folder().read("reached")) == Words{" > qa", " > qc"});
}

TEST_CASE(
    "Environment, working directory and file mask are passed on, but not variables of a host") {
    const Cluster cluster("[2]", {"qa", "qb"});
    const std::string show = "umask 0057; exec \"$0\" \"$@\"";
    Words command =
        cluster.start({"/bin/sh", "-c", "echo $TORUSMP_RANK $COLOUR $HOME $(pwd) $PWD $(umask)"});
    command.insert(command.begin(),
                   {"/bin/sh", "-c", "cd " + cluster.folder().path() + "; " + show});
    const Outcome outcome = run(command, {"COLOUR=dark blue", "HOME=/root/of/the/user"});
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
    const std::string folder = cluster.folder().path();
    CHECK(sorted_lines(outcome.output) ==
          Words{fmt::format("0 dark blue /home/of/qa {0} {0} 0057", folder),
                fmt::format("1 dark blue /home/of/qb {0} {0} 0057", folder)});
}

TEST_CASE("A host that prints a greeting on both streams can be used") {
    const Cluster cluster("[2]", {"noisy-a", "noisy-b"});
    const Outcome outcome = run(cluster.job({"connect", "exchange", "print=done", "finalize"}));
    CHECK(outcome.code == 0);
    CHECK(outcome.output == "done\ndone\n");
    CHECK(outcome.errors.empty());
}

TEST_CASE("A verbose job prints hosts, ranks and the output of agents") {
    const Cluster cluster("[2]", {"noisy-a", "qb"});
    const Outcome outcome = run(cluster.job({"connect", "finalize"}, {"--verbose"}));
    CHECK(outcome.code == 0);
    CHECK_CONTAINS(outcome.errors, "reached host qb");
    CHECK_CONTAINS(outcome.errors, "started rank 1 (host qb, pid ");
    CHECK_CONTAINS(outcome.errors, "host noisy-a: Use of this machine is watched.");
}

TEST_CASE("More hosts than the limit of concurrent connections take part") {
    Words hosts;
    for (int i = 0; i < 40; ++i) hosts.push_back(fmt::format("q{:02}", i));
    const Cluster cluster("[40]", hosts);
    const Outcome outcome = run(cluster.job({"connect", "exchange", "barrier", "finalize"}));
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
    CHECK(sorted_lines(cluster.folder().read("reached")).size() == 40);
}

// ---- streams ----

TEST_CASE("Output of other hosts keeps its rank and stream, tagged or not") {
    const Cluster cluster("[2]", {"qa", "localhost"});
    const Words steps{"print=out", "error=err", "part=unfinished"};
    const Outcome plain = run(cluster.job(steps));
    CHECK(plain.code == 0);
    CHECK(count(plain.output, "out\n") == 2);
    CHECK(count(plain.output, "unfinished") == 2);
    CHECK(plain.errors == "err\nerr\n");
    const Outcome tagged = run(cluster.job(steps, {"--tag-output"}));
    CHECK(tagged.code == 0);
    CHECK(sorted_lines(tagged.output) ==
          Words{"[0] out", "[0] unfinished", "[1] out", "[1] unfinished"});
    CHECK(sorted_lines(tagged.errors) == Words{"[0] err", "[1] err"});
}

TEST_CASE("A slow reader loses no output of other hosts") {
    constexpr int lines = 40'000;
    const Cluster cluster("[2]", {"qa", "qb"});
    Process process(cluster.start(
        {"/bin/sh", "-c", fmt::format("seq -f 'line %.0f of many' 1 {}; echo end >&2", lines)},
        {"--tag-output"}));
    process.close_input();
    usleep(300'000);  // the ranks must be held back by now, without anybody reading
    const Outcome outcome = process.wait();
    CHECK(outcome.code == 0);
    CHECK(count(outcome.output, "\n") == 2 * lines);
    CHECK(count(outcome.output, fmt::format("[1] line {} of many\n", lines)) == 1);
    CHECK(count(outcome.errors, "end\n") == 2);
}

TEST_CASE("Standard input reaches rank 0 on another host, however long it is") {
    const Cluster cluster("[2]", {"qa", "qb"});
    std::string text, expected;
    for (int i = 0; i < 20'000; ++i) {
        text += fmt::format("line {}\n", i);
        expected += fmt::format("in: line {}\n", i);
    }
    SECTION("from a pipe") {
        Words command = cluster.job({"echo"});
        command.insert(
            command.begin(),
            {"/bin/sh", "-c", "cat " + cluster.folder().write("text", text) + " | \"$0\" \"$@\""});
        CHECK(run(command).output == expected);
    }
    SECTION("from a file") {
        Words command = cluster.job({"echo"});
        command.insert(
            command.begin(),
            {"/bin/sh", "-c", "exec \"$0\" \"$@\" < " + cluster.folder().write("text", text)});
        CHECK(run(command).output == expected);
    }
}

TEST_CASE("A rank 0 on another host that does not read its input ends normally") {
    const Cluster cluster("[2]", {"qa", "qb"});
    Words command = cluster.job({"connect", "barrier", "finalize"});
    command.insert(command.begin(), {"/bin/sh", "-c", "yes | \"$0\" \"$@\""});
    const Outcome outcome = run(command);
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
}

// ---- the end ----

TEST_CASE("The failing rank's code, signal or text is reported from any host") {
    const Cluster cluster("[3]", {"qa", "qb", "qc"});
    struct Case {
        std::string step;
        int code;
        std::string expected;
    };
    const Case cases[] = {
        {"2:exit=5", 5, "exited with code 5; the job is ended"},
        {"2:kill=11", 128 + SIGSEGV, "was killed by SIGSEGV (Segmentation fault)"},
        {"2:abort=42,no convergence", 42, "aborted with code 42: no convergence"},
        {"2:exit=0", 1, "exited with code 0 without MPI_Finalize or QMP_finalize"},
    };
    for (const Case& failing : cases) {
        Process process(cluster.job({"connect", "barrier", failing.step, "sleep"}));
        const Outcome outcome = process.wait();
        INFO(outcome.errors);
        CHECK(outcome.code == failing.code);
        CHECK_CONTAINS(outcome.errors, "torus-run: rank 2 (host qc, pid ");
        CHECK_CONTAINS(outcome.errors, failing.expected);
        CHECK(outcome.lines_of_torus_run() == 1);
        CHECK(process.all_gone());
    }
}

TEST_CASE("A rank that fails because another was killed does not hide the killed rank") {
    // Rank 0 fails because of the death of rank 1 as soon as that is reaped, on a host that is
    // heard first.
    const Cluster cluster("[2]", {"localhost", "qb"});
    const std::string file = cluster.folder().file("pid");
    const std::string script = fmt::format(
        "if [ $TORUSMP_RANK = 1 ]; then echo $$ > {0}.new; mv {0}.new {0}; sleep 600; fi; "
        "while [ ! -f {0} ]; do sleep 0.01; done; kill -9 $(cat {0}); "
        "while kill -0 $(cat {0}); do sleep 0.01; done 2> /dev/null; exit 3",
        file);
    const Outcome outcome = run(cluster.start({"/bin/sh", "-c", script}));
    INFO(outcome.errors);
    CHECK(outcome.code == 128 + SIGKILL);
    CHECK_CONTAINS(outcome.errors, "rank 1 (host qb, pid ");
    CHECK(outcome.lines_of_torus_run() == 1);
}

TEST_CASE("Collective calls that cannot complete over hosts are reported") {
    const Cluster cluster("[2]", {"qa", "qb"});
    const Outcome finalized = run(cluster.job({"connect", "1:finalize", "1:sleep", "barrier"}));
    CHECK(finalized.code == 1);
    CHECK_CONTAINS(finalized.errors,
                   "has left the job while rank 0 waits in the barrier at the start");
    const Outcome different = run(cluster.job({"connect", "0:barrier", "1:exchange", "finalize"}));
    CHECK(different.code == 1);
    CHECK_CONTAINS(different.errors, "MPI_Init or QMP_init_msg_passing");
}

TEST_CASE("A timeout ends the ranks of every host") {
    const Cluster cluster("[2]", {"qa", "qb"});
    Process process(cluster.job({"connect", "sleep"}, {"--timeout", "0.7"}));
    const Outcome outcome = process.wait();
    CHECK(outcome.code == 124);
    CHECK_CONTAINS(outcome.errors, "--timeout of 0.7 s");
    CHECK(process.all_gone());
}

TEST_CASE("Processes that ranks leave behind on another host are ended and reported") {
    const Cluster cluster("[2]", {"qa", "qb"});
    Process process(cluster.job({"connect", "1:spawn-orphan", "finalize"}));
    const Outcome outcome = process.wait();
    CHECK(outcome.code == 0);
    CHECK_CONTAINS(outcome.errors, "1 process left behind by the ranks on host qb was ended");
    CHECK(process.all_gone());
}

// ---- signals ----

TEST_CASE("Signals reach the ranks of every host") {
    const int signal = GENERATE(SIGINT, SIGTERM, SIGUSR1);
    const Cluster cluster("[3]", {"qa", "localhost", "qc"});
    Process process(cluster.job({"connect", fmt::format("trap={},caught it", signal), "finalize"}));
    REQUIRE(process.wait_for_output("ready\n", 3));
    process.send(signal);
    const Outcome outcome = process.wait();
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
    CHECK(count(outcome.output, "caught it\n") == 3);
}

TEST_CASE("The daemons of all hosts report the state of ranks that do not report it themselves") {
    const Cluster cluster("[3]", {"qa", "localhost", "qc"});
    Process process(cluster.job({"connect", "print=ready", "sleep"}));
    REQUIRE(process.wait_for_output("ready\n", 3));
    process.send(SIGUSR1);
    CHECK(process.wait_for_error("ranks 0-2 sleep outside the library"));
    process.send(SIGTERM);
    process.wait();
}

TEST_CASE("A second SIGINT kills ranks of other hosts that ignore the first") {
    const Cluster cluster("[2]", {"qa", "qb"});
    Process process(cluster.start({"/bin/sh", "-c", "trap '' INT TERM; echo ready; sleep 600"}));
    REQUIRE(process.wait_for_output("ready\n", 2));
    process.send(SIGINT);
    usleep(100'000);  // the second must not merge with the first
    process.send(SIGINT);
    const Outcome outcome = process.wait();
    CHECK(outcome.code == 128 + SIGINT);
    CHECK_CONTAINS(outcome.errors, "a second SIGINT");
    CHECK(process.all_gone());
}

TEST_CASE("A user can stop the whole job for longer than the timeout") {
    const Cluster cluster("[2]", {"qa", "localhost"});
    const std::string go = cluster.folder().file("go");
    Process process(cluster.job({"connect", "print=ready", "wait-for=" + go, "barrier", "finalize"},
                                {"--set", short_timeout}));
    REQUIRE(process.wait_for_output("ready\n", 2));
    process.send(SIGTSTP);
    REQUIRE(process.wait_for_stop());
    REQUIRE(wait_for_state(rank_of(process, "qa"), 'T'));
    sleep(3);  // longer than the timeout: that nothing happens is what is tested
    process.send(SIGCONT);
    cluster.folder().write("go", "");
    const Outcome outcome = process.wait();
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
}

// ---- over the torus ----

TEST_CASE(
    "Over the torus each host is reached from a neighbour, and everything works as over a "
    "network") {
    const Cluster cluster("[2, 4]", {"q00", "q01", "q02", "q03", "q10", "q11", "q12", "q13"},
                          "[launch]\nthrough = \"torus\"");
    Process process(cluster.job(
        {"connect", "exchange-large", "barrier", "report", "7:print=last", "finalize"}));
    process.close_input();
    const Outcome outcome = process.wait();
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
    CHECK(count(outcome.output, "torus-run rank ") == 8);
    // Every hop is one step of the torus: "q01 > q02".
    const Words hops = sorted_lines(cluster.folder().read("reached"));
    CHECK(hops.size() == 8);
    CHECK(std::count(hops.begin(), hops.end(), " > q00") == 1);
    for (const std::string& hop : hops) {
        if (hop == " > q00") continue;
        const int steps = std::abs(hop[1] - hop[7]);
        const int around = std::abs(hop[2] - hop[8]);
        CHECK(steps + std::min(around, 4 - around) == 1);
    }
    CHECK(process.all_gone());
}

TEST_CASE("Over the torus a host that is lost cuts off those behind it, and both are reported") {
    const Cluster cluster("[4]", {"qa", "qb", "qc", "qd"},
                          "periodic = [false]\n[launch]\nthrough = \"torus\"");
    Process process(cluster.job({"connect", "print=ready", "sleep"}));
    REQUIRE(process.wait_for_output("ready\n", 4));
    kill(guard_of(process, "qb"), SIGKILL);
    CHECK(process.all_gone());
    const Outcome outcome = process.wait();
    INFO(outcome.errors);
    CHECK(outcome.code == 1);
    CHECK_CONTAINS(outcome.errors, "host qb (node 1, rank 1) is lost: ");
    CHECK_CONTAINS(outcome.errors, "; 2 more hosts behind it are cut off");
}

TEST_CASE("Over the torus failures of far hosts and signals of the user pass through the tree") {
    const Cluster cluster("[4]", {"qa", "qb", "qc", "qd"},
                          "periodic = [false]\n[launch]\nthrough = \"torus\"");
    const Outcome failed = run(cluster.job({"connect", "barrier", "3:exit=7", "sleep"}));
    CHECK(failed.code == 7);
    CHECK_CONTAINS(failed.errors, "rank 3 (host qd, pid ");
    Process process(cluster.job({"connect", "trap=2,caught it", "finalize"}));
    REQUIRE(process.wait_for_output("ready\n", 4));
    process.send(SIGINT);
    const Outcome caught = process.wait();
    CHECK(caught.code == 0);
    CHECK(count(caught.output, "caught it\n") == 4);
}

TEST_CASE("Over the torus a host that is down is named with what lies behind it") {
    const Cluster cluster("[4]", {"qa", "down-b", "qc", "qd"},
                          "periodic = [false]\n[launch]\nthrough = \"torus\"");
    const Outcome outcome = run(cluster.job({"connect", "finalize"}));
    CHECK(outcome.code == 2);
    CHECK_CONTAINS(outcome.errors, "host down-b cannot be used");
    CHECK_CONTAINS(outcome.errors, "No route to host; 2 more hosts are reached over it");
    CHECK(outcome.lines_of_torus_run() == 1);
}

TEST_CASE("Over the torus daemons are started around cables that are dead") {
    // The ring of four is reached at qa, which starts both neighbours; the first of them starts qc.
    const Cluster cluster("[4]", {"qa", "qb", "qc", "qd"}, "[launch]\nthrough = \"torus\"");
    const Outcome whole = run(cluster.job({"connect", "exchange", "barrier", "finalize"}));
    CHECK(whole.code == 0);
    cluster.folder().write("cut", "qa > qb\nqb > qa\n");
    const Outcome around =
        run(cluster.job({"connect", "exchange", "barrier", "report", "finalize"}));
    INFO(around.errors);
    CHECK(around.code == 0);
    CHECK(around.errors.empty());
    CHECK(count(around.output, "torus-run rank ") == 4);
    CHECK_CONTAINS(cluster.folder().read("reached"), "qd > qc\nqc > qb\n");
    // Events on the host behind are reported, too.
    const Outcome failed = run(cluster.job({"connect", "barrier", "1:exit=7", "sleep"}));
    CHECK(failed.code == 7);
    CHECK_CONTAINS(failed.errors, "rank 1 (host qb, pid ");

    cluster.folder().write("cut", "qa > qb\nqc > qb\n");
    const Outcome cut = run(cluster.job({"connect", "finalize"}));
    CHECK(cut.code == 2);
    CHECK_CONTAINS(cut.errors, "host qb cannot be used");
    CHECK_CONTAINS(cut.errors, "No route to host; host qa does not reach it either; nothing was");
    CHECK(cut.lines_of_torus_run() == 1);
}

TEST_CASE("A dead cable is reported once although both ends report it, and so is its return") {
    const Cluster cluster("[3]", {"qa", "qb", "qc"});
    const Words death{"connect",        "0:link=0,1,0,no carrier,", "0:link=0,1,1,,1 2 1 1",
                      "1:link=1,0,0,,", "1:link=1,0,1,,0 2 0 0",    "barrier"};
    const Words end{"finalize"}, back{"0:link=0,1,2,,", "1:link=1,0,2,,", "barrier", "finalize"};
    const auto job = [&](const Words& then) {
        Words steps = death;
        steps.insert(steps.end(), then.begin(), then.end());
        return run(cluster.job(steps));
    };
    const std::string cable = "the cable from qa (no device) (0+) to qb (no device) (0-)";
    const Outcome dead = job(end);
    CHECK(dead.code == 0);
    CHECK_CONTAINS(dead.errors, "torus-run: warning: " + cable + " has been dead since ");
    CHECK_CONTAINS(dead.errors, ": qa saw: no carrier; the job uses a detour over qc\n");
    CHECK(dead.lines_of_torus_run() == 1);
    const Outcome returned = job(back);
    CHECK(returned.code == 0);
    CHECK_CONTAINS(returned.errors, cable + " was dead for ");
    CHECK(returned.lines_of_torus_run() == 1);
    // An impossible report comes from a broken rank, which ends the job.
    const Outcome lie = run(cluster.job({"connect", "1:link=0,0,0,,", "barrier", "finalize"}));
    CHECK(lie.code == 1);
    CHECK_CONTAINS(lie.errors, "rank 1 (host qb, pid ");
    CHECK_CONTAINS(lie.errors, "sent a damaged report of a link; the job is ended\n");
}

}  // namespace torusmp::torus_run::test::hosts_test
