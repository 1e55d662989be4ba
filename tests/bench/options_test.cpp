// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "bench/torus_bench/options.h"
#include "config/options.h"

using namespace torusmp::bench;
using torusmp::config::ConfigError;
using torusmp::config::UsageError;

namespace {

Options parse(std::vector<const char*> words) {
    words.insert(words.begin(), "torus-bench");
    return parse_command_line(int(words.size()), words.data());
}

std::string refusal(const std::vector<const char*>& words) {
    try {
        parse(words);
    } catch (const UsageError& error) {
        return error.what();
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "accepted";
}

using Catch::Contains;

}  // namespace

TEST_CASE("A series of sizes multiplies from the first to the last") {
    CHECK(size_series(1, 8, 2) == std::vector<std::size_t>{1, 2, 4, 8});
    CHECK(size_series(3, 20, 3) == std::vector<std::size_t>{3, 9});
    CHECK(size_series(5, 5, 2) == std::vector<std::size_t>{5});
    CHECK(size_series(0, 4, 2) == std::vector<std::size_t>{0, 1, 2, 4});
    CHECK(size_series(0, 0, 2) == std::vector<std::size_t>{0});
    CHECK(size_series(0, 1, 4) == std::vector<std::size_t>{0, 1});
}

TEST_CASE("Files have a folder, rows and sizes of their own") {
    const Options options = parse({"io", "--folder", "/scratch", "--row", "64KiB"});
    CHECK(options.folder == "/scratch");
    CHECK(options.row == 65536);
    CHECK(options.sizes == std::vector<std::size_t>{4096, 65536, 1 << 20, 16 << 20});
    CHECK(parse({"io", "--sizes", "8:16"}).row == 1024);
    CHECK_THAT(refusal({"io", "--row", "1GB"}),
               Contains("--row 1GB: expected a size from 1 to 1GiB"));
    CHECK_THAT(refusal({"latency", "--row", "8"}), Contains("--row: found latency, expected io"));
}

TEST_CASE("Options come before and after what to measure") {
    const Options options =
        parse({"--seconds", "0.5", "bandwidth", "-np", "4", "--sizes", "1KiB:4KiB", "--step", "4",
               "--window", "7", "--peer", "3", "--json", "a.json", "--plot=b.svg"});
    CHECK(options.command == Command::bandwidth);
    CHECK(options.seconds == 0.5);
    CHECK(options.ranks == 4);
    CHECK(options.sizes == std::vector<std::size_t>{1024, 4096});
    CHECK(options.window == 7);
    CHECK(options.peer == 3);
    CHECK(options.json == "a.json");
    CHECK(options.plot == "b.svg");
}

TEST_CASE("Options for the launcher are passed to it unchanged") {
    const Options options = parse({"aggregate", "--torus", "2x2", "--set", "transport.tokens=8",
                                   "-np", "4", "--set", "progress.mode=thread"});
    CHECK(options.for_launcher == std::vector<std::string>{"-np", "4", "--torus", "2x2", "--set",
                                                           "transport.tokens=8", "--set",
                                                           "progress.mode=thread"});
}

TEST_CASE(
    "Without sizes, latency starts with the empty message and aggregate covers 1 B to 4 MiB") {
    CHECK(parse({"latency"}).sizes.front() == 0);
    const auto sizes = parse({"aggregate"}).sizes;
    CHECK(sizes.front() == 1);
    CHECK(sizes.back() == 4u << 20);
    CHECK(sizes.size() == 23);
}

TEST_CASE("A sweep measures a few bytes beside each size too, each size once") {
    CHECK(perturbed({1, 2, 4, 8}, 3) == std::vector<std::size_t>{1, 2, 4, 5, 7, 8, 11});
    CHECK(perturbed({16}, 0) == std::vector<std::size_t>{16});
    const auto sizes = parse({"sweep"}).sizes;
    CHECK(sizes.front() == 1);
    CHECK(sizes.back() == (8u << 20) + 3);
    CHECK(parse({"sweep", "--perturb", "0", "--sizes", "64:256"}).sizes ==
          std::vector<std::size_t>{64, 128, 256});
    CHECK(parse({"latency", "--perturb", "5", "--sizes", "64:64"}).sizes.size() == 1);
}

TEST_CASE("Relay takes a small size for its latency and a large one for its bandwidth") {
    CHECK(parse({"relay"}).sizes == std::vector<std::size_t>{8, 65536});
    CHECK(parse({"relay", "--sizes", "64:1MiB"}).sizes == std::vector<std::size_t>{64, 1 << 20});
}

TEST_CASE("Options that a measurement does not support are refused") {
    CHECK(parse({"sweep", "--raw"}).raw);
    CHECK(parse({"aggregate", "--from", "0"}).from == 0);
    CHECK_THAT(refusal({"overlap", "--raw"}), Contains("--raw: overlap"));
    CHECK_THAT(refusal({"relay", "--raw"}), Contains("--raw: relay"));
    CHECK_THAT(refusal({"latency", "--from", "0"}), Contains("--from: found latency"));
    CHECK_THAT(refusal({"sweep", "--perturb", "-1"}), Contains("--perturb -1"));
}

TEST_CASE("Bad command lines are refused with the word found and the words expected") {
    CHECK_THAT(
        refusal({}),
        Contains("expected latency, bandwidth, sweep, aggregate, relay, overlap, "
                 "efficiency, collectives, steps, forward, io, put, get, accumulate, cas, "
                 "simulate, predict, fit, plot or "
                 "report"));
    CHECK_THAT(refusal({"latencies"}), Contains("'latencies'") && Contains("expected latency"));
    CHECK_THAT(refusal({"latency", "overlap"}), Contains("'overlap'") && Contains("unexpected "
                                                                                  "argument"));
    CHECK_THAT(refusal({"latency", "--sizes", "64"}), Contains("FIRST:LAST"));
    CHECK_THAT(refusal({"latency", "--sizes", "64:1MB"}), Contains("'1MB'"));
    CHECK_THAT(refusal({"latency", "--sizes", "1:2GiB"}), Contains("'2GiB'"));
    CHECK_THAT(refusal({"latency", "--sizes", "64:32"}), Contains("above the last"));
    CHECK_THAT(refusal({"bandwidth", "--sizes", "0:32"}), Contains("at least 1"));
    CHECK_THAT(refusal({"latency", "--step", "1"}), Contains("--step 1"));
    CHECK_THAT(refusal({"latency", "--seconds", "0"}), Contains("--seconds 0"));
    CHECK_THAT(refusal({"latency", "--seconds", "nan"}), Contains("--seconds nan"));
    CHECK_THAT(refusal({"latency", "--window", "0"}), Contains("--window 0"));
    CHECK_THAT(refusal({"latency", "-np", "0"}), Contains("--np 0"));
    CHECK_THAT(refusal({"latency", "--peer", "0"}), Contains("--peer 0"));
    CHECK_THAT(refusal({"latency", "--json", ""}), Contains("--json"));
    CHECK_THAT(refusal({"latency", "--plott", "x.svg"}), Contains("did you mean --plot"));
    CHECK_THAT(refusal({"latency", "--set", "tokens"}), Contains("tokens"));
}

TEST_CASE("Help and version need no measurement") {
    CHECK(parse({"--help"}).help);
    CHECK(parse({"--version"}).version);
    CHECK_THAT(help_text(), Contains("Examples:") && Contains("--plot FILE.svg"));
}
