// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "bench/report/changes.h"
#include "bench/report/derived.h"
#include "bench/report/page.h"
#include "bench/report/papers.h"
#include "bench/report/peers.h"
#include "bench/report/plan.h"
#include "bench/report/reason.h"
#include "bench/report/record.h"
#include "bench/report/run.h"
#include "bench/report/summary.h"
#include "config/options.h"

namespace report_test {
using namespace torusmp;
using namespace torusmp::bench;

Figure figure(const std::vector<double>& samples) {
    return {samples[samples.size() / 2], samples.front(), samples};
}

Table latency_table(const std::vector<double>& samples) {
    Table table;
    table.title = "Latency <of & two>";
    table.columns = {{"", "median", "us", Column::Draw::line, 0}};
    table.rows = {{16, {figure(samples)}}, {64, {figure({20, 21, 22, 23, 24, 25, 26})}}};
    return table;
}

RecordedPart part(const std::string& name, const Table& table) {
    return {name,
            "Latency",
            "",
            "torus-bench latency",
            "",
            1.5,
            {"latency", {{"torus", "2x2"}, {"cores", "2", true}}, table, {}}};
}

// In place of torus-plot: what a picture would be of.
std::vector<std::string> drawn(const std::vector<Drawing>& drawings) {
    std::vector<std::string> pictures;
    for (const Drawing& drawing : drawings)
        pictures.push_back("<?xml version=\"1.0\"?>\n<svg class=\"" +
                           std::to_string(drawing.table.rows.size()) + " rows\"></svg>\n");
    return pictures;
}

// A file that is gone with the test.
struct Scratch {
    std::string name;
    Scratch() {
        std::string pattern = (std::filesystem::temp_directory_path() / "report-test-XXXXXX");
        const int file = mkstemp(pattern.data());
        REQUIRE(file >= 0);
        close(file);
        name = pattern;
    }
    ~Scratch() { std::remove(name.c_str()); }
    void write(const std::string& text) const { std::ofstream(name) << text; }
};

ReportMachine machine(bool hosts) {
    const std::vector<int> extents = {2, 2, 2};
    return {routing::Torus(extents), hosts, {"tcp"}, {"--torus", "2x2x2"}, "", true, true};
}

TEST_CASE("A record that is written and read again is the same", "[report]") {
    ReportRecord record{"torus 2x2", "0.1.0", "today", 0.1, {}};
    record.parts.push_back(part("latency", latency_table({9, 10, 11})));
    record.parts[0].result.table.link_rates = {{1, 0, "0+", 24.5}};
    record.parts[0].result.links = {{0, "0+", "d0p", 1, 10, 20, 3}};
    record.parts.push_back({"sweep", "NetPIPE", "", "torus-bench sweep", "no \"way\"", 0.5, {}});
    const Scratch file;
    write_whole(file.name, as_json(record));
    const ReportRecord again = read_record(file.name);
    CHECK(as_json(again) == as_json(record));
    REQUIRE(again.find("sweep") != nullptr);
    CHECK(again.find("sweep")->failure == "no \"way\"");
    CHECK(again.find("latency")->result.table.link_rates.at(0).rate == 24.5);
    CHECK(again.find("relay") == nullptr);
}

TEST_CASE("A file that is not a record is refused with its name", "[report]") {
    const Scratch file;
    for (const char* const text :
         {"", "{}", "[1]", "{\"command\":\"latency\"}", "{\"command\":\"report\",\"machine\":3}"}) {
        file.write(text);
        try {
            read_record(file.name);
            FAIL("accepted: " << text);
        } catch (const std::runtime_error& wrong) {
            CHECK(std::string(wrong.what()).find(file.name) == 0);
        }
    }
    CHECK_THROWS_AS(read_record("/no/such/record.json"), std::runtime_error);
}

TEST_CASE("A change is reported if it exceeds the noise", "[report]") {
    const Figure before = figure({10, 10.1, 10.2, 10.3, 10.4, 10.5, 10.6});
    SECTION("samples that overlap show no change") {
        CHECK_FALSE(beyond_noise(before, figure({10.6, 10.7, 10.8, 10.9, 11, 11.1, 11.2})));
    }
    SECTION("samples that do not overlap show a change") {
        CHECK(beyond_noise(before, figure({10.7, 10.8, 10.9, 11, 11.1, 11.2, 11.3})));
        CHECK(beyond_noise(figure({10.7, 10.8, 10.9, 11, 11.1, 11.2, 11.3}), before));
    }
    SECTION("less than a fiftieth is not a change") {
        CHECK_FALSE(beyond_noise(figure({100, 100, 100, 100, 100, 100, 100}),
                                 figure({101, 101, 101, 101, 101, 101, 101})));
    }
    SECTION("few samples need a larger difference") {
        CHECK_FALSE(beyond_noise(figure({10, 11, 12}), figure({13, 14, 15})));
        CHECK(beyond_noise(figure({10, 11, 12}), figure({15, 16, 17})));
        CHECK_FALSE(beyond_noise(figure({10}), figure({10.9})));
        CHECK(beyond_noise(figure({10}), figure({12})));
    }
    SECTION("no samples show no change") {
        CHECK_FALSE(beyond_noise(before, {NAN, NAN, {}}));
    }
}

TEST_CASE("Changes are listed by row and column, as ratios of times", "[report]") {
    Table before = latency_table({10, 10, 10, 10, 10, 10, 10});
    const Table now = latency_table({5, 5, 5, 5, 5, 5, 5});
    auto changes = changes_between(before, now);
    REQUIRE(changes.size() == 1);
    CHECK(changes[0].what == "16 B: median");
    CHECK(changes[0].ratio == 0.5);
    before.columns[0].unit = "MB/s";
    CHECK(changes_between(before, now).empty());  // not the same figure
    Table rates = now;
    rates.columns[0].unit = "MB/s";
    changes = changes_between(before, rates);
    REQUIRE(changes.size() == 1);
    CHECK(changes[0].ratio == 2);
}

TEST_CASE("The plan omits parts that the machine cannot run", "[report]") {
    const auto has = [](const std::vector<ReportPart>& parts, const std::string& name) {
        for (const ReportPart& part : parts)
            if (part.name == name) return true;
        return false;
    };
    const auto here = plan_report(machine(false)), there = plan_report(machine(true));
    CHECK(has(here, "latency links"));
    CHECK_FALSE(has(here, "latency tcp"));
    CHECK(has(there, "latency tcp"));
    CHECK_FALSE(has(there, "wilson fixed 4"));  // of hosts: one rank, or all
    CHECK(has(here, "wilson fixed 4"));
    CHECK(has(there, "wilson scaled 8"));
    CHECK(has(here, "peers"));
    for (const auto* const parts : {&here, &there})
        for (const char* const name : {"forward", "steps"}) CHECK(has(*parts, name));
    for (const auto* const parts : {&here, &there})
        for (std::size_t i = 0; i < parts->size(); ++i)
            for (std::size_t j = 0; j < i; ++j) CHECK((*parts)[i].name != (*parts)[j].name);
}

TEST_CASE("The reason of a failure is its first message, not the end of the ranks", "[report]") {
    const std::string facts = "torusmp 0.1.0, QMP 2.5.4\n2 ranks, torus 2\n\n";
    const std::string gone =
        "torus-run: rank 1 (host a, pid 7) exited with code 2; the job is ended";
    const std::string refused = "QMP_init_msg_passing: link 0+ of node 1: transport.use is verbs";
    CHECK(reason_of(refused + "\n" + gone + "\n", 2) == refused);
    CHECK(reason_of(gone + "\n" + refused + "\n", 2) == refused);  // two ends of one pipe
    CHECK(reason_of(facts + "torus-bench: rank 0: the device\n" + gone + "\n", 1) ==
          "torus-bench: rank 0: the device");
    CHECK(reason_of(facts + gone + "\n", 139) == gone);
    CHECK(reason_of("compare-peers: a\nlast\n\n", 1) == "last");
    CHECK(reason_of("torus-run: 2 problems found:\n  link a\n  link b\n", 2) ==
          "torus-run: 2 problems found: link a");
    CHECK(reason_of("", 3) == "exit code 3 without an error message");
}

TEST_CASE("Parts are chosen by patterns, and a pattern without a part is refused", "[report]") {
    const auto parts = plan_report(machine(false));
    CHECK(choose_parts(parts, {}).size() == parts.size());
    const auto chosen = choose_parts(parts, {"latency*", "sweep"});
    REQUIRE(chosen.size() == 3);
    CHECK(chosen[2].name == "sweep");
    CHECK_THROWS_AS(choose_parts(parts, {"latenci"}), config::UsageError);
}

TEST_CASE("The time for each figure follows from the budget", "[report]") {
    const auto parts = plan_report(machine(false));
    CHECK(seconds_of_a_figure(parts, 1) == 0.002);
    CHECK(seconds_of_a_figure(parts, 1e6) == 2);
    const double some = seconds_of_a_figure(parts, 600);
    CHECK((some > 0.002 && some < 2));
}

TEST_CASE("A signature curve has time on the x axis and throughput on the y axis", "[report]") {
    Table sweep;
    sweep.columns = {{"", "half trip", "us", Column::Draw::line, 0},
                     {"", "bandwidth", "MB/s", Column::Draw::line, 0}};
    for (const auto& [bytes, time, rate] :
         {std::tuple{1, 2.0, 0.5}, {1024, 3.0, 340.0}, {4096, 8.0, 510.0}, {65536, 65.0, 1000.0}})
        sweep.rows.push_back({std::size_t(bytes), {figure({time}), figure({rate})}});
    sweep.rows.push_back({65539, {figure({66}), figure({990})}, {}, true});
    const Table signature = signature_of(sweep);
    REQUIRE(signature.rows.size() == 4);
    CHECK(signature.rows[1].bytes == 3000);
    CHECK(signature.rows[1].figures[0].value == 340);
    const Table saturation = saturation_of(sweep);
    REQUIRE(saturation.rows.size() == 1);
    CHECK(saturation.rows[0].label == "torusmp");
    CHECK(saturation.rows[0].figures[0].value == 2);
    CHECK(saturation.rows[0].figures[1].value == 1000);
    CHECK(saturation.rows[0].figures[2].value == 4096);
    CHECK(saturation.rows[0].figures[3].value == 65536);
}

TEST_CASE("The output of wilson becomes a row, and other text is refused", "[report]") {
    const std::string text =
        "time               0.001 s, 200.50 us an iteration, 12.5 % of it in communication\n"
        "speed              3.000 Gflop/s, 0.750 a rank\n";
    const Table table = wilson_table(4, {text, text, text});
    REQUIRE(table.rows.size() == 1);
    CHECK(table.rows[0].bytes == 4);
    CHECK(table.rows[0].figures[0].value == 200.5);
    CHECK(table.rows[0].figures[1].value == 12.5);
    CHECK(table.rows[0].figures[2].value == 0.75);
    CHECK_THROWS_AS(wilson_table(4, {"wilson: not solved"}), std::runtime_error);
}

TEST_CASE("The output of compare-peers becomes a table without absent peers", "[report]") {
    const Scratch file;
    file.write(R"({"libraries": {"openmpi": "Open MPI 4.1.4"}, "measures": [
      {"name": "shm.latency.8", "unit": "us", "more_is_better": false,
       "samples": {"ours": [1, 2, 3], "openmpi": [4, 4, 4]}},
      {"name": "shm.bandwidth", "unit": "MB/s", "more_is_better": true,
       "samples": {"ours": [10, 10, 10], "openmpi": [5, 5, 5]}}]})");
    const Table table = read_peers(file.name).table;
    REQUIRE(table.columns.size() == 3);
    CHECK(table.columns[1].name == "Open MPI 4.1.4");
    CHECK(table.columns[2].group == "ratio");
    REQUIRE(table.rows.size() == 2);
    for (const Row& row : table.rows) {
        REQUIRE(row.figures.size() == 3);
        CHECK(row.figures[2].value == 0.5);
    }
}

