// SPDX-License-Identifier: BSD-3-Clause
// Options of other launchers, output files of ranks, and the data that debuggers read in torus-run.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "config/host.h"
#include "config/options.h"
#include "folder.h"
#include "local_job.h"
#include "process.h"
#include "programs/torus_run/front/familiar.h"

namespace torusmp::torus_run::test::familiar_options_test {
namespace {

using Catch::Contains;

Options parse(std::vector<const char*> words) {
    words.insert(words.begin(), "mpirun");
    words.push_back("a");
    return parse_options(int(words.size()), words.data());
}
std::string bind_of(const Options& options) {
    for (const auto& flag : options.settings.flags)
        if (flag.key == "launch.bind") return flag.value;
    return "";
}
std::string cores_of(const Options& options) {
    for (const auto& flag : options.settings.flags)
        if (flag.key == "launch.cpus_per_rank") return flag.value;
    return "";
}
std::string refusal(const std::vector<const char*>& words) {
    try {
        parse(words);
    } catch (const config::UsageError& error) {
        return error.what();
    }
    return "accepted";
}

}  // namespace

TEST_CASE("Options of other launchers mean what their users expect") {
    CHECK(parse({"-l"}).tag_output);
    CHECK(parse({"-prepend-rank"}).tag_output);
    CHECK(bind_of(parse({"--bind-to", "core"})) == "core");
    CHECK(bind_of(parse({"--bind-to", "socket"})) == "numa");
    CHECK(bind_of(parse({"-bind-to", "none"})) == "none");
    CHECK(bind_of(parse({"--bind-to", "node"})) == "none");
    CHECK(bind_of(parse({"--bind-to", "slot"})) == "auto");
    CHECK(bind_of(parse({"--map-by", "socket:PE=2"})) == "numa");
    CHECK(cores_of(parse({"--map-by", "socket:PE=2"})) == "2");
    CHECK(cores_of(parse({"--map-by", "slot:PE=3"})) == "3");
    CHECK(cores_of(parse({"--map-by", "ppr:2:node:PE=4"})) == "4");
    CHECK(parse({"--map-by", "ppr:2:node"}).ranks_per_host == 2);
    CHECK(cores_of(parse({"--cpus-per-rank", "2"})) == "2");
    CHECK(cores_of(parse({"-cpus-per-proc", "2"})) == "2");
    CHECK(cores_of(parse({"-bind-to", "core:4"})) == "4");
    CHECK(bind_of(parse({"-bind-to", "core:4"})) == "core");
    CHECK(parse({"-N", "2"}).ranks_per_host == 2);
    CHECK(parse({"-npernode", "2"}).ranks_per_host == 2);
    CHECK(parse({"-c", "3"}).programs.front().ranks == 3);
    CHECK(bind_of(parse({"-bind-to-core"})) == "core");
    for (const std::vector<const char*>& words : std::vector<std::vector<const char*>>{
             {"-gdb", "-np", "2"}, {"-gdb", "all", "-np", "2"}}) {
        const Options gdb = parse(words);
        CHECK(gdb.in_windows == "all");
        CHECK(gdb.programs.front().ranks == 2);
    }
    CHECK(parse({"-gdb", "0,2"}).in_windows == "0,2");
    CHECK(parse({"--pernode"}).ranks_per_host == 1);
    CHECK(parse({"-H", "a,b"}).hosts.size() == 2);
    CHECK(parse({"-V"}).version);
    CHECK(parse({"-v"}).verbose);
    CHECK(parse({"-q"}).quiet);
    CHECK(parse({"--display-map"}).display_map);
    CHECK(parse({"-print-rank-map"}).display_map);
    CHECK(parse({"--display", "map,bind"}).display_map);
    CHECK(parse({"--display", "map,bind"}).report_bindings);
    CHECK(parse({"--output", "tag"}).tag_output);
    CHECK(parse({"--prefix", "/opt/t"}).torus_run == "/opt/t/bin/torus-run");
    CHECK(parse({"-launcher", "rsh"}).settings.flags.front().value == "rsh");
    CHECK(parse({"-launcher-exec", "my ssh"}).settings.flags.front().value == "my ssh");
    CHECK(parse({"-disable-auto-cleanup"}).keep_going);
    CHECK(parse({"--with-ft", "ulfm"}).keep_going);
    CHECK(parse({"-with-ft", "mpi"}).keep_going);
    CHECK_FALSE(parse({"--with-ft", "no"}).keep_going);
    CHECK(bind_of(parse({"--map-by", "socket", "--bind-to", "core"})) == "core");
    CHECK(bind_of(parse({"--map-by", "slot"})).empty());
    CHECK(parse({"-ppn", "3"}).ranks_per_host == 3);
    CHECK(parse({"--report-bindings"}).report_bindings);
    const Options files = parse({"--output-filename", "out"});
    CHECK(files.files.output == "out/rank.%r/stdout");
    CHECK(files.files.errors == "out/rank.%r/stderr");
    CHECK(parse({"-outfile-pattern", "o.%r.%h"}).files.output == "o.%r.%h");
    CHECK(parse({"-np", "2", "-genvall", "-mca", "btl", "tcp,self"}).ignored.size() == 2);
    CHECK(parse_rank_list("0,2-3", "--gdb", 5) == std::vector{0, 2, 3});
    CHECK(parse_rank_list("all", "--gdb", 3) == std::vector{0, 1, 2});
}

TEST_CASE("Meaningless values of such options are refused with the list of valid values") {
    CHECK_THAT(refusal({"--with-ft", "x"}), Contains("expected ulfm, mpi or no"));
    CHECK_THAT(refusal({"--bind-to", "moon"}), Contains("moon") && Contains("core, socket"));
    CHECK_THAT(refusal({"--map-by", "node"}), Contains("torus.ranks_per_node"));
    CHECK_THAT(refusal({"--map-by", "dist"}), Contains("dist") && Contains("slot, core"));
    CHECK_THAT(refusal({"--bind", "core", "--bind-to", "core"}), Contains("exclude each other"));
    CHECK_THAT(refusal({"-ppn", "0"}), Contains("-ppn 0"));
    CHECK_THAT(refusal({"-ppn", "2", "--map-by", "ppr:3:node"}), Contains("disagree"));
    for (const char* odd :
         {"slot:PE=0", "slot:PE=x", "slot:SPAN", "ppr:2:socket", "ppr:x:node", "::"})
        CHECK_THAT(refusal({"--map-by", odd}), Contains(odd) && Contains("expected"));
    CHECK_THAT(refusal({"--bind-to", "core:report"}), Contains("core:report"));
    CHECK(refusal({"--bind-to", "core:overload-allowed"}) == "accepted");
    CHECK_THAT(refusal({"--display", "topo"}), Contains("topo") && Contains("map"));
    CHECK_THAT(refusal({"--output", "xml"}), Contains("xml") && Contains("tag"));
    CHECK_THAT(refusal({"-launcher", "fork"}), Contains("fork") && Contains("--agent"));
    for (const auto& [option, advice] :
         std::vector<std::pair<const char*, const char*>>{{"--timestamp-output", "ts"},
                                                          {"-iface", "[links]"},
                                                          {"--rankfile", "-ppn N"},
                                                          {"-rf=file", "-ppn N"},
                                                          {"--nooversubscribe", "share cores"},
                                                          {"--cpu-set", "taskset"},
                                                          {"-configfile", "command line"},
                                                          {"--tune", "--set KEY=VALUE"},
                                                          {"-tv", "--gdb RANKS"}})
        CHECK_THAT(refusal({option}), Contains("is not an option of torusmp") && Contains(advice));
    CHECK_THAT(refusal({"-outfile-pattern", "a.%x"}), Contains("%r") && Contains("a.%x"));
    CHECK_THAT(refusal({"--output-filename", "o", "-outfile-pattern", "p"}),
               Contains("exclude each other"));
    CHECK_THAT(refusal({"--gdb", "0", "--xterm", "0"}), Contains("exclude each other"));
    CHECK_THROWS_WITH(parse_rank_list("0,9", "--gdb", 4), Contains("0 to 3"));
    CHECK_THROWS_WITH(parse_rank_list("2-1", "--gdb", 4), Contains("2-1"));
    CHECK_THROWS_WITH(parse_rank_list("x", "--gdb", 4), Contains("'x'"));
}

TEST_CASE("The output of each rank goes to its own file") {
    const TemporaryFolder folder;
    const Outcome outcome =
        run(job(3, {"print=out", "error=err", "part=unfinished", "connect", "finalize"},
                {"--output-filename", folder.file("deep/out")}));
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
    CHECK(outcome.output.empty());
    CHECK(outcome.errors.empty());
    for (const char* rank : {"0", "1", "2"}) {
        const std::string files = std::string("deep/out/rank.") + rank;
        CHECK(folder.read(files + "/stdout") == "out\nunfinished");
        CHECK(folder.read(files + "/stderr") == "err\n");
    }
}

TEST_CASE("Ranks that share a file keep their lines whole in it") {
    const TemporaryFolder folder;
    const Outcome outcome = run(script(3, "for i in 1 2 3 4 5; do echo one line; done",
                                       {"-l", "-outfile-pattern", folder.file("all")}));
    CHECK(outcome.code == 0);
    const std::string text = folder.read("all");
    for (const char* line : {"[0] one line\n", "[1] one line\n", "[2] one line\n"})
        CHECK(count(text, line) == 5);
    CHECK(text.size() == 15 * std::string("[0] one line\n").size());
}

TEST_CASE("A file that cannot be written is named once, and the job goes on") {
    const TemporaryFolder folder;
    const std::string file = folder.write("file", "");
    const Outcome outcome = run(
        script(1, "echo lost; echo lost again; exit 0", {"-outfile-pattern", file + "/below.%r"}));
    CHECK(outcome.code == 1);
    CHECK_THAT(outcome.errors, Contains("cannot write ") && Contains("below.0: "));
    CHECK(outcome.lines_of_torus_run() == 1);
}

TEST_CASE("Options without effect cause a warning, and bindings are reported") {
    const Outcome outcome = run(
        job(2, {"connect", "finalize"}, {"-mca", "btl", "tcp", "-genvall", "--report-bindings"}));
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.errors, Contains("-mca btl=tcp is ignored"));
    CHECK_THAT(outcome.errors, Contains("-genvall has no effect"));
    CHECK_THAT(outcome.errors, Contains("started rank 1") && Contains("on cpu"));
}

