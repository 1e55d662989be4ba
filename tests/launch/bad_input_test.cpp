// SPDX-License-Identifier: BSD-3-Clause
// Mistakes on the command line of torus-run, jobs beyond the limits of the system, and programs of
// other MPI libraries.
#include <fmt/format.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "folder.h"
#include "local_job.h"
#include "process.h"
#include "programs.h"

namespace torusmp::torus_run::test::bad_input_test {

TEST_CASE("A mistake is reported in one message with exit code 2, and nothing is started") {
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
        {{"-np", "2"}, {}, "missing program"},
        {{"-np", "2"}, {folder.file("absent")}, "cannot find program"},
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

TEST_CASE("Programs of another MPI get a message that none of them joined the job") {
    const std::string mpi = OTHER_MPI;
    const std::string met = "none of the 3 processes joined this job: ";
    SECTION("linked with it, however short they live") {
        const Outcome outcome = run({torus_run, "-np", "3", OTHER_MPI_PROGRAM});
        CHECK(outcome.code == 0);
        CHECK_CONTAINS(outcome.errors, met + OTHER_MPI_PROGRAM + " uses libmpi.so.40 of Open MPI");
        CHECK(outcome.lines_of_torus_run() == 1);
    }
#ifndef __SANITIZE_ADDRESS__  // whose runtime such a library wants loaded first
    SECTION("loading it at run time, also under a script") {
        const Outcome outcome = run({torus_run, "-np", "3", "--timeout", "3", "/bin/sh", "-c",
                                     fmt::format("LD_PRELOAD={} sleep 600; true", mpi)});
        CHECK(outcome.code == 124);
        CHECK_CONTAINS(outcome.errors, met + "/bin/sh uses libmpi.so.40");
        CHECK(outcome.lines_of_torus_run() == 2);
    }
#endif
    SECTION("but a single process may be alone") {
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

}  // namespace torusmp::torus_run::test::bad_input_test