TEST_CASE("The page escapes its texts and loads no other files", "[report]") {
    ReportRecord record{"torus <2x2>", "0.1.0", "today", 0.1, {}};
    record.parts.push_back(part("latency", latency_table({9, 10, 11})));
    record.parts.push_back({"sweep", "NetPIPE", "", "torus-bench sweep", "no <way>", 0.5, {}});
    const std::string page = as_html({record, "samples.json", nullptr, "", 5}, drawn);
    for (const char* const part :
         {"torus &lt;2x2&gt;", "no &lt;way&gt;", "<svg class=\"2 rows\"></svg>", "18.5",
          "id=\"unfinished\"", "2 of 5 parts", "samples.json", "prefers-color-scheme"})
        CHECK(page.find(part) != std::string::npos);
    for (const char* const part : {"<script", "src=", "http://", "<?xml", "nan", "@import"}) {
        INFO(part);
        std::string rest = page;
        // The name of SVG looks like an address, but browsers do not load it.
        const std::string name = "http://www.w3.org/2000/svg";
        for (auto at = rest.find(name); at != std::string::npos; at = rest.find(name))
            rest.erase(at, name.size());
        CHECK(rest.find(part) == std::string::npos);
    }
    CHECK(page.find("id=\"changes\"") == std::string::npos);
    ReportRecord old = record;
    old.parts[0].result.table = latency_table({90, 100, 110});
    const std::string compared = as_html({record, "samples.json", &old, "old.json", 2}, drawn);
    CHECK(compared.find("id=\"changes\"") != std::string::npos);
    CHECK(compared.find("0.10 faster") != std::string::npos);
    CHECK(compared.find("id=\"unfinished\"") == std::string::npos);
}

