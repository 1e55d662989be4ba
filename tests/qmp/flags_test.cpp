// SPDX-License-Identifier: BSD-3-Clause
#include "qmp/flags.h"

#include <catch2/catch.hpp>
#include <string>

using namespace torusmp::qmp;

namespace {

// An argv that owns its strings.
struct CommandLine {
    explicit CommandLine(std::vector<std::string> given) : words(std::move(given)) {
        for (std::string& word : words) argv.push_back(word.data());
        argv.push_back(nullptr);
        argc = int(words.size());
    }
    Flags take() { return take_flags(argc, argv.data()); }
    std::vector<std::string> left() const { return {argv.begin(), argv.begin() + argc}; }
    std::vector<std::string> words;
    std::vector<char*> argv;
    int argc = 0;
};

std::string refusal(std::vector<std::string> words, int processes = 8) {
    CommandLine line(std::move(words));
    const auto before = line.left();
    try {
        check_flags(line.take(), processes);
    } catch (const FlagError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("Flags take all integers after them and leave the other words in order") {
    CommandLine line({"prog", "a", "-qmp-geom",      "2", "2", "2",  "b", "-qmp-alloc-map", "2",
                      "1",    "0", "-qmp-logic-map", "1", "0", "-x", "7", "-qmp-job",       "1",
                      "2",    "1"});
    const Flags flags = line.take();
    CHECK(flags.geometry == std::vector<int>{2, 2, 2});
    CHECK(flags.allocated_map == std::vector<int>{2, 1, 0});
    CHECK(flags.logical_map == std::vector<int>{1, 0});
    CHECK(flags.jobs == std::vector<int>{1, 2, 1});
    CHECK_FALSE(flags.processes);
    CHECK(line.left() == std::vector<std::string>{"prog", "a", "b", "-x", "7"});
    CHECK(line.argv[std::size_t(line.argc)] == nullptr);
    CHECK_NOTHROW(check_flags(flags, 8));
}

TEST_CASE("A command line without flags stays as it is") {
    CommandLine line({"prog", "-qmp", "4", "--qmp-geom"});
    const Flags flags = line.take();
    CHECK(flags.geometry.empty());
    CHECK(line.argc == 4);
    int none = 0;
    CHECK(take_flags(none, nullptr).geometry.empty());
}

TEST_CASE("A word that only begins like a number ends a flag's integers") {
    CommandLine line({"prog", "-qmp-geom", "2", "4", "4x4.lime"});
    CHECK(line.take().geometry == std::vector<int>{2, 4});
    CHECK(line.left() == std::vector<std::string>{"prog", "4x4.lime"});
}

TEST_CASE("The geometry may be the machine's own") {
    CommandLine line({"prog", "-qmp-geom", "native", "x"});
    const Flags flags = line.take();
    CHECK(flags.native_geometry);
    CHECK(line.left() == std::vector<std::string>{"prog", "x"});
}

TEST_CASE("Fewer processes than the job has count for all other checks") {
    CommandLine line({"prog", "-qmp-nmpi", "6", "-qmp-geom", "3", "2"});
    const Flags flags = line.take();
    CHECK(flags.processes == 6);
    CHECK_NOTHROW(check_flags(flags, 8));
    CHECK_THROWS_AS(check_flags(flags, 5), FlagError);
}

TEST_CASE("A wrong flag is reported with the word found and the words expected") {
    using Catch::Contains;
    CHECK_THAT(refusal({"p", "-qmp-geom", "2", "2"}),
               Contains("-qmp-geom: found 2 2") && Contains("grid of 4 nodes") && Contains("of 8"));
    CHECK_THAT(refusal({"p", "-qmp-geom"}), Contains("found nothing") && Contains("or native"));
    CHECK_THAT(refusal({"p", "-qmp-geom", "big"}), Contains("found 'big'"));
    CHECK_THAT(refusal({"p", "-qmp-geom", "-8"}), Contains("found '-8'"));
    CHECK_THAT(refusal({"p", "-qmp-geom", "8", "0"}), Contains("at least 1"));
    CHECK_THAT(refusal({"p", "-qmp-geom", "99999999999"}), Contains("2147483647"));
    CHECK_THAT(refusal({"p", "-qmp-geom", "8", "-qmp-geom", "8"}), Contains("found twice"));
    CHECK_THAT(refusal({"p", "-qmp-geom", "2147483647", "2147483647", "2147483647"}),
               Contains("expected one of 8"));
    CHECK_THAT(refusal({"p", "-qmp-alloc-map", "1", "1"}), Contains("each of 0 to 1 once"));
    CHECK_THAT(refusal({"p", "-qmp-geom", "2", "4", "-qmp-alloc-map", "0", "1", "2"}),
               Contains("found 3 entries, expected 2"));
    CHECK_THAT(refusal({"p", "-qmp-logic-map", "native"}), Contains("found 'native'"));
    CHECK_THAT(refusal({"p", "-qmp-job", "3"}), Contains("divisor of 8"));
    CHECK_THAT(refusal({"p", "-qmp-job", "2", "2"}), Contains("one integer"));
    CHECK_THAT(refusal({"p", "-qmp-geom", "4", "2", "-qmp-job", "2"}),
               Contains("expected 2 integers"));
    CHECK_THAT(refusal({"p", "-qmp-geom", "4", "2", "-qmp-job", "3", "1"}),
               Contains("divisors of the geometry 4 2"));
    CHECK_THAT(refusal({"p", "-qmp-nmpi", "9"}), Contains("at most 8"));
    CHECK_THAT(refusal({"p", "-qmp-nmpi", "2", "3"}), Contains("expected one integer"));
}

TEST_CASE("A refused command line is not changed") {
    CommandLine line({"prog", "-qmp-geom", "2", "-qmp-job", "zero"});
    CHECK_THROWS_AS(line.take(), FlagError);
    CHECK(line.argc == 5);
}
