// SPDX-License-Identifier: BSD-3-Clause
// The displays that torus-top makes from samples: rates, marks, screens, texts, without a job and
// without a terminal.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "programs/torus_run/streams/packing.h"
#include "programs/torus_top/forms.h"
#include "programs/torus_top/screen.h"

namespace torusmp::torus_top::view_test {

using Catch::Matchers::Contains;
using torus_run::RankRecord;
using torus_run::RankState;
using torus_run::Sample;

constexpr std::int64_t second = 1'000'000'000;

torus_run::JobDescription job_2x2() {
    torus_run::JobDescription job;
    job.pid = 42;
    job.program = "./a.out \"x\"";
    job.size = 4;
    job.dims = {2, 2};
    job.periodic = {0, 0};
    job.hosts = {"n0", "n1"};
    job.node_of = {0, 0, 1, 1};
    return job;
}

RankRecord rank(int number, std::int64_t at, RankState state = RankState::active) {
    RankRecord record;
    record.rank = number;
    record.state = state;
    record.at = at;
    record.since = second;
    record.cpu = std::uint64_t(at / 2);
    return record;
}

torus_run::WayRecord way(int from, int number, int to, std::uint64_t bytes, std::uint64_t flags) {
    torus_run::WayRecord record{from, number, {}};
    record.counts.peer = to;
    record.counts.flags = flags;
    record.counts.bytes_sent = bytes;
    record.counts.eager_messages = record.counts.packets_sent = bytes / 100;
    return record;
}

// Rank 0 sends 1 MB a second over 1+ (to rank 1), reads 2 MB a second from rank 2 over 0+; all but
// it wait.
JobView watched() {
    JobView view(job_2x2());
    for (int i = 1; i <= 3; ++i) {
        Sample sample;
        sample.now = i * second;
        for (int r = 0; r < 4; ++r)
            sample.ranks.push_back(
                rank(r, i * second, r == 0 ? RankState::active : RankState::waiting));
        for (int r = 1; r < 4; ++r) {
            RankRecord& it = sample.ranks[std::size_t(r)];
            it.wait = core::WaitKind::receive;
            it.peer = 0;
            it.tag = 7;
            it.bytes = 8;
            std::string_view("MPI_Recv").copy(it.call.data(), 8);
        }
        const auto n = std::uint64_t(i) * 1'000'000;
        sample.ways = {way(0, 2, 1, n, core::way_is_link), way(1, 3, 0, 0, core::way_is_link),
                       way(0, 0, 2, 0, core::way_is_link), way(2, 1, 0, 0, core::way_is_link)};
        sample.ways[2].counts.bytes_read = 2 * n;
        if (i == 3) sample.ways[1].counts.flags |= core::way_detours;
        view.apply(sample);
    }
    return view;
}

TEST_CASE("a rate covers the time between two reports of a rank, in the direction of the bytes") {
    const JobView view = watched();
    CHECK(view.complete());
    CHECK(view.link(0, 2)->out == Approx(1e6));
    CHECK(view.link(0, 2)->messages == Approx(1e4));
    CHECK(view.link(1, 3)->out == 0);
    // Bytes that rank 0 reads from rank 2 go from 2 to 0.
    CHECK(view.link(2, 1)->out == Approx(2e6));
    CHECK(view.link(0, 0)->out == 0);
    CHECK_FALSE(view.link(3, 0));
    CHECK(view.ranks()[0].in == Approx(2e6));
    CHECK(view.ranks()[0].out == Approx(1e6));
    CHECK(view.ranks()[0].cpu == Approx(0.5));
    CHECK(view.totals().out == Approx(3e6));
    CHECK(view.totals().waiting == 3);
    CHECK(view.totals().faults == 1);
}

TEST_CASE("a rank without a new report has moved no bytes") {
    JobView view = watched();
    Sample sample;
    sample.now = 4 * second;
    sample.ranks = {rank(0, 3 * second)};
    view.apply(sample);
    CHECK(view.link(0, 2)->out == 0);
    CHECK(view.totals().out == 0);
}

TEST_CASE("rates add up to the counters, although a rank reports late") {
    JobView view(job_2x2());
    std::int64_t last = 0;
    double moved = 0;
    // It moves 1 MB in each second in which it runs: not from 3 s to 5 s, when it says nothing.
    const auto report = [&](std::int64_t now, std::int64_t at, std::uint64_t bytes) {
        Sample sample;
        sample.now = now;
        sample.ranks = {rank(0, at)};
        sample.ways = {way(0, 2, 1, bytes, core::way_is_link)};
        view.apply(sample);
        if (last != 0) moved += view.totals().out * double(now - last) / double(second);
        last = now;
    };
    report(1 * second, 1 * second, 7'000'000);
    report(2 * second, 2 * second, 8'000'000);
    CHECK(view.totals().out == Approx(1e6));
    report(3 * second, 3 * second, 9'000'000);
    report(4 * second, 3 * second, 9'000'000);
    CHECK(view.totals().out == 0);
    report(5 * second, 3 * second, 9'000'000);
    report(6 * second, 6 * second, 10'000'000);
    CHECK(view.totals().out == Approx(1e6));
    report(7 * second, 7 * second, 11'000'000);
    CHECK(moved == Approx(4e6));
}

TEST_CASE("a rank without further reports uses no processor") {
    JobView view = watched();
    Sample sample;
    sample.now = 4 * second;
    view.apply(sample);
    CHECK(view.ranks()[0].cpu == 0);
    CHECK(view.totals().cpu == 0);
}

TEST_CASE("the rank that all wait for and the rank that sends most are marked") {
    const JobView view = watched();
    CHECK(view.ranks()[0].slowest);
    CHECK_FALSE(view.ranks()[1].slowest);
    CHECK(view.ranks()[2].busiest);
    CHECK(view.describe(view.ranks()[1]) ==
          "waits 2.0 s in MPI_Recv: a message of up to 8 B from rank 0, tag 7");
}

TEST_CASE("impossible ranks and links are omitted") {
    JobView view = watched();
    Sample sample;
    sample.now = 4 * second;
    sample.ranks = {rank(17, second), rank(-1, second)};
    sample.ways = {way(4, 0, 1, 5, 0), way(3, 0, 99, 5, 0)};
    view.apply(sample);
    CHECK(!view.link(3, 0));
    CHECK(view.links().size() == 4);
}

TEST_CASE("the screen shows ranks, hosts, links and a plane, sorted and filtered") {
    const JobView view = watched();
    Choice choice;
    const auto text = [&] { return plain_text(draw(view, choice, 120, 0)); };
    CHECK_THAT(text(), Contains("waits 2.0 s in MPI_Recv") && Contains("slowest"));
    choice = press(choice, 'o', view);
    CHECK(text().find("    2 n1") < text().find("    0 n0"));
    choice = press(choice, 'r', view);
    CHECK(text().find("    2 n1") > text().find("    0 n0"));
    choice = press(choice, '3', view);
    CHECK_THAT(text(), Contains("cable dead, on a detour") && Contains("2.0 MB/s"));
    choice = press(choice, '2', view);
    CHECK_THAT(text(), Contains("n0") && Contains("n1"));
    choice = press(choice, '4', view);
    CHECK_THAT(text(), Contains("[   0 r]---2M----[   2 w]") && Contains("|1M"));
    choice = press(choice, '1', view);
    for (const char key : std::string("/rank 0, tag")) choice = press(choice, key, view);
    choice = press(choice, '\n', view);
    CHECK_THAT(text(), !Contains("    0 n0") && Contains("    3 n1"));
    CHECK_FALSE(press(choice, 27, view).filter.size());
    CHECK(press(choice, 'q', view).quit);
}

TEST_CASE("a screen has as many lines as the terminal, and none is longer") {
    const JobView view = watched();
    for (const auto& [width, height] : {std::pair{80, 24}, {20, 4}, {1, 1}}) {
        const auto lines = draw(view, {}, width, height);
        CHECK(int(lines.size()) == std::max(height, 2));
        for (const Line& line : lines) {
            std::size_t length = 0;
            for (const Piece& piece : line) length += piece.text.size();
            CHECK(int(length) <= width);
        }
    }
}

TEST_CASE(
    "accesses to windows are counted at the rank that makes them, and their targets are named") {
    JobView view = watched();
    CHECK_THAT(plain_text(draw(view, {}, 150, 0)), !Contains("ACCESS/S"));
    Sample sample;
    sample.now = 4 * second;
    sample.ranks = {rank(0, 4 * second), rank(1, 4 * second, RankState::waiting),
                    rank(2, 4 * second, RankState::waiting)};
    sample.ranks[0].windows = {.direct = 300, .sent = 200, .served = 4};
    for (std::size_t i = 1; i < 3; ++i) {
        sample.ranks[i].wait = core::WaitKind::access;
        sample.ranks[i].peer = 3;
        std::string_view("MPI_Win_flush").copy(sample.ranks[i].call.data(), 13);
    }
    std::string_view("the lock of a window").copy(sample.ranks[2].detail.data(), 20);
    view.apply(sample);
    CHECK(view.ranks()[0].accesses == Approx(500));
    CHECK(view.ranks()[1].accesses == 0);
    CHECK(view.describe(view.ranks()[1]) == "waits 3.0 s in MPI_Win_flush: rank 3, for a window");
    CHECK(view.describe(view.ranks()[2]) == "waits 3.0 s in MPI_Win_flush: the lock of a window");
    CHECK_THAT(plain_text(draw(view, {}, 150, 0)), Contains("ACCESS/S") && Contains(" 500 "));
    CHECK_THAT(to_json(view), Contains("\"accesses\":500.0,\"accesses_direct\":300,"
                                       "\"accesses_sent\":200,\"accesses_served\":4"));
    CHECK_THAT(ranks_to_csv(view), Contains(",500.0,300,200,4,0,0\n"));
    CHECK_THAT(to_open_metrics(view), Contains("torusmp_rank_accesses_sent_total{job=\"42\",rank="
                                               "\"0\",host=\"n0\"} 200\n"));
}

TEST_CASE("the texts for programs name every rank and link once") {
    const JobView view = watched();
    CHECK_THAT(to_json(view), Contains("\"program\":\"./a.out \\\"x\\\"\"") &&
                                  Contains("\"rate\":2000000") && Contains("\"detour\":true"));
    const std::string ranks = ranks_to_csv(view), links = links_to_csv(view);
    CHECK(std::count(ranks.begin(), ranks.end(), '\n') == 5);
    CHECK(std::count(links.begin(), links.end(), '\n') == 5);
    const std::string metrics = to_open_metrics(view);
    CHECK_THAT(
        metrics,
        Contains("torusmp_link_bytes_sent_total{job=\"42\",rank=\"0\",host=\"n0\",way=\"1+\","
                 "to=\"1\",transport=\"\"} 3000000\n") &&
            Catch::Matchers::EndsWith("# EOF\n"));
}

TEST_CASE("records are unchanged after sending, and damaged ones are refused") {
    Sample sample;
    sample.now = 5;
    sample.ranks = {rank(1, 2)};
    sample.ways = {way(0, 2, 1, 3, 1)};
    sample.devices.resize(1);
    const auto bytes = torus_run::encode(sample);
    const Sample back = torus_run::decode_sample(bytes);
    CHECK(back.now == 5);
    CHECK(back.ranks == sample.ranks);
    CHECK(back.ways[0].counts == sample.ways[0].counts);
    for (std::size_t length = 0; length < bytes.size(); ++length)
        CHECK_THROWS_AS(torus_run::decode_sample(std::span(bytes).first(length)),
                        torus_run::PackingError);
    sample.ways[0].way = core::page_ways;
    CHECK_THROWS_AS(torus_run::decode_sample(torus_run::encode(sample)), torus_run::PackingError);
    torus_run::JobDescription job = job_2x2();
    CHECK(torus_run::decode_job(torus_run::encode(job)).program == job.program);
    job.dims = {2, 3};
    CHECK_THROWS_AS(torus_run::decode_job(torus_run::encode(job)), torus_run::PackingError);
}

}  // namespace torusmp::torus_top::view_test