TEST_CASE("The map of ranks is printed, and -q omits warnings of ignored options") {
    const Outcome outcome = run({torus_run, "-np", "3", "-q", "--display-map", "-mca", "btl", "tcp",
                                 "--here", "me", "/bin/true"});
    CHECK(outcome.code == 0);
    CHECK(outcome.output == "torus-run: me: ranks 0, 1, 2\n");
    CHECK(outcome.errors.empty());
}

TEST_CASE("Ranks get the cores that they request, and a single rank gets all") {
    const int cores = config::discover_cores().usable_cores();
    const auto bound = [](const Words& options) {
        Words words{torus_run, "--report-bindings"};
        words.insert(words.end(), options.begin(), options.end());
        words.push_back("/bin/true");
        return run(words);
    };
    CHECK_THAT(bound({"-np", "1"}).errors, Contains("on cpu any"));
    if (cores < 2) return;
    CHECK_THAT(bound({"-np", "2"}).errors, !Contains("any"));
    const Outcome alone = bound({"-np", "1", "--map-by", "slot:PE=2"});
    CHECK(alone.code == 0);
    CHECK_THAT(alone.errors, !Contains("any"));
    // Two ranks with all cores each are too many; by OMP_NUM_THREADS they are free.
    const std::string all = std::to_string(cores);
    const Outcome many = bound({"-np", "2", "--cpus-per-rank", all});
    CHECK(many.code == 2);
    CHECK_THAT(many.errors, Contains("launch.cpus_per_rank") && Contains("this host has " + all));
    const Outcome threads = bound({"-np", "2", "-x", "OMP_NUM_THREADS=" + all});
    CHECK(threads.code == 0);
    CHECK(count(threads.errors, "on cpu any") == 2);
    const Outcome contradiction = bound({"-np", "1", "--cpus-per-rank", "1", "--bind", "none"});
    CHECK(contradiction.code == 2);
    CHECK_THAT(contradiction.errors, Contains("launch.bind = none"));
}

