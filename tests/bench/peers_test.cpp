// SPDX-License-Identifier: BSD-3-Clause
// The figures of other libraries, written by compare-peers, beside ours.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "bench/report/page.h"
#include "bench/report/peers.h"
#include "bench/report/plan.h"
#include "bench/report/record.h"

namespace peers_test {
using namespace torusmp;
using namespace torusmp::bench;
using Catch::Contains;

// A file that is gone with the test.
class File {
  public:
    explicit File(const std::string& text) {
        std::string pattern = std::filesystem::temp_directory_path() / "peers-test-XXXXXX";
        const int file = mkstemp(pattern.data());
        REQUIRE(file >= 0);
        close(file);
        name = pattern;
        std::ofstream(name) << text;
    }
    ~File() { std::remove(name.c_str()); }
    std::string name;
};

// Figures of four ranks over links, of four ranks on one host, and of two ranks.
const std::string text = R"({"libraries": {"ours": "torusmp 0.1.0", "openmpi": "Open MPI v4.1.4",
      "mpich": "MPICH Version: 4.0.2"}, "measures": [
  {"name": "here.sum.8", "unit": "us", "program": "collectives", "test": "sum:8", "ranks": 4, "links": true,
   "more_is_better": false, "samples": {"ours": [1, 2, 3], "openmpi": [4, 8, 12], "mpich": [6, 6, 6]}},
  {"name": "here.sum.4KiB", "unit": "us", "program": "collectives", "test": "sum:4096", "ranks": 4, "links": true,
   "more_is_better": false, "samples": {"ours": [10], "openmpi": [40]}},
  {"name": "collectives.sum.8.shm.4", "unit": "us", "program": "collectives", "test": "sum:8", "ranks": 4,
   "links": false, "more_is_better": false, "samples": {"ours": [1], "openmpi": [0.5]}},
  {"name": "shm.oversubscribed.sum.8", "unit": "us", "program": "exchange", "test": "sum:8", "ranks": 8,
   "links": true, "more_is_better": false, "samples": {"ours": [1], "openmpi": [99]}},
  {"name": "here.pingpong.64", "unit": "MB/s", "program": "exchange", "test": "pingpong:64", "ranks": 2,
   "links": true, "more_is_better": true, "samples": {"ours": [100], "mpich": [25]}}],
  "failures": [{"library": "mpich", "measure": "here.sum.4KiB", "message": "did not end\nmore"}]})";

Table sums() {
    Table table;
    table.columns = {{"broadcast", "automatic", "us", Column::Draw::line, 0},
                     {"sum", "automatic", "us", Column::Draw::line, 1},
                     {"scan", "automatic", "us", Column::Draw::line, 2}};
    table.rows = {{8, {{3, 3, {3}}, {2, 2, {2}}, {5, 5, {5}}}}};
    return table;
}

TEST_CASE("The figures of other libraries are beside ours, by library and size", "[peers]") {
    const File file(text);
    Table table = sums();
    const Table peers = read_peers(file.name, PeerJob{4, true}).table;
    CHECK(put_beside(table, "collectives", peers) == 3);
    std::vector<std::string> names;
    for (const Column& column : table.columns) names.push_back(column.group + ", " + column.name);
    CHECK(names == std::vector<std::string>{"broadcast, automatic", "sum, automatic",
                                            "sum, Open MPI 4.1.4", "sum, MPICH 4.0.2",
                                            "sum, to best", "scan, automatic"});
    REQUIRE(table.rows.size() == 2);
    CHECK(table.rows[0].figures[2].value == 8);
    CHECK(table.rows[0].figures[3].value == 6);
    CHECK(table.rows[0].figures[4].value == Approx(2.0 / 6));
    CHECK(table.rows[0].figures[5].value == 5);
    // A size of theirs alone.
    CHECK(table.rows[1].bytes == 4096);
    CHECK(table.rows[1].figures[2].value == 40);
    for (const std::size_t none : {0, 1, 3, 4, 5})
        CHECK(std::isnan(table.rows[1].figures[none].value));
    // Each peer has a mark of its own, so no two curves look the same.
    CHECK(table.columns[2].colour == 1 + 7);
    CHECK(table.columns[3].colour == 1 + 14);
    CHECK_THAT(table.notes.at(0), Contains("Open MPI 4.1.4, MPICH 4.0.2"));
}

TEST_CASE("Only figures measured in the same way are beside ours", "[peers]") {
    const File file(text);
    Table table = sums();
    CHECK(put_beside(table, "collectives", read_peers(file.name, PeerJob{4, false}).table) == 1);
    CHECK(table.rows[0].figures[2].value == 0.5);
    table = sums();
    CHECK(put_beside(table, "collectives", read_peers(file.name, PeerJob{8, true}).table) == 0);
    CHECK(table.columns.size() == 3);
    CHECK(table.notes.empty());
}

