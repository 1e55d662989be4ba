// torus-run over several hosts. The hosts are made up: the agent is a script that starts the daemon
// on this one, in another folder and with another HOME, and some hosts have something wrong.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>

#include "folder.h"
#include "process.h"
#include "programs.h"

namespace torusmp::launch::test {
namespace {

using Words = std::vector<std::string>;

#define CHECK_CONTAINS(text, piece) CHECK_THAT(text, Catch::Matchers::Contains(piece))

// Long enough for the slowest machine to answer in, short enough to be waited for.
constexpr const char* short_timeout = "transport.timeout=2s";

class Cluster {
  public:
    // `dims`: as in the geometry file; `hosts`: their names.
    explicit Cluster(const std::string& dims, const Words& hosts, const std::string& more = {}) {
        folder_.script(
            "agent",
            "host=$1; shift\n"
            "export FAKE_HOST=$host HOME=/home/of/$host; cd /\n"
            "echo \"$FAKE_FROM > $host\" >> " +
                folder_.file("reached") +
                "\n"
                "export FAKE_FROM=$host\n"
                "case $host in\n"
                "  noisy*) echo 'Welcome!'; echo 'Use of this machine is watched.' >&2;;\n"
                "  down*) echo 'connect to host port 22: No route to host' >&2; exit 255;;\n"
                "  bare*) exec /no/such/folder/torus-run \"$@\";;\n"
                "  old*) printf '\\0torus-daemon 0.0.1 (protocol 0.1)\\n'; exec cat;;\n"
                "  talks*) while :; do echo I am no daemon, but I talk a lot; done;;\n"
                "  other*) exec 9< " +
                folder_.file("other") +
                ";;\n"
                "  none*) exec 9<&-;;\n"
                "  dies*) printf '\\0torus-kee'; exit 3;;\n"
                "esac\n"
                "exec \"$@\"\n");
        std::string list;
        for (const std::string& host : hosts)
            list += fmt::format("{}  \"{}\"", list.empty() ? "" : ",\n", host);
        folder_.write(
            "geometry.toml",
            fmt::format("[torus]\ndims = {}\n{}\n[nodes]\nhosts = [\n{}\n]\n", dims, more, list));
    }

    // torus-run [options] command...
    Words start(const Words& command, const Words& options = {}) const {
        Words words{torus_run, "--config", folder_.file("geometry.toml")};
        if (std::find(options.begin(), options.end(), "--agent") == options.end())
            words.insert(words.end(), {"--agent", folder_.file("agent")});
        words.insert(words.end(), options.begin(), options.end());
        words.insert(words.end(), command.begin(), command.end());
        return words;
    }
    Words job(Words steps, const Words& options = {}) const {
        steps.insert(steps.begin(), rank_program);
        return start(steps, options);
    }
    const TemporaryFolder& folder() const { return folder_; }

