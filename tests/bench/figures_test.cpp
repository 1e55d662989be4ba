// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "bench/figures/figures.h"

using namespace torusmp::bench;

namespace {

Table two_groups() {
    Table table;
    table.title = "A title";
    table.columns = {{"first group", "a", "MB/s", Column::Draw::line, 0},
                     {"first group", "b", "MB/s", Column::Draw::no, 0},
                     {"a second group with a long name", "c", "us", Column::Draw::line, 1}};
    table.rows = {{1, {{0.5, 0.6, {0.5}}, {12345.6, 1, {1}}, {7, 7, {7}}}},
                  {16384, {{100, 101, {99, 101}}, {2, 2, {2}}, {NAN, NAN, {}}}}};
    table.notes = {"A note."};
    return table;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

}  // namespace

TEST_CASE("Figures are printed with three significant digits and no exponent") {
    CHECK(shorten(0.12345) == "0.123");
    CHECK(shorten(1.2345) == "1.23");
    CHECK(shorten(12.345) == "12.3");
    CHECK(shorten(123.45) == "123");
    CHECK(shorten(1234567.8) == "1234568");
    CHECK(shorten(0) == "0.000");
    CHECK(shorten(99.97) == "100");
    CHECK(shorten(9.996) == "10.0");
    CHECK(shorten(INFINITY) == "-");
    CHECK(shorten(NAN) == "-");
}

TEST_CASE("A row may have a label for its number, and counts have no decimals") {
    Table table;
    table.key = "torus";
    table.title = "A title";
    table.columns = {{"", "ranks", "", Column::Draw::no, 0, true}};
    table.rows = {{0, {{32768, 32768, {32768}}}, "32x32x32"}, {0, {{8, 8, {8}}}, "2x2x2"}};
    const auto lines = lines_of(as_text(table));
    REQUIRE(lines.size() == 6);
    CHECK(lines[2] == "   torus  ranks");
    CHECK(lines[4] == "32x32x32  32768");
    CHECK(lines[5] == "   2x2x2      8");
    CHECK(as_json("simulate", {}, table).find("{\"torus\":\"2x2x2\",") != std::string::npos);
}

TEST_CASE("Every line of a table ends its columns at the same place") {
    const auto lines = lines_of(as_text(two_groups()));
    REQUIRE(lines.size() == 9);
    CHECK(lines[0] == "A title");
    CHECK(lines[1].empty());
    // Right-aligned: names, units and both rows end in the same column.
    for (std::size_t i : {3u, 4u, 5u, 6u}) CHECK(lines[i].size() == lines[3].size());
    CHECK(lines[3].find("size") == 2);
    CHECK(lines[5].substr(0, 6) == "   1 B");
    CHECK(lines[6].substr(0, 6) == "16 KiB");
    CHECK(lines[5].find("12346") != std::string::npos);
    CHECK(lines[6].back() == '-');
    CHECK(lines[8] == "A note.");
}

TEST_CASE("A group's name is above its own columns, even if the name is long") {
    const auto lines = lines_of(as_text(two_groups()));
    const auto at = lines[2].find("a second group with a long name");
    REQUIRE(at != std::string::npos);
    CHECK(at + std::string("a second group with a long name").size() == lines[3].size());
    CHECK(lines[2].find("first group") + std::string("first group").size() < at);
    const auto b = lines[3].find('b');
    CHECK(b < at);
}

TEST_CASE("A table without groups has no line for them") {
    Table table = two_groups();
    for (Column& column : table.columns) column.group.clear();
    CHECK(lines_of(as_text(table)).size() == 8);
}

TEST_CASE("JSON quotes text and writes values that are not numbers as null") {
    Table table = two_groups();
    table.title = "quote \" backslash \\ newline \n";
    const std::string json =
        as_json("latency", {{"cpu", "A \"fast\" one"}, {"cores", "2", true}}, table);
    CHECK(json.find(R"("title":"quote \" backslash \\ newline \u000a")") != std::string::npos);
    CHECK(json.find(R"("cpu":"A \"fast\" one","cores":2)") != std::string::npos);
    CHECK(json.find(R"({"median":null,"best":null,"samples":[]})") != std::string::npos);
    CHECK(json.find(R"({"median":100,"best":101,"samples":[99,101]})") != std::string::npos);
    CHECK(json.find("nan") == std::string::npos);
    table.rows[0].figures[0].calls = 16;
    CHECK(as_json("latency", {}, table).find(R"("samples":[0.5],"calls":16})") !=
          std::string::npos);
}

TEST_CASE("Rows that are not sizes have plain numbers, and JSON names their kind") {
    Table table = two_groups();
    table.key = "hops";
    table.rows[1].bytes = 2;
    const auto lines = lines_of(as_text(table));
    CHECK(lines[3].substr(0, 4) == "hops");
    CHECK(lines[5].substr(0, 4) == "   1");
    CHECK(lines[6].substr(0, 4) == "   2");
    CHECK(as_json("relay", {}, table).find(R"({"hops":2,"figures":)") != std::string::npos);
}

TEST_CASE("Each end of a link has a line with what it sent and received") {
    const std::vector<LinkTraffic> links = {{0, "0+", "eth1", 1, 2'500'000, 1'000'000, 40},
                                            {1, "0-", "", 0, 1'000'000, 2'500'000, 30}};
    const auto lines = lines_of(as_text(links));
    REQUIRE(lines.size() == 6);
    CHECK(lines[0].find("10^6") != std::string::npos);
    for (std::size_t i : {2u, 3u, 4u, 5u}) CHECK(lines[i].size() == lines[2].size());
    CHECK(lines[4].find("eth1") != std::string::npos);
    CHECK(lines[4].find("2.50") < lines[4].find("1.00"));
    CHECK(lines[5].find(" - ") != std::string::npos);
    CHECK(as_text(std::vector<LinkTraffic>{}).empty());
    const std::string json = as_json("latency", {}, two_groups(), links);
    CHECK(json.find(R"({"rank":0,"direction":"0+","device":"eth1","peer":1,)"
                    R"("bytes_sent":2500000,"bytes_received":1000000,"packets_sent":40})") !=
          std::string::npos);
    CHECK(as_json("latency", {}, two_groups()).find(R"("links":[])") != std::string::npos);
}

TEST_CASE("A figure whose samples scatter is marked, and the table explains the mark") {
    CHECK_FALSE(scatters({10, 8, {8, 9, 10, 11, 12}}));
    CHECK(scatters({10, 5, {15, 5, 13, 7, 10}}));
    CHECK_FALSE(scatters({10, 10, {10, 90, 10, 10, 10}}));  // one outlier
    CHECK_FALSE(scatters({10, 1, {1, 10}}));                // too few samples
    Table table;
    table.columns = {{"", "time", "us"}};
    table.rows = {{8, {{10, 8, {8, 9, 10, 11, 12}}}}};
    CHECK(as_text(table).find('~') == std::string::npos);
    table.rows.push_back({16, {{10, 5, {5, 7, 10, 13, 15}}}});
    const std::string text = as_text(table);
    CHECK(text.find("10.0~\n") != std::string::npos);
    CHECK(text.find("~: the quartiles of its samples are more than 25 % of their median apart") !=
          std::string::npos);
    CHECK(scatter_note(table).starts_with("~: "));
}

TEST_CASE("With many links, each direction has a line with its minimum, maximum and sum") {
    std::vector<LinkTraffic> links;
    for (int rank = 0; rank < 64; ++rank)
        for (const char* direction : {"0+", "0-"})
            links.push_back({rank, direction, "", 0, std::uint64_t(rank + 1) * 1'000'000, 0, 1});
    const auto lines = lines_of(as_text(links));
    REQUIRE(lines.size() == 6);
    CHECK(lines[4].find("0+") != std::string::npos);
    CHECK(lines[4].find("64") != std::string::npos);
    CHECK(lines[4].find("1.00") != std::string::npos);
    CHECK(lines[4].find("64.0") != std::string::npos);
    CHECK(lines[5].find("2080") != std::string::npos);
}