TEST_CASE("The option -ppn gives the number of ranks, or must agree with it") {
    const Outcome two = run({torus_run, "-ppn", "2", "/bin/sh", "-c", "echo one"});
    CHECK(count(two.output, "one\n") == 2);
    const Outcome wrong = run({torus_run, "-ppn", "2", "-np", "3", "/bin/true"});
    CHECK(wrong.code == 2);
    CHECK_THAT(wrong.errors, Contains("-ppn 2") && Contains("3 ranks"));
}

TEST_CASE("Windows without a display or terminal are refused") {
    const Outcome gdb = run({"/usr/bin/env", "-u", "TMUX", "-u", "DISPLAY", torus_run, "-np", "2",
                             "--gdb", "0", "/bin/true"});
    CHECK(gdb.code == 2);
    CHECK_THAT(gdb.errors, Contains("inside tmux"));
}

TEST_CASE("A debugger that attaches to torus-run finds all ranks") {
    if (system("gdb --version > /dev/null 2>&1") != 0) return;
    Process process(job(3, {"connect", "print=ready", "sleep"}));
    REQUIRE(process.wait_for_output("ready\n", 3));
    const TemporaryFolder folder;
    const Outcome seen =
        run({"/usr/bin/gdb", "-q", "-nx", "-batch", "-p", std::to_string(process.pid()), "-ex",
             "printf \"ranks %d\\n\", MPIR_proctable_size", "-ex",
             "printf \"third %s\\n\", MPIR_proctable[2].executable_name", "-ex",
             "printf \"pid %d\\n\", MPIR_proctable[1].pid"});
    INFO(seen.errors);
    if (seen.output.find("ptrace") != std::string::npos) return;  // not allowed here
    CHECK_THAT(seen.output, Contains("ranks 3"));
    CHECK_THAT(seen.output, Contains("third " + rank_program));
    process.send(SIGINT);
    process.wait();
}

TEST_CASE("Ranks wait for a debugger that has started torus-run") {
    if (system("gdb --version > /dev/null 2>&1") != 0) return;
    const Outcome seen = run({"/usr/bin/gdb",
                              "-q",
                              "-nx",
                              "-batch",
                              "-ex",
                              "set breakpoint pending on",
                              "-ex",
                              "set debuginfod enabled off",
                              "-ex",
                              "break main",
                              "-ex",
                              "run",
                              "-ex",
                              "set variable MPIR_being_debugged = 1",
                              "-ex",
                              "break MPIR_Breakpoint",
                              "-ex",
                              "continue",
                              "-ex",
                              "printf \"state %d ranks %d\\n\", MPIR_debug_state, "
                              "MPIR_proctable_size",
                              "-ex",
                              "delete",
                              "-ex",
                              "continue",
                              "--args",
                              torus_run,
                              "-np",
                              "2",
                              rank_program,
                              "connect",
                              "barrier",
                              "print=over",
                              "finalize"});
    INFO(seen.errors);
    CHECK_THAT(seen.output, Contains("state 1 ranks 2"));
    CHECK(count(seen.output, "over\n") == 2);
}

}  // namespace torusmp::torus_run::test::familiar_options_test