  private:
    TemporaryFolder folder_;
};

pid_t only(const std::vector<pid_t>& pids) {
    REQUIRE(pids.size() == 1);
    return pids.front();
}

// On another host: the process that the agent became, and its child, the parent of the ranks there.
pid_t guard_of(const Process& process, const std::string& host) {
    return only(process.marked("torus-run", "FAKE_HOST=" + host));
}
pid_t daemon_of(const Process& process, const std::string& host) {
    return only(process.marked("torus-daemon", "FAKE_HOST=" + host));
}
// Not one of the processes that it leaves behind, in sessions of their own. Long names are cut in
// comm.
pid_t rank_of(const Process& process, const std::string& host) {
    auto found =
        process.marked(std::string("launch_rank_program").substr(0, 15), "HOME=/home/of/" + host);
    const pid_t session = getsid(daemon_of(process, host));
    std::erase_if(found, [session](pid_t pid) { return getsid(pid) != session; });
    return only(found);
}

}  // namespace

// ---- an orderly job ----

TEST_CASE("Ranks of several hosts exchange what they have and know who is on their host") {
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

TEST_CASE("On every host ranks find our libraries behind the folders that the user names") {
    const Cluster cluster("[2]", {"qa", "localhost"});
    Words words = cluster.start({"/bin/sh", "-c", "echo $LD_LIBRARY_PATH"});
    words.insert(words.begin(), {"/usr/bin/env", "LD_LIBRARY_PATH=/of/user"});
    const Outcome outcome = run(words);
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
    const std::string line = std::string("/of/user:") + LIBRARY_FOLDER;
    CHECK(sorted_lines(outcome.output) == Words{line, line});
}

TEST_CASE("Where a node is a block in two dimensions its ranks do not follow each other") {
    const Cluster cluster("[2, 2]", {"qa", "qb", "qc", "qd"}, "ranks_per_node = [2, 1]");
    const Outcome outcome = run(cluster.job({"connect", "report", "exchange", "finalize"}));
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
    const Words lines = sorted_lines(outcome.output);
    REQUIRE(lines.size() == 8);
    CHECK(lines[0] == "torus-run rank 0 of 8, local 0 2");
    CHECK(lines[5] == "torus-run rank 5 of 8, local 5 7");
}

TEST_CASE("One of the hosts may be this one, which needs no agent") {
    const Cluster cluster("[3]", {"qa", "localhost", "qc"});
    const Outcome outcome = run(cluster.job({"connect", "exchange", "report", "finalize"}));
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
    CHECK(count(outcome.output, "rank 1 of 3, local 1\n") == 1);
    CHECK(sorted_lines(cluster.folder().read("reached")) == Words{" > qa", " > qc"});
}

TEST_CASE(
    "Environment, working directory and file mask are carried, what belongs to a host is not") {
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

TEST_CASE("A host that greets users on both streams is still a host") {
    const Cluster cluster("[2]", {"noisy-a", "noisy-b"});
    const Outcome outcome = run(cluster.job({"connect", "exchange", "print=done", "finalize"}));
    CHECK(outcome.code == 0);
    CHECK(outcome.output == "done\ndone\n");
    CHECK(outcome.errors.empty());
}

TEST_CASE("A verbose job names hosts, ranks and what an agent says") {
    const Cluster cluster("[2]", {"noisy-a", "qb"});
    const Outcome outcome = run(cluster.job({"connect", "finalize"}, {"--verbose"}));
    CHECK(outcome.code == 0);
    CHECK_CONTAINS(outcome.errors, "reached host qb");
    CHECK_CONTAINS(outcome.errors, "started rank 1 (host qb, pid ");
    CHECK_CONTAINS(outcome.errors, "host noisy-a says: Use of this machine is watched.");
}

TEST_CASE("More hosts than are reached at a time all take part") {
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

TEST_CASE("A slow reader loses nothing of what other hosts print") {
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

TEST_CASE("A rank 0 on another host that does not read its input ends like any other") {
    const Cluster cluster("[2]", {"qa", "qb"});
    Words command = cluster.job({"connect", "barrier", "finalize"});
    command.insert(command.begin(), {"/bin/sh", "-c", "yes | \"$0\" \"$@\""});
    const Outcome outcome = run(command);
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
}

// ---- the end ----

TEST_CASE("The failing rank's code, signal or text comes from whatever host it is on") {
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
        {"2:exit=0", 1, "exited with code 0 without finalize()"},
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

TEST_CASE("A rank that fails because another was killed does not hide who was killed") {
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
    CHECK_CONTAINS(finalized.errors, "called finalize() while rank 0 waits in barrier()");
    const Outcome different = run(cluster.job({"connect", "0:barrier", "1:exchange", "finalize"}));
    CHECK(different.code == 1);
    CHECK_CONTAINS(different.errors, "exchange()");
}

TEST_CASE("A timeout ends the ranks of every host") {
    const Cluster cluster("[2]", {"qa", "qb"});
    Process process(cluster.job({"connect", "sleep"}, {"--timeout", "0.7"}));
    const Outcome outcome = process.wait();
    CHECK(outcome.code == 124);
    CHECK_CONTAINS(outcome.errors, "--timeout of 0.7 s");
    CHECK(process.all_gone());
}

TEST_CASE("What ranks leave behind on another host is ended and told") {
    const Cluster cluster("[2]", {"qa", "qb"});
    Process process(cluster.job({"connect", "1:spawn-orphan", "finalize"}));
    const Outcome outcome = process.wait();
    CHECK(outcome.code == 0);
    CHECK_CONTAINS(outcome.errors, "1 process that the ranks left behind on host qb was ended");
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

TEST_CASE("A user who stops the whole job for longer than the timeout loses nothing") {
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

// ---- deaths ----

TEST_CASE("A rank that is stopped for longer than the timeout is named and ends the job") {
    const Cluster cluster("[2]", {"qa", "qb"});
    SECTION("as itself") {
        Process process(cluster.job({"connect", "1:kill=19", "sleep"}, {"--set", short_timeout}));
        const Outcome outcome = process.wait();
        INFO(outcome.errors);
        CHECK(outcome.code == 128 + SIGSTOP);
        CHECK_CONTAINS(outcome.errors, "torus-run: rank 1 (host qb, pid ");
        CHECK_CONTAINS(outcome.errors,
                       "is stopped by SIGSTOP (Stopped (signal)) for longer than "
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

TEST_CASE("Every part of torus-run on every host may be killed: all is gone, and the host named") {
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
    }
}

TEST_CASE("A daemon that stands still is found out by its silence, and everything ends") {
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
                       "lets it go on before transport.timeout = 2s, when the other hosts end");
        CHECK_CONTAINS(outcome.errors,
                       fmt::format("gave up torus-run, whose daemon process here (pid {}) stood "
                                   "still for ",
                                   head));
        CHECK(outcome.lines_of_torus_run() == 2);
    }
}

TEST_CASE("A job that is stopped as a whole for longer than the timeout loses nothing") {
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
        usleep(50'000);  // for who is told of it
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

TEST_CASE("Ranks that ask are told who died where and of what, before the job ends") {
    const Cluster cluster("[3]", {"qa", "qb", "localhost"});
    const Outcome outcome = run(cluster.job(
        {"connect", "watch", "barrier", "1:kill=9", "deaths=1", "abort=9,lost my neighbour"}));
    INFO(outcome.errors);
    CHECK(outcome.code == 128 + SIGKILL);
    CHECK(outcome.output ==
          "rank 1 on qb was killed by SIGKILL (Killed)\n"
          "rank 1 on qb was killed by SIGKILL (Killed)\n");
    CHECK_CONTAINS(outcome.errors, "rank 1 (host qb, pid ");
    CHECK(count(outcome.errors, "says: lost my neighbour") == 2);
}

TEST_CASE("With --keep-going the others go on when a rank dies, and meet without it") {
    const Cluster cluster("[3]", {"qa", "qb", "localhost"});
    const Outcome outcome = run(cluster.job({"connect", "watch", "barrier", "1:kill=9", "deaths=1",
                                             "barrier", "exchange-living", "finalize"},
                                            {"--keep-going"}));
    INFO(outcome.errors);
    CHECK(outcome.code == 128 + SIGKILL);
    CHECK(count(outcome.output, "rank 1 on qb was killed by SIGKILL (Killed)\n") == 2);
    CHECK(count(outcome.output, "living 0 2\n") == 2);
    CHECK_CONTAINS(outcome.errors, "was killed by SIGKILL (Killed); the others go on");
    CHECK(outcome.lines_of_torus_run() == 1);
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
    CHECK(outcome.code != 0);
    CHECK(count(outcome.output, "rank 1 on qa is stopped by SIGSTOP") == 3);
    CHECK(count(outcome.output, "rank 2 on qb is lost with its host, which is lost: ") == 3);
    CHECK(count(outcome.output, "rank 3 on qb is lost with its host, which is lost: ") == 3);
    CHECK(count(outcome.output, "living 0 4 5\n") == 3);
    CHECK(process.all_gone());
}

// ---- over the torus ----

TEST_CASE("Over the torus each host is reached from a neighbour, and all works as over a network") {
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

TEST_CASE("Over the torus a host that is lost cuts off those behind it, and both are told") {
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

TEST_CASE("Over the torus a failure far away and the user's signals travel the tree") {
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

// ---- bad input ----

TEST_CASE("What is wrong with a host is told in one message, before any rank starts") {
    struct Case {
        Words hosts;
        Words options;
        std::string program;
        Words expected;
    };
    const Case cases[] = {
        {{"qa", "down-b"},
         {},
         rank_program,
         {"geometry.toml:7: host down-b cannot be used: its agent 'agent' exited with code 255 and "
          "said: connect to host port 22: No route to host; nothing was started"}},
        {{"bare-a", "bare-b"},
         {},
         rank_program,
         {"geometry.toml:6: hosts bare-a and bare-b cannot be used", "exited with code 127",
          "--torus-run PATH says where"}},
        {{"qa", "old-b"},
         {},
         rank_program,
         {"geometry.toml:7: host old-b runs torus-run 0.0.1 (protocol 0.1), expected"}},
        {{"talks-a", "qb"},
         {},
         rank_program,
         {"host talks-a answers with something that is not torus-run: \"I am no daemon"}},
        {{"dies-a", "qb"}, {}, rank_program, {"host dies-a cannot be used", "exited with code 3"}},
        {{"down-a", "old-b"},
         {},
         rank_program,
         {"2 things are wrong, and nothing was started:\n", "geometry.toml:6: host down-a",
          "geometry.toml:7: host old-b"}},
        {{"qa", "qb"},
         {},
         "/no/such/program",
         {"hosts qa and qb: program '/no/such/program' cannot be found: No such file"}},
        {{"qa", "qb"},
         {},
         "torusmp-no-such-program",
         {"hosts qa and qb: program 'torusmp-no-such-program' is in no folder of PATH"}},
        {{"qa", "qb"},
         {"--agent", "torusmp-no-agent -q"},
         rank_program,
         {"hosts qa and qb cannot be reached: the agent 'torusmp-no-agent' cannot be started: No "
          "such file"}},
        {{"qa", "qb"}, {"--agent", "'open"}, rank_program, {"the quote ' does not end"}},
        {{"qa", "qb"},
         {"--torus-run", "/bin/cat"},
         rank_program,
         {"hosts qa and qb", "/bin/cat: unrecognized option"}},
        {{"qa", "qa"}, {}, rank_program, {"geometry.toml:7: nodes.hosts names \"qa\" twice"}},
    };
    for (const Case& wrong : cases) {
        const Cluster cluster("[2]", wrong.hosts);
        const std::string started = cluster.folder().file("started");
        Process process(cluster.start({wrong.program, "touch=" + started}, wrong.options));
        process.close_input();
        const Outcome outcome = process.wait();
        INFO("errors: " << outcome.errors);
        CHECK(outcome.code == 2);
        CHECK(outcome.lines_of_torus_run() == 1);
        for (const std::string& expected : wrong.expected) CHECK_CONTAINS(outcome.errors, expected);
        CHECK(outcome.output.empty());
        CHECK_FALSE(std::filesystem::exists(started));
        CHECK(process.all_gone());
    }
}

TEST_CASE("Devices are checked on every host before any rank starts") {
    const Cluster cluster("[2]", {"qa", "qb"},
                          "[links]\n\"0+\" = \"torusmp-no0\"\n\"0-\" = \"torusmp-no1\"");
    const Outcome outcome = run(cluster.job({"print=started"}));
    INFO(outcome.errors);
    CHECK(outcome.code == 2);
    CHECK(outcome.output.empty());
    CHECK_CONTAINS(outcome.errors, "geometry.toml:4: host qa: device torusmp-no0");
    CHECK_CONTAINS(outcome.errors, "geometry.toml:5: host qb: device torusmp-no1");
    CHECK(outcome.lines_of_torus_run() == 1);
}

TEST_CASE("A geometry file that is another one on a host is found, one that is not there is fine") {
    // All look at descriptor 9, which the agent opens anew for some hosts.
    const auto run_with = [](const Words& hosts) {
        const Cluster cluster("[2]", hosts);
        cluster.folder().write("other", "# another file\n");
        Words command = cluster.job({"print=started"});
        command[2] = "/proc/self/fd/9";
        command.insert(
            command.begin(),
            {"/bin/sh", "-c", "exec \"$0\" \"$@\" 9< " + cluster.folder().file("geometry.toml")});
        return run(command);
    };
    const Outcome other = run_with({"qa", "other-b"});
    INFO(other.errors);
    CHECK(other.code == 2);
    CHECK(other.output.empty());
    CHECK_CONTAINS(other.errors,
                   "fd/9:7: host other-b: the geometry file /proc/self/fd/9 is "
                   "another one there");
    const Outcome none = run_with({"qa", "none-b"});
    INFO(none.errors);
    CHECK(none.code == 0);
}

TEST_CASE("SIGINT while hosts are being reached ends torus-run and its agents") {
    const Cluster cluster("[2]", {"qa", "qb"});
    const std::string agent =
        cluster.folder().script("slow-agent", "echo waiting >&2; sleep 600\n");
    Process process(cluster.job({"print=started"}, {"--agent", agent}), {"SLOW=yes"});
    const auto end = std::chrono::steady_clock::now() + hang_guard;
    while (process.marked("slow-agent", "TERM=dumb").size() < 2 && process.marked().size() < 6 &&
           std::chrono::steady_clock::now() < end)
        usleep(5'000);
    process.send(SIGINT);
    const Outcome outcome = process.wait();
    CHECK(outcome.code == 128 + SIGINT);
    CHECK(outcome.output.empty());
    CHECK(process.all_gone());
}

}  // namespace torusmp::launch::test
