// SPDX-License-Identifier: BSD-3-Clause
// Figures are unchanged after writing as JSON and reading.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/json.h"
#include "bench/figures/read_figures.h"

using namespace torusmp::bench;
using Catch::Contains;

namespace read_figures_test {

namespace fs = std::filesystem;

class Folder {
  public:
    Folder() {
        std::string name = (fs::temp_directory_path() / "figures-XXXXXX").string();
        REQUIRE(mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    ~Folder() { fs::remove_all(path_); }
    std::string file(const std::string& name, const std::string& text) const {
        std::ofstream(path_ / name) << text;
        return (path_ / name).string();
    }

  private:
    fs::path path_;
};

Table some_table(const std::string& key = "bytes") {
    Table table;
    table.key = key;
    table.title = "A \"title\"";
    table.y_label = "time, us";
    table.columns = {{"group", "a", "us", Column::Draw::line, 2},
                     {"", "b", "MB/s", Column::Draw::points, 3, true},
                     {"", "c", "", Column::Draw::no, 0}};
    table.rows = {{8, {{1, 0.5, {1, 2}, 16}, {2, 2, {}}, {NAN, NAN, {}}}},
                  {11, {{3, 3, {3}}, {4, 4, {4}}, {5, 5, {5}}}, {}, true}};
    table.notes = {"A note."};
    table.levels = {{"wire", "us", 7, 1}};
    return table;
}

TEST_CASE("A table that was written is read again unchanged") {
    const Folder folder;
    const Table table = some_table();
    const Recorded read =
        read_figures(folder.file("a.json", as_json("latency", {{"cores", "2", true}}, table)));
    CHECK(read.command == "latency");
    REQUIRE(read.facts.size() == 1);
    CHECK(read.facts[0].text == "2");
    CHECK(as_text(read.table) == as_text(table));
    CHECK(read.table.rows[0].figures[0].calls == 16);
    CHECK(read.table.rows[0].figures[1].calls == 0);
    CHECK(as_csv(read.table) == as_csv(table));
    CHECK(as_json("latency", {}, read.table) == as_json("latency", {}, table));
}

TEST_CASE("Several files make one picture with the curves of all") {
    const Folder folder;
    const std::vector<std::string> names = {
        folder.file("old.json", as_json("latency", {}, some_table())),
        folder.file("new.json", as_json("latency", {}, some_table()))};
    const Table both = overlay(names, {read_figures(names[0]), read_figures(names[1])});
    REQUIRE(both.columns.size() == 6);
    CHECK(both.columns[0].group == "old: group");
    CHECK(both.columns[4].group == "new");
    CHECK(both.columns[0].colour != both.columns[3].colour);
    REQUIRE(both.rows.size() == 2);
    CHECK(both.rows[0].figures[3].value == 1);
    CHECK(both.rows[1].beside);
    const std::string other = folder.file("hops.json", as_json("relay", {}, some_table("hops")));
    CHECK_THROWS_WITH(overlay({names[0], other}, {read_figures(names[0]), read_figures(other)}),
                      Contains("bytes") && Contains("hops"));
}

TEST_CASE("A file of another kind is refused with its name and the kind expected") {
    const Folder folder;
    CHECK_THROWS_WITH(read_figures("/nowhere/at.all"), Contains("/nowhere/at.all"));
    CHECK_THROWS_WITH(read_figures(folder.file("a", "{\n\n 5}")),
                      Contains("line 3") && Contains("a name in quotes"));
    CHECK_THROWS_WITH(read_figures(folder.file("b", "{}")), Contains("torus-bench --json"));
}

TEST_CASE("CSV has a line for each row, with the minimum and maximum of each figure") {
    const std::string csv = as_csv(some_table());
    CHECK_THAT(csv, Contains("\"group, a [us]\",\"group, a [us], least\""));
    CHECK_THAT(csv, Contains("\n8,1,1,2,2,,,,,\n"));
    CHECK(std::count(csv.begin(), csv.end(), '\n') == 3);
}

TEST_CASE("JSON is read according to its grammar") {
    using torusmp::base::Json;
    using torusmp::base::parse_json;
    const Json value = parse_json(R"( {"a": [1, -2.5e3, true, null], "b": {"c": "x\"\u00b5\n"}} )");
    REQUIRE(value.find("a") != nullptr);
    CHECK(value.find("a")->items[1].number == -2500);
    CHECK(value.find("a")->items[2].boolean);
    CHECK(value.find("a")->items[3].is(Json::Kind::null));
    CHECK(value.find("b")->find("c")->text == "x\"\u00b5\n");
    for (const char* wrong : {"", "[1,]", "{\"a\":}", "[1 2]", "\"open", "nul", "1 2", "--1",
                              "{\"a\" 1}", "\"\\x\"", "\"\\u12\""})
        CHECK_THROWS_AS(parse_json(wrong), std::runtime_error);
    CHECK_THROWS_WITH(parse_json(std::string(100, '[')), Contains("fewer brackets"));
}

}  // namespace read_figures_test
