// SPDX-License-Identifier: BSD-3-Clause
// A faulty host, or a wrong order to a host, is reported before any rank starts.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>

#include "cluster.h"

namespace torusmp::torus_run::test::bad_hosts_test {

TEST_CASE("A faulty host is reported in one message, before any rank starts") {
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
         {"geometry.toml:7: host down-b cannot be used: its agent 'agent' exited with code 255; "
          "its last output: connect to host port 22: No route to host; nothing was started"}},
        {{"bare-a", "bare-b"},
         {},
         rank_program,
         {"geometry.toml:6: hosts bare-a and bare-b cannot be used", "exited with code 127",
          "give its path with --torus-run PATH"}},
        {{"qa", "old-b"},
         {},
         rank_program,
         {"geometry.toml:7: host old-b runs torus-run 0.0.1 (protocol 0.1), expected"}},
        {{"old-a", "old-b"},
         {},
         rank_program,
         {"geometry.toml:6: hosts old-a and old-b run torus-run 0.0.1 (protocol 0.1), expected"}},
        {{"talks-a", "talks-b"},
         {},
         rank_program,
         {"hosts talks-a and talks-b sent a reply that is not from torus-run: \"I am no "
          "daemon"}},
        {{"talks-a", "qb"},
         {},
         rank_program,
         {"host talks-a sent a reply that is not from torus-run: \"I am no daemon"}},
        {{"dies-a", "qb"}, {}, rank_program, {"host dies-a cannot be used", "exited with code 3"}},
        {{"down-a", "old-b"},
         {},
         rank_program,
         {"2 problems found; nothing was started:\n", "geometry.toml:6: host down-a",
          "geometry.toml:7: host old-b"}},
        {{"qa", "qb"},
         {},
         "/no/such/program",
         {"hosts qa and qb: cannot find program '/no/such/program': No such file"}},
        {{"qa", "qb"},
         {},
         "torusmp-no-such-program",
         {"hosts qa and qb: program 'torusmp-no-such-program' was not found in PATH"}},
        {{"qa", "qb"},
         {"--agent", "torusmp-no-agent -q"},
         rank_program,
         {"hosts qa and qb cannot be reached: cannot start the agent 'torusmp-no-agent': No "
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

TEST_CASE("A geometry file that differs on a host is reported, a missing one is accepted") {
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
                   "fd/9:7: host other-b: the geometry file /proc/self/fd/9 differs "
                   "from the file on this host");
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

}  // namespace torusmp::torus_run::test::bad_hosts_test