TEST_CASE("The ratio of two rates is the ratio of their times", "[peers]") {
    const File file(text);
    Table table;
    table.columns = {{"", "ping-pong", "MB/s", Column::Draw::line, 0},
                     {"", "one way", "MB/s", Column::Draw::line, 1}};
    table.rows = {{64, {{50, 50, {50}}, {70, 70, {70}}}}};
    CHECK(put_beside(table, "bandwidth", read_peers(file.name, PeerJob{18, true}).table) == 1);
    REQUIRE(table.columns.size() == 4);
    CHECK(table.columns[2].group == "MPICH 4.0.2");
    CHECK(table.rows[0].figures[2].value == 25);
    CHECK(table.rows[0].figures[3].value == 0.5);
}

TEST_CASE("A library that failed is named below the table", "[peers]") {
    const File file(text);
    const Table table = read_peers(file.name).table;
    CHECK_THAT(table.notes.back(),
               Contains("MPICH 4.0.2 failed, from here.sum.4KiB on: did not end"));
    CHECK_THAT(table.notes.back(), !Contains("more"));
}

TEST_CASE("A file that was not written by compare-peers is refused with its name", "[peers]") {
    CHECK_THROWS_WITH(read_peers("/nowhere/at.all"), Contains("/nowhere/at.all"));
    const File file("{}");
    CHECK_THROWS_WITH(read_peers(file.name), Contains(file.name) && Contains("compare-peers"));
}

// In place of torus-plot: the names of the curves that it would draw.
std::vector<std::string> name_curves(const std::vector<Drawing>& drawings) {
    std::vector<std::string> pictures;
    for (const Drawing& drawing : drawings) {
        std::string picture = "<svg>";
        for (const Column& column : drawing.table.columns)
            if (column.draw != Column::Draw::no)
                picture += "<text>" + column.group + ", " + column.name + "</text>";
        pictures.push_back(picture + "</svg>");
    }
    return pictures;
}

TEST_CASE("The page has the curves of other libraries beside ours for the same ranks", "[peers]") {
    const File file(text);
    ReportRecord record{"torus 4", "0.1.0", "today", 0.1, {}};
    const auto add = [&](const std::string& name, const std::string& command, const Table& table) {
        record.parts.push_back({name,
                                "Collectives",
                                "",
                                "torus-bench " + command,
                                "",
                                1,
                                {"collectives", {{"torus", "4"}}, table, {}}});
    };
    add("broadcast and sum", "collectives --torus 4", sums());
    add("over links", "collectives --torus 4 --set transport.local=links", sums());
    record.parts.push_back({"peers", "Other libraries", "", "bench/compare-peers", "", 1,
                            read_peers(file.name, PeerJob{4, true})});
    const std::string page = as_html({record, "samples.json", nullptr, "", 3}, name_curves);
    const auto beside = page.find("<th>Open MPI 4.1.4<br>\u00b5s</th>");
    CHECK(page.find("sum, Open MPI 4.1.4</text>") != std::string::npos);
    // Not beside another way between the ranks.
    const auto links = page.find("figure-over-links");
    CHECK(page.find("sum, Open MPI 4.1.4</text>", links) == std::string::npos);
    CHECK(beside < links);
    record.parts.back().name = "peers on this host";
    CHECK(as_html({record, "samples.json", nullptr, "", 3}, name_curves).find("sum, Open MPI") ==
          std::string::npos);
}

TEST_CASE("A report plans other libraries on the ranks that it measures", "[peers]") {
    const auto planned = [](bool hosts, bool testbed) {
        const std::vector<int> extents = {3, 3, 2};
        ReportMachine machine{routing::Torus(extents), hosts, {}, {}};
        machine.peers = true;
        machine.testbed = testbed;
        ReportPart part = plan_report(machine).back();
        CHECK(part.program == ReportPart::Program::peers);
        return part;
    };
    const auto words = [](const ReportPart& part) {
        std::string all;
        for (const std::string& word : part.words) all += word + " ";
        return all;
    };
    CHECK(planned(false, false).name == peers_beside);
    CHECK_THAT(words(planned(false, false)), Contains("here.*") && Contains("--torus 3x3x2"));
    CHECK(planned(true, true).name == peers_beside);
    CHECK_THAT(words(planned(true, true)), Contains("here.*") && !Contains("--torus"));
    // Other libraries are not started on the user's hosts.
    CHECK(planned(true, false).name == "peers on this host");
    CHECK_THAT(words(planned(true, false)), Contains("shm.") && !Contains("here"));
}

}  // namespace peers_test
