// torus-run as its users see it: every test starts the real program with small helper programs.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "folder.h"
#include "process.h"
#include "programs.h"

namespace torusmp::launch::test {
namespace {

using Words = std::vector<std::string>;

// torus-run -np N [options] rank_program steps...
Words job(int ranks, const Words& steps, const Words& options = {}) {
    Words words{torus_run, "-np", std::to_string(ranks)};
    words.insert(words.end(), options.begin(), options.end());
    words.push_back(rank_program);
    words.insert(words.end(), steps.begin(), steps.end());
    return words;
}

// torus-run -np N sh -c SCRIPT, where $P is the rank program.
Words script(int ranks, const std::string& text, const Words& options = {}) {
    Words words{torus_run, "-np", std::to_string(ranks)};
    words.insert(words.end(), options.begin(), options.end());
    for (const char* word : {"/bin/sh", "-c"}) words.emplace_back(word);
    words.push_back("P=" + rank_program + "; " + text);
    return words;
}

#define CHECK_CONTAINS(text, piece) CHECK_THAT(text, Catch::Matchers::Contains(piece))

}  // namespace

// ---- an orderly job ----

TEST_CASE("Ranks that never connect are a job like any other") {
    const Outcome outcome =
        run({torus_run, "-np", "4", "/bin/sh", "-c", "echo $TORUSMP_RANK/$TORUSMP_SIZE"});
    CHECK(outcome.code == 0);
    CHECK(sorted_lines(outcome.output) == Words{"0/4", "1/4", "2/4", "3/4"});
    CHECK(outcome.errors.empty());
}

TEST_CASE("64 ranks exchange what they have, of any length, and share one secret") {
    const Outcome outcome =
        run(job(64, {"connect", "exchange", "barrier", "exchange", "barrier", "finalize"}));
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
}

TEST_CASE("An exchange larger than every socket buffer arrives whole") {
    const Outcome outcome =
        run(job(8, {"connect", "exchange-large", "exchange-large", "finalize"}));
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
}

TEST_CASE("Each rank learns its number, the size and its local peers") {
    const Outcome outcome = run(job(3, {"connect", "report", "finalize"}));
    CHECK(outcome.code == 0);
    CHECK(sorted_lines(outcome.output) == Words{"torus-run rank 0 of 3, local 0 1 2",
                                                "torus-run rank 1 of 3, local 0 1 2",
                                                "torus-run rank 2 of 3, local 0 1 2"});
}

TEST_CASE("Without a number of ranks the torus says how many ranks there are") {
    const Outcome outcome =
        run({torus_run, "--torus", "3x2", "/bin/sh", "-c", "echo $TORUSMP_RANK"});
    CHECK(outcome.code == 0);
    CHECK(sorted_lines(outcome.output).size() == 6);
}

TEST_CASE("Options behind the program's name belong to the program") {
    const Outcome outcome =
        run({torus_run, "-np", "1", "/bin/echo", "-np", "7", "--torus", "--help"});
    CHECK(outcome.code == 0);
    CHECK(outcome.output == "-np 7 --torus --help\n");
}

TEST_CASE("Two programs under mpirun are one job, with folders and variables of their own") {
    const TemporaryFolder folder;
    const std::string mpirun = folder.path() + "/mpirun";
    std::filesystem::create_symlink(torus_run, mpirun);
    std::filesystem::create_directory(folder.path() + "/sub");
    const Words say{"/bin/sh", "-c",
                    "echo $TORUSMP_APPNUM $TORUSMP_RANK/$TORUSMP_SIZE $A $B ${PWD##*/}"};
    Words words{mpirun, "-genv", "A", "all", "-np", "1"};
    words.insert(words.end(), say.begin(), say.end());
    for (const char* word : {":", "-n", "2", "-x", "B=own", "-wdir"}) words.emplace_back(word);
    words.push_back(folder.path() + "/sub");
    words.insert(words.end(), say.begin(), say.end());
    const Outcome outcome = run(words);
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
    const std::string here = std::filesystem::current_path().filename();
    CHECK(sorted_lines(outcome.output) ==
          Words{"0 0/3 all " + here, "1 1/3 all own sub", "1 2/3 all own sub"});
}

TEST_CASE("Ranks find our libraries behind the folders that the user names") {
    const std::string ours = LIBRARY_FOLDER;
    const auto path_of_ranks = [](const Words& settings, const Words& command) {
        Words words{"/usr/bin/env"};
        words.insert(words.end(), settings.begin(), settings.end());
        words.insert(words.end(), command.begin(), command.end());
        for (const char* word : {"/bin/sh", "-c", "echo $LD_LIBRARY_PATH"})
            words.emplace_back(word);
        const Outcome outcome = run(words);
        CHECK(outcome.code == 0);
        CHECK(outcome.errors.empty());
        return outcome.output;
    };
    const Words start{torus_run, "-np", "1"};
    CHECK(path_of_ranks({"-u", "LD_LIBRARY_PATH"}, start) == ours + "\n");
    CHECK(path_of_ranks({"LD_LIBRARY_PATH="}, start) == ours + "\n");
    CHECK(path_of_ranks({"LD_LIBRARY_PATH=/a:/b"}, start) == "/a:/b:" + ours + "\n");
    CHECK(path_of_ranks({"LD_LIBRARY_PATH=" + ours + ":/b"}, start) == ours + ":/b\n");
    CHECK(path_of_ranks({"LD_LIBRARY_PATH=/a:" + ours}, start) == "/a:" + ours + "\n");

    const TemporaryFolder folder;
    const std::string mpirun = folder.path() + "/mpirun";
    std::filesystem::create_symlink(torus_run, mpirun);
    const Words own{mpirun, "-x", "LD_LIBRARY_PATH=/own", "-np", "1"};
    CHECK(path_of_ranks({"LD_LIBRARY_PATH=/a"}, own) == "/own:" + ours + "\n");
}

TEST_CASE("A folder to start in holds the program, and must be there") {
    const TemporaryFolder folder;
    std::filesystem::create_symlink("/bin/pwd", folder.path() + "/where");
    const Outcome outcome = run({torus_run, "-np", "1", "-wdir", folder.path(), "./where"});
    INFO(outcome.errors);
    CHECK(outcome.output == std::filesystem::canonical(folder.path()).string() + "\n");
    const Outcome refused = run({torus_run, "-np", "1", "-wd", "/nowhere", "/bin/pwd"});
    CHECK(refused.code == 2);
    CHECK_CONTAINS(refused.errors, "'/nowhere' cannot be entered: No such file");
}

TEST_CASE("A list of hosts that is this one says how many ranks there are") {
    const Outcome outcome = run({torus_run, "-host", "localhost:3", "/bin/echo", "x"});
    INFO(outcome.errors);
    CHECK(outcome.output == "x\nx\nx\n");
    const Outcome refused = run({torus_run, "-host", "qcd0,qcd1", "-np", "2", "/bin/echo", "x"});
    CHECK(refused.code == 2);
    CHECK_CONTAINS(refused.errors, "-host: nodes.hosts needs torus.dims");
}

TEST_CASE("A rank under a shell script is still the rank") {
    const Outcome outcome = run(script(3, "$P connect exchange finalize; echo done"));
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
    CHECK(count(outcome.output, "done") == 3);
}

TEST_CASE("A child of a rank that connects is a single process and not the rank") {
    const Outcome outcome = run(
        job(2, {"connect", "1:system=" + rank_program + " connect report", "barrier", "finalize"}));
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
    CHECK(outcome.output == "single rank 0 of 1, local 0\n");
}

TEST_CASE("torus-run inside a rank starts a job of its own") {
    const Outcome outcome = run(job(
        2, {"connect",
            "1:system=" + torus_run + " -np 2 " + rank_program + " connect report barrier finalize",
            "barrier", "finalize"}));
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
    CHECK(count(outcome.output, "torus-run rank 1 of 2") == 1);
}

TEST_CASE("A verbose job names each rank's process and the exit code") {
    const Outcome outcome = run(job(2, {"connect", "finalize"}, {"--verbose"}));
    CHECK(outcome.code == 0);
    CHECK_CONTAINS(outcome.errors, "started rank 1 (host ");
    CHECK_CONTAINS(outcome.errors, "with exit code 0");
}

// ---- streams ----

TEST_CASE("Tagged lines are whole, with rank and stream kept apart") {
    const Outcome outcome = run(
        job(4, {"part=a", "part=b", "print=c", "error=e", "part=unfinished"}, {"--tag-output"}));
    CHECK(outcome.code == 0);
    CHECK(sorted_lines(outcome.output) == Words{"[0] abc", "[0] unfinished", "[1] abc",
                                                "[1] unfinished", "[2] abc", "[2] unfinished",
                                                "[3] abc", "[3] unfinished"});
    CHECK(sorted_lines(outcome.errors) == Words{"[0] e", "[1] e", "[2] e", "[3] e"});
}

TEST_CASE("A line that a rank writes in two parts stays whole, and a question comes at once") {
    TemporaryFolder folder;
    const std::string printed = folder.file("printed");
    // A full buffer first, as stdio cuts what a program prints.
    Process process(script(
        2, fmt::format("if [ $TORUSMP_RANK = 1 ]; then $P wait-for={0}.first; echo other; exec $P "
                       "touch={0}; fi; printf '%04096d' 0; $P touch={0}.first wait-for={0}; echo "
                       "end; printf 'Name? '; read name; echo \"It is $name.\"",
                       printed)));
    REQUIRE(process.wait_for_output("Name? "));
    process.type("Ada\n");
    const Outcome outcome = process.wait();
    INFO(outcome.errors);
    CHECK(outcome.code == 0);
    CHECK(sorted_lines(outcome.output) ==
          Words{std::string(4096, '0') + "end", "Name? It is Ada.", "other"});
}

TEST_CASE("Both streams of a rank keep their order where they lead to one place") {
    TemporaryFolder folder;
    const std::string both = folder.file("both");
    const Outcome outcome =
        run({"/bin/sh", "-c",
             fmt::format("exec {} -np 2 /bin/sh -c 'if [ $TORUSMP_RANK = 0 ]; then for i in 1 2 3 "
                         "4 5 6 7 8; do echo out $i; echo err $i >&2; done; fi' > {} 2>&1",
                         torus_run, both)});
    CHECK(outcome.code == 0);
    std::string expected;
    for (int i = 1; i <= 8; ++i) expected += fmt::format("out {0}\nerr {0}\n", i);
    CHECK(folder.read("both") == expected);
}

TEST_CASE("A full disk behind standard output is told as that, and harms no rank") {
    const std::string option = GENERATE("", "--tag-output");
    TemporaryFolder folder;
    const Outcome outcome =
        run({"/bin/sh", "-c",
             fmt::format("exec {} -np 2 {} /bin/sh -c 'seq 100000 && {} touch={}$TORUSMP_RANK' > "
                         "/dev/full",
                         torus_run, option, rank_program, folder.file("done"))});
    INFO(outcome.errors);
    CHECK(outcome.code == 1);
    CHECK_CONTAINS(outcome.errors,
                   "torus-run: standard output cannot be written: No space left on device");
    CHECK(outcome.lines_of_torus_run() == 1);
    CHECK(std::filesystem::exists(folder.file("done0")));
    CHECK(std::filesystem::exists(folder.file("done1")));
}

TEST_CASE("A slow reader loses no tagged line") {
    constexpr int lines = 20'000;
    Process process(
        script(2, fmt::format("seq -f 'line %.0f of many' 1 {}", lines), {"--tag-output"}));
    process.close_input();
    // torus-run must hold the ranks back by now, without anybody reading.
    usleep(200'000);
    const Outcome outcome = process.wait();
    CHECK(outcome.code == 0);
    CHECK(count(outcome.output, "\n") == 2 * lines);
    CHECK(count(outcome.output, fmt::format("[1] line {} of many\n", lines)) == 1);
}

TEST_CASE("Standard input goes to rank 0 and to no other") {
    Process process(job(2, {"echo"}, {"--tag-output"}));
    process.type("hello\nworld\n");
    process.close_input();
    const Outcome outcome = process.wait();
    CHECK(outcome.code == 0);
    CHECK(sorted_lines(outcome.output) == Words{"[0] in: hello", "[0] in: world"});
}

// ---- the end ----

TEST_CASE("The first failing rank's exit code is the job's, and is reported once") {
    const Outcome outcome = run(job(4, {"connect", "barrier", "2:exit=5", "sleep"}));
    CHECK(outcome.code == 5);
    CHECK_CONTAINS(outcome.errors, "torus-run: rank 2 (host ");
    CHECK_CONTAINS(outcome.errors, "exited with code 5");
    CHECK(outcome.lines_of_torus_run() == 1);
    CHECK(outcome.seconds < hang_guard.count());
}

TEST_CASE("A rank killed by a signal ends the job and the signal is named") {
    const Outcome outcome = run(job(3, {"connect", "1:kill=11", "barrier", "finalize"}));
    CHECK(outcome.code == 128 + SIGSEGV);
    CHECK_CONTAINS(outcome.errors, "rank 1 (host ");
    CHECK_CONTAINS(outcome.errors, "was killed by SIGSEGV (Segmentation fault)");
    CHECK(outcome.lines_of_torus_run() == 1);
    CHECK(count(outcome.errors, "\n") == 1);  // and nobody who waited for it reports it again
}

TEST_CASE("What ranks note is told where the job goes on, and is no echo where it ends") {
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
    SECTION("there is no launcher") {
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

TEST_CASE("abort() gives the exit code and its text names the rank") {
    const Outcome outcome =
        run(job(4, {"connect", "barrier", "3:abort=42,no convergence", "sleep"}));
    CHECK(outcome.code == 42);
    CHECK_CONTAINS(outcome.errors, "torus-run: rank 3 (host ");
    CHECK_CONTAINS(outcome.errors, "aborted with code 42: no convergence");
    CHECK(outcome.lines_of_torus_run() == 1);
}

TEST_CASE("Leaving without finalize() is a failure, also with exit code 0") {
    const Outcome outcome = run(job(3, {"connect", "barrier", "2:exit=0", "sleep"}));
    CHECK(outcome.code == 1);
    CHECK_CONTAINS(outcome.errors, "rank 2");
    CHECK_CONTAINS(outcome.errors, "exited with code 0 without finalize()");
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
    CHECK_CONTAINS(outcome.errors, "called finalize() while rank");
    CHECK_CONTAINS(outcome.errors, "waits in barrier()");
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
    CHECK_CONTAINS(outcome.errors, "barrier()");
    CHECK_CONTAINS(outcome.errors, "exchange()");
}

TEST_CASE("Two processes cannot both be one rank") {
    const Outcome outcome = run(script(1, "$P connect sleep & $P connect sleep"));
    CHECK(outcome.code == 1);
    CHECK_CONTAINS(outcome.errors, "only one of the processes");
}

TEST_CASE("A process that connects twice is told so") {
    const Outcome outcome = run(job(1, {"connect", "connect"}));
    CHECK(outcome.code == 70);
    CHECK_CONTAINS(outcome.errors, "a second time");
}

TEST_CASE("A timeout ends the job and names the ranks that still ran") {
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
    Process process(job(2, {"connect", "print=ready", "sleep"}));
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

TEST_CASE("SIGTSTP stops torus-run and its ranks, SIGCONT wakes them") {
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

TEST_CASE("A daemon that is stopped is told with what to do, and the job goes on with it") {
    TemporaryFolder folder;
    Process process(
        job(2, {"connect", "print=ready", "wait-for=" + folder.file("go"), "barrier", "finalize"}));
    REQUIRE(process.wait_for_output("ready\n", 2));
    const pid_t daemon = process.daemon();
    kill(daemon, SIGSTOP);
    folder.write("go", "");
    CHECK(process.wait_for_error(fmt::format(
        "torus-run: its daemon process (pid {0}) is stopped by SIGSTOP (Stopped (signal)): the job "
        "cannot start, print or end without it; kill -CONT {0} lets it go on, kill -KILL {0} ends",
        daemon)));
    kill(daemon, SIGCONT);
    const Outcome outcome = process.wait();
    CHECK(outcome.code == 0);
    CHECK(outcome.lines_of_torus_run() == 1);
}

TEST_CASE("A torus-run that is stopped misses nothing, and the end of its job is told") {
    TemporaryFolder folder;
    Process process(
        job(2, {"connect", "print=ready", "wait-for=" + folder.file("go"), "finalize"}));
    REQUIRE(process.wait_for_output("ready\n", 2));
    process.send(SIGSTOP);
    REQUIRE(wait_for_state(process.pid(), 'T'));
    folder.write("go", "");
    CHECK(process.wait_for_error(
        fmt::format("torus-run: the job has ended with exit code 0, but torus-run (pid {0}) is "
                    "stopped: kill -CONT {0} lets it end too\n",
                    process.pid())));
    process.send(SIGCONT);
    CHECK(process.wait().code == 0);
}

// ---- nothing is left behind ----

TEST_CASE("What ranks leave behind is ended with the job, in whatever session it hides") {
    SECTION("after a failure") {
        Process process(job(2, {"connect", "spawn-orphan", "barrier", "1:exit=4", "sleep"}));
        const Outcome outcome = process.wait();
        CHECK(outcome.code == 4);
        CHECK(process.all_gone());
    }
    SECTION("after an orderly end, with a word about it") {
        // The orphan holds our pipes; only its end lets wait() return.
        Process process(job(2, {"connect", "spawn-orphan", "finalize"}));
        const Outcome outcome = process.wait();
        CHECK(outcome.code == 0);
        CHECK_CONTAINS(outcome.errors, "2 processes that the ranks left behind were ended");
        CHECK(process.all_gone());
    }
}

TEST_CASE("SIGKILL of torus-run's processes leaves nothing behind") {
    // Under a shell, so that the rank is no child of the daemon; one orphan in a session of its
    // own.
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

TEST_CASE("SIGKILL of both of torus-run's processes at once ends the ranks and their groups") {
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

TEST_CASE("torus-run and the bootstrap use no file and no socket with a name") {
    TemporaryFolder folder;
    Process process(job(2, {"connect", "exchange", "print=ready", "sleep"}),
                    {"TMPDIR=" + folder.path()});
    REQUIRE(process.wait_for_output("ready\n", 2));
    CHECK(folder.empty());
    std::set<std::string> sockets;
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
        if (sockets.contains(inode)) CHECK(name.empty());
    }
}

// ---- bad input ----

TEST_CASE("A mistake is told in one message with exit code 2, and nothing is started") {
    TemporaryFolder folder;
    const std::string started = folder.file("started");
    const std::string plain = folder.write("plain", "no program");
    const std::string mystery = folder.write("mystery", "\x01\x02 no program either");
    chmod(mystery.c_str(), 0700);
    const std::string far =
        folder.write("far.toml", "[torus]\ndims = [2]\n[nodes]\nhosts = [\"far-a\", \"far-b\"]\n");
    const std::string bad = folder.write("bad.toml", "[torus]\ndimms = [2]\n");
    const Words touch{rank_program, "touch=" + started};

    struct Case {
        Words options;
        Words program;
        std::string expected;
    };
    const Case cases[] = {
        {{"-np", "4", "--torus", "2x3"}, touch, "2x3"},
        {{"-np", "9", "--torus", "2x2x2"}, touch, "2x2x2"},
        {{"--torus", "0x2"}, touch, "0x2"},
        {{"--torus"}, {}, "--torus"},
        {{"-np", "0"}, touch, "-np 0"},
        {{"-np", "many"}, touch, "many"},
        {{"-np", "2", "--tag-ouput"}, touch, "--tag-output"},
        {{"-np", "2", "--timeout", "-1"}, touch, "--timeout"},
        {{"-np", "2", "--bind", "socket"}, touch, "socket"},
        {{"-np", "2", "--set", "transport.tokkens=3"}, touch, "transport.tokens"},
        {{"-np", "2", "--config", bad}, touch, "bad.toml:2"},
        {{"-np", "2", "--config", folder.file("absent.toml")}, touch, "absent.toml"},
        {{"-np", "2", "--config", far, "--agent", "torusmp-no-agent"}, touch, "far-a"},
        {{"-np", "2"}, {}, "no program"},
        {{"-np", "2"}, {folder.file("absent")}, "cannot be found"},
        {{"-np", "2"}, {"torusmp-no-such-program"}, "PATH"},
        {{"-np", "2"}, {plain}, "not executable"},
        {{"-np", "2"}, {folder.path()}, "not a file"},
        {{"-np", "2"}, {mystery}, "Exec format error"},
    };
    for (const Case& wrong : cases) {
        Words command{torus_run};
        command.insert(command.end(), wrong.options.begin(), wrong.options.end());
        command.insert(command.end(), wrong.program.begin(), wrong.program.end());
        const Outcome outcome = run(command);
        INFO("errors: " << outcome.errors);
        CHECK(outcome.code == 2);
        CHECK(outcome.lines_of_torus_run() == 1);
        CHECK(count(outcome.errors, "\n") == 1);
        CHECK_CONTAINS(outcome.errors, wrong.expected);
        CHECK(outcome.output.empty());
        CHECK_FALSE(std::filesystem::exists(started));
    }
}

TEST_CASE("A job beyond a limit of the system is refused before its first rank") {
    TemporaryFolder folder;
    const Outcome outcome =
        run({"/bin/sh", "-c",
             fmt::format("ulimit -n 300; exec {} -np 200 --tag-output {} touch={}", torus_run,
                         rank_program, folder.file("started"))});
    INFO(outcome.errors);
    CHECK(outcome.code == 2);
    CHECK_CONTAINS(outcome.errors,
                   "200 ranks need at least 864 open files, but ulimit -Hn "
                   "(RLIMIT_NOFILE) is 300");
    CHECK(count(outcome.errors, "\n") == 1);
    CHECK(folder.empty());
}

TEST_CASE("Programs of another MPI are told that they never met") {
    const std::string mpi = OTHER_MPI;
    const std::string met = "none of the 3 processes joined this job: ";
    SECTION("linked with it, however short they live") {
        const Outcome outcome = run({torus_run, "-np", "3", OTHER_MPI_PROGRAM});
        CHECK(outcome.code == 0);
        CHECK_CONTAINS(outcome.errors, met + OTHER_MPI_PROGRAM + " uses libmpi.so.40 of Open MPI");
        CHECK(outcome.lines_of_torus_run() == 1);
    }
#ifndef __SANITIZE_ADDRESS__  // whose runtime such a library wants loaded first
    SECTION("loading it as they run, also under a script") {
        const Outcome outcome = run({torus_run, "-np", "3", "--timeout", "3", "/bin/sh", "-c",
                                     fmt::format("LD_PRELOAD={} sleep 600; true", mpi)});
        CHECK(outcome.code == 124);
        CHECK_CONTAINS(outcome.errors, met + "/bin/sh uses libmpi.so.40");
        CHECK(outcome.lines_of_torus_run() == 2);
    }
#endif
    SECTION("but one process is right to be alone") {
        CHECK(run({torus_run, "-np", "1", OTHER_MPI_PROGRAM}).errors.empty());
    }
    SECTION("and so is a job whose ranks did join") {
        const Outcome outcome =
            run({torus_run, "-np", "2", "/bin/sh", "-c",
                 OTHER_MPI_PROGRAM + (" && " + rank_program) + " connect barrier finalize"});
        CHECK(outcome.code == 0);
        CHECK(outcome.errors.empty());
    }
}

TEST_CASE("The help shows examples and every option") {
    const Outcome outcome = run({torus_run, "--help"});
    CHECK(outcome.code == 0);
    for (const char* word :
         {"--np", "--here", "--agent", "--keep-going", "--torus", "--config", "--set", "--bind",
          "--tag-output", "--timeout", "--verbose", "Examples"})
        CHECK_CONTAINS(outcome.output, word);
}

// ---- other launchers ----

TEST_CASE("A launcher that cannot be talked to is named, and no silent single rank runs") {
    struct Case {
        Words environment;
        std::string expected;
    };
    const Case cases[] = {
        {{"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=2"}, "OMPI_COMM_WORLD_SIZE=2"},
        {{"PMI_RANK=1", "PMI_SIZE=4"}, "PMI_SIZE=4"},
        {{"MPIRUN_RANK=1", "MPIRUN_NPROCS=4"}, "mpirun_rsh"},
        {{"JSM_NAMESPACE_RANK=0", "JSM_NAMESPACE_SIZE=2"}, "jsrun"},
        {{"FLUX_TASK_RANK=0", "FLUX_JOB_SIZE=3"}, "Flux"},
        {{"PALS_RANKID=0", "PMI_SIZE=3"}, "PALS"},
        {{"ALPS_APP_PE=0"}, "ALPS"},
        {{"SLURM_STEP_ID=0", "SLURM_PROCID=0", "SLURM_STEP_NUM_TASKS=2"}, "srun --mpi=pmix"},
        {{"SLURM_STEP_ID=3", "SLURM_PROCID=1", "SLURM_NTASKS=2", "PMI_RANK=1", "PMI_SIZE=2"},
         "srun --mpi=pmix"},
        {{"TORUSMP_BOOTSTRAP=nonsense"}, "damaged"},
        {{"TORUSMP_BOOTSTRAP=1:1:1:1:1"}, "is not torus-run's socket any more"},
    };
    for (const Case& foreign : cases) {
        const Outcome outcome =
            run({rank_program, "connect", "print=silent singleton"}, foreign.environment);
        INFO("errors: " << outcome.errors);
        CHECK(outcome.code == 70);
        CHECK_CONTAINS(outcome.errors, foreign.expected);
        CHECK(outcome.output.empty());
    }
}

TEST_CASE("A process that stands alone is a job of one") {
    const Words alone[] = {
        {},
        {"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=1"},
        {"PMI_RANK=0", "PMI_SIZE=1"},
        {"SLURM_JOB_ID=7", "SLURM_NTASKS=4"},
        {"SLURM_JOB_ID=7", "SLURM_NTASKS=4", "SLURM_PROCID=0"},
        {"SLURM_STEP_ID=4294967291", "SLURM_NTASKS=4", "SLURM_PROCID=0"},
        {"SLURM_STEP_ID=0", "SLURM_PROCID=0", "SLURM_STEP_NUM_TASKS=1"},
    };
    for (const Words& environment : alone) {
        const Outcome outcome = run(
            {rank_program, "connect", "exchange", "barrier", "report", "finalize"}, environment);
        INFO("errors: " << outcome.errors);
        CHECK(outcome.code == 0);
        CHECK(outcome.output == "single rank 0 of 1, local 0\n");
    }
}

TEST_CASE("abort() of a single process gives its code and text") {
    const Outcome outcome = run({rank_program, "connect", "abort=3,over"});
    CHECK(outcome.code == 3);
    CHECK_CONTAINS(outcome.errors, "aborted with code 3: over");
}

}  // namespace torusmp::launch::test
