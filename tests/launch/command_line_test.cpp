// SPDX-License-Identifier: BSD-3-Clause
// The command lines of torus-run and mpirun, and lists of hosts.
#include <stdlib.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "config/options.h"
#include "folder.h"
#include "programs/torus_run/front/host_list.h"
#include "programs/torus_run/front/options.h"

namespace torusmp::torus_run::command_line_test {
namespace {

Options parse(const char* name, std::vector<const char*> words) {
    words.insert(words.begin(), name);
    return parse_options(int(words.size()), words.data());
}

}  // namespace

TEST_CASE("The command begins at the first word that is neither an option nor its value") {
    const auto parse = [](const std::vector<const char*>& words) {
        return command_line_test::parse("torus-run", words);
    };
    const auto only = [&](const std::vector<const char*>& words) {
        const Options options = parse(words);
        REQUIRE(options.programs.size() == 1);
        return options.programs.front();
    };
    using Command = std::vector<std::string>;
    CHECK(only({"-np", "3", "a", "-np", "4"}).command == Command{"a", "-np", "4"});
    CHECK(*only({"-np", "3", "a", "-np", "4"}).ranks == 3);
    CHECK(*only({"-n", "5", "a"}).ranks == 5);
    CHECK(*only({"-n5", "a"}).ranks == 5);
    CHECK(*only({"--np=6", "a"}).ranks == 6);
    CHECK(only({"--set", "transport.tokens=8", "--verbose", "a"}).command == Command{"a"});
    CHECK(only({"--tag-output", "--", "-odd-name", "b"}).command == Command{"-odd-name", "b"});
    CHECK(parse({"--torus", "2x2", "a"}).settings.flags.at(0).option == "--torus");
    CHECK(only({}).command.empty());
    CHECK(only({"a", ":", "b"}).command == Command{"a", ":", "b"});
}

TEST_CASE("Called as mpirun it takes several programs, each with options of its own") {
    setenv("TORUSMP_TEST_CARRIED", "from here", 1);
    unsetenv("TORUSMP_TEST_MISSING");
    const Options options = parse("/usr/bin/mpirun", {"-genv",
                                                      "A",
                                                      "1",
                                                      "-np",
                                                      "2",
                                                      "-env",
                                                      "A",
                                                      "2",
                                                      "a",
                                                      "-np",
                                                      ":",
                                                      "-n",
                                                      "3",
                                                      "-wdir",
                                                      "sub",
                                                      "-x",
                                                      "TORUSMP_TEST_CARRIED",
                                                      "-x",
                                                      "B=x=y",
                                                      "-x",
                                                      "TORUSMP_TEST_MISSING",
                                                      "b"});
    using Words = std::vector<std::string>;
    REQUIRE(options.programs.size() == 2);
    const ProgramOptions &first = options.programs[0], &second = options.programs[1];
    CHECK(*first.ranks == 2);
    CHECK(first.command == Words{"a", "-np"});
    CHECK(first.environment == Words{"A=2"});
    CHECK(first.folder.empty());
    CHECK(*second.ranks == 3);
    CHECK(second.command == Words{"b"});
    CHECK(second.environment == Words{"A=1", "TORUSMP_TEST_CARRIED=from here", "B=x=y"});
    CHECK(second.folder == "sub");
}

TEST_CASE("Mistakes in options of mpirun are refused with an explanation") {
    const auto refused = [](std::vector<const char*> words) -> std::string {
        try {
            parse("mpirun", words);
        } catch (const config::UsageError& error) {
            return error.what();
        }
        return "taken";
    };
    using Catch::Matchers::Contains;
    CHECK_THAT(refused({"a", ":"}), Contains("missing program"));
    CHECK_THAT(refused({"a", ":", "--torus", "2", "b"}),
               Contains("--torus applies to the whole job"));
    CHECK_THAT(refused({"a", ":", "-host", "h", "b"}), Contains("before the first program"));
    CHECK_THAT(refused({"a", ":", "-np", "0", "b"}), Contains("-np 0"));
    CHECK_THAT(refused({"-foo", "3", "a"}), Contains("-foo"));
    CHECK_THAT(refused({"-x", "-np", "2", "a"}), Contains("the name of a variable"));
    CHECK_THAT(refused({"-genv", "=2", "a"}), Contains("the name of a variable"));
    CHECK_THAT(refused({"-genv", "A"}), Contains("-genv NAME VALUE"));
    CHECK_THAT(refused({"-wdir", "", "a"}), Contains("expected a folder"));
    CHECK_THAT(refused({"-host", "h:0", "a"}), Contains("'0' is not a number of ranks"));
    CHECK_THAT(refused({"-host", "a,,b", "a"}), Contains("missing name of a host"));
    CHECK_THAT(refused({"-hostfile", "/nowhere/hosts", "a"}), Contains("cannot read the file"));
    CHECK_THAT(refused({"-host", "a", "-f", "b", "c"}), Contains("exclude each other"));
}

TEST_CASE(
    "A list or a file of hosts is reduced to one entry for each host, with the sum of its ranks") {
    const auto text_of = [](const std::vector<HostSlots>& hosts) {
        std::string text;
        for (const HostSlots& host : hosts)
            text += host.name + "*" + std::to_string(host.slots) + " ";
        return text;
    };
    CHECK(text_of(parse_host_list("a,b:3,a", "-host")) == "a*2 b*3 ");
    const test::TemporaryFolder folder;
    const std::string path =
        folder.write("hosts", "# ours\n\nqcd0 slots=2 max_slots=4\n  qcd1:3 # two boards\nqcd0\n");
    CHECK(text_of(parse("mpirun", {"-machinefile", path.c_str(), "a"}).hosts) == "qcd0*3 qcd1*3 ");
    const std::string odd = folder.write("odd", "qcd0\nqcd1 sluts=2\n");
    CHECK_THROWS_WITH(read_host_file(odd, "-f"), Catch::Matchers::Contains("odd:2: unknown word "
                                                                           "'sluts=2'"));
    const std::string none = folder.write("none", "# comment only\n");
    CHECK_THROWS_WITH(read_host_file(none, "-f"), Catch::Matchers::Contains("contains no hosts"));
    CHECK_THROWS_WITH(read_host_file("/dev/zero", "-f"),
                      Catch::Matchers::Contains("-f /dev/zero: is not a text file"));
    const std::string endless = folder.write("endless", std::string((16 << 20) + 1, 'x'));
    CHECK_THROWS_WITH(read_host_file(endless, "-f"),
                      Catch::Matchers::Contains("is larger than 16777216 bytes"));
}

}  // namespace torusmp::torus_run::command_line_test