TEST_CASE("A report begins with its summary, in which an absent transport is not an error",
          "[report]") {
    ReportRecord record{"torus 2x2", "0.1.0", "today", 0.1, {}};
    record.parts.push_back(part("latency", latency_table({9, 10, 11})));
    record.parts.push_back({"latency verbs",
                            "Latency",
                            "",
                            "torus-bench latency --set transport.use=verbs",
                            "no RDMA",
                            0.5,
                            {}});
    record.parts.push_back({"sweep", "NetPIPE", "", "torus-bench sweep", "crashed", 0.5, {}});
    CHECK(is_absent(record.parts[1]));
    CHECK_FALSE(is_absent(record.parts[0]));
    CHECK_FALSE(is_absent(record.parts[2]));
    std::string text;
    for (const SummaryRow& row : summary_of(record)) text += row.what + ": " + row.value + "\n";
    CHECK(text ==
          "half a round trip of 16 B: 10.0 us\nparts measured: 1\nnot available here: latency "
          "verbs\nfailed: sweep\n");
    const std::string page = as_html({record, "samples.json"}, drawn);
    CHECK(page.find("id=\"summary\"") < page.find("id=\"machine\""));
    CHECK(page.find("<p class=\"quiet\">latency verbs is not available here: no RDMA</p>") !=
          std::string::npos);
    CHECK(page.find("<p class=\"failure\">sweep: crashed</p>") != std::string::npos);
}

