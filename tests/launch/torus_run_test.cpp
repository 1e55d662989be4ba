// SPDX-License-Identifier: BSD-3-Clause
// torus-run as its users see it: every test starts the real program with small helper programs.
// This file has successful jobs, their streams, and ranks without torus-run.
#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "folder.h"
#include "local_job.h"
#include "process.h"
#include "programs.h"

namespace torusmp::torus_run::test::torus_run_test {

// ---- an orderly job ----

TEST_CASE("Ranks that never connect are a normal job") {
    const Outcome outcome =
        run({torus_run, "-np", "4", "/bin/sh", "-c", "echo $TORUSMP_RANK/$TORUSMP_SIZE"});
    CHECK(outcome.code == 0);
    CHECK(sorted_lines(outcome.output) == Words{"0/4", "1/4", "2/4", "3/4"});
    CHECK(outcome.errors.empty());
}

TEST_CASE("64 ranks exchange data of any length, and share one secret") {
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

TEST_CASE("Without a number of ranks the torus determines it") {
    const Outcome outcome =
        run({torus_run, "--torus", "3x2", "/bin/sh", "-c", "echo $TORUSMP_RANK"});
    CHECK(outcome.code == 0);
    CHECK(sorted_lines(outcome.output).size() == 6);
}

TEST_CASE("Options after the program's name belong to the program") {
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

TEST_CASE("Ranks find our libraries after the folders of the user") {
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

TEST_CASE("The start folder contains the program, and must exist") {
    const TemporaryFolder folder;
    std::filesystem::create_symlink("/bin/pwd", folder.path() + "/where");
    const Outcome outcome = run({torus_run, "-np", "1", "-wdir", folder.path(), "./where"});
    INFO(outcome.errors);
    CHECK(outcome.output == std::filesystem::canonical(folder.path()).string() + "\n");
    const Outcome refused = run({torus_run, "-np", "1", "-wd", "/nowhere", "/bin/pwd"});
    CHECK(refused.code == 2);
    CHECK_CONTAINS(refused.errors, "cannot enter the working directory '/nowhere': No such file");
}

TEST_CASE("A list of hosts with only this host determines the number of ranks") {
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

TEST_CASE("A line that a rank writes in two parts stays whole, and a prompt appears immediately") {
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

TEST_CASE("Both streams of a rank keep their order if they lead to the same file") {
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

TEST_CASE("A full disk at standard output is reported as such, and does not harm ranks") {
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
                   "torus-run: cannot write standard output: No space left on device");
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

TEST_CASE("Standard input goes only to rank 0") {
    Process process(job(2, {"echo"}, {"--tag-output"}));
    process.type("hello\nworld\n");
    process.close_input();
    const Outcome outcome = process.wait();
    CHECK(outcome.code == 0);
    CHECK(sorted_lines(outcome.output) == Words{"[0] in: hello", "[0] in: world"});
}

// ---- other launchers ----

TEST_CASE("A launcher that cannot be reached is named, and no single rank runs silently") {
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
        {{"TORUSMP_BOOTSTRAP=1:1:1:1:1"}, "is no longer torus-run's socket"},
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

TEST_CASE("A single process is a job of one rank") {
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

TEST_CASE("abort() of a single process sets its code and prints its text") {
    const Outcome outcome = run({rank_program, "connect", "abort=3,over"});
    CHECK(outcome.code == 3);
    CHECK_CONTAINS(outcome.errors, "aborted with code 3: over");
}

}  // namespace torusmp::torus_run::test::torus_run_test