TEST_CASE("Each picture of a page is in the section of its part", "[report]") {
    ReportRecord record{"torus 2x2", "0.1.0", "today", 0.1, {}};
    Table table = latency_table({9, 10, 11});
    table.link_rates = {{0, 1, "0+", 10}};
    record.parts.push_back(part("aggregate", table));
    std::vector<Drawing> seen;
    const std::string page = as_html({record, "samples.json"}, [&](const auto& drawings) {
        seen = drawings;
        return std::vector<std::string>{"<svg>first</svg>", "<svg>second</svg>"};
    });
    REQUIRE(seen.size() == 2);
    CHECK_FALSE(seen[0].map);
    REQUIRE(seen[1].map);
    CHECK(seen[1].map->describe() == "2x2");
    CHECK(page.find("<figure id=\"figure-aggregate\">\n<svg>first") != std::string::npos);
    CHECK(page.find("<figure id=\"map-aggregate\">\n<svg>second") != std::string::npos);
    CHECK(page.find("<!picture") == std::string::npos);
}

TEST_CASE("The figures of the papers are beside the figures of the report", "[report]") {
    ReportRecord record{"torus 2x2", "0.1.0", "today", 0.1, {}};
    record.parts.push_back(part("latency", latency_table({9, 10, 11})));
    std::size_t measured = 0;
    for (const PaperRow& row : papers_beside(record)) {
        measured += row.measured;
        CHECK_FALSE(row.ours.empty());
        if (row.what == "latency, neighbours") CHECK(row.ours == "10.0 us");
    }
    CHECK(measured == 1);
}

}  // namespace report_test
