// SPDX-License-Identifier: BSD-3-Clause
// Input from a cable or from another host is accepted only if this code could have written it.
#include "programs/torus_check/protocol.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <sstream>

using namespace torusmp::torus_check;

namespace {

Nonce some_nonce() {
    Nonce nonce{};
    for (std::size_t i = 0; i < nonce.size(); ++i) nonce[i] = std::uint8_t(17 * i + 3);
    return nonce;
}

std::vector<std::byte> bytes_of(const ProbePacket& packet) {
    std::vector<std::byte> bytes(sizeof packet);
    std::memcpy(bytes.data(), &packet, sizeof packet);
    return bytes;
}

torusmp::base::LinkCounters some_counters() {
    torusmp::base::LinkCounters counters;
    for (std::size_t i = 0; i < counters.values().size(); ++i)
        counters.set(i, i == 0 ? 0xffffffff : std::uint32_t(i * 1000));
    return counters;
}

ProbeReport some_report() {
    return {{{"eth1", 200, 8, 9000, 0, ""}, {"eth2", 3, 0, 1500, 7, "cannot send: it is down"}},
            {{"eth1", 3, "enp1s0f1", 200, 8}, {"eth2", 0, "eth9", 0, 1}},
            {{"eth1", some_counters()}}};
}

template <class Read>
void read_lines(const std::string& text, Read read) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        if (read(line)) return;
    throw ProtocolError("missing end");
}

}  // namespace

TEST_CASE("Small and large probes are unchanged after writing and reading") {
    const Nonce nonce = some_nonce();
    auto bytes = bytes_of(encode(nonce, {7, "enp1s0f0", 123}));
    for (const std::size_t size : {bytes.size(), std::size_t(8952)}) {
        bytes.resize(size);
        const auto identity = decode(bytes, nonce, 8);
        REQUIRE(identity);
        CHECK(identity->node == 7);
        CHECK(identity->device == "enp1s0f0");
        CHECK(identity->sequence == 123);
    }
}

TEST_CASE("A datagram of another job, an outsider or a liar is not a probe") {
    const Nonce nonce = some_nonce();
    const auto good = bytes_of(encode(nonce, {7, "eth0", 1}));
    REQUIRE(decode(good, nonce, 8));
    CHECK_FALSE(decode(good, nonce, 7));  // node 7 does not exist
    CHECK_FALSE(decode(good, Nonce{}, 8));
    for (std::size_t length = 0; length < good.size(); ++length)
        CHECK_FALSE(decode(std::span(good).first(length), nonce, 8));
    auto endless = good;
    for (std::size_t i = 32; i < 48; ++i) endless[i] = std::byte('x');
    CHECK_FALSE(decode(endless, nonce, 8));
    auto nameless = good;
    nameless[32] = std::byte(0);
    CHECK_FALSE(decode(nameless, nonce, 8));
    auto blank = good;
    blank[33] = std::byte(' ');
    CHECK_FALSE(decode(blank, nonce, 8));
    // Any change in magic or nonce is detected.
    for (std::size_t i = 0; i < 24; ++i)
        for (int bit = 0; bit < 8; ++bit) {
            auto flipped = good;
            flipped[i] ^= std::byte(1 << bit);
            CHECK_FALSE(decode(flipped, nonce, 8));
        }
}

TEST_CASE("A nonce can be printed and read, and no two are the same") {
    CHECK(parse_nonce(format_nonce(some_nonce())) == some_nonce());
    CHECK(random_nonce() != random_nonce());
    CHECK_FALSE(parse_nonce(""));
    CHECK_FALSE(parse_nonce(std::string(32, 'g')));
    CHECK_FALSE(parse_nonce(std::string(31, 'a')));
}

TEST_CASE("A job is unchanged after writing and reading") {
    Job job{some_nonce(), 3, 8, 23456, true, "/tmp/a folder/torus.toml", {"eth1", "eth2"}};
    Job back;
    read_lines(format_job(job),
               [&](const std::string& line) { return parse_job_line(line, back); });
    CHECK(back.nonce == job.nonce);
    CHECK(back.node == 3);
    CHECK(back.nodes == 8);
    CHECK(back.port == 23456);
    CHECK(back.routes);
    CHECK(back.geometry == job.geometry);
    CHECK(back.devices == job.devices);
}

TEST_CASE(
    "A report is unchanged after writing and reading, and one with missing lines is refused") {
    const ProbeReport report = some_report();
    const std::string text = format_report(report);
    ProbeReport back;
    read_lines(text, [&](const std::string& line) { return parse_report_line(line, 4, back); });
    CHECK(back == report);
    const std::string shorter = text.substr(text.find('\n') + 1);
    ProbeReport lost;
    CHECK_THROWS_AS(
        read_lines(shorter,
                   [&](const std::string& line) { return parse_report_line(line, 4, lost); }),
        ProtocolError);
    ProbeReport outsider;  // node 3 does not exist
    CHECK_THROWS_AS(parse_report_line("heard eth1 3 eth1 1 1", 3, outsider), ProtocolError);
}

TEST_CASE("Rounds and transfers are unchanged after writing and reading") {
    const auto line = [](std::string text) {
        REQUIRE(text.ends_with('\n'));
        text.pop_back();
        return text;
    };
    for (const Round& round :
         {Round{0, 500, 8, true, {}}, Round{7, 600, 60, false, {"eth1", "eth2"}},
          Round{1023, 0, 0, false, {}}})
        CHECK(parse_round(line(format_round(round))) == round);
    const Push push{17, "eth1", 3, "enp1s0f1", 1 << 20, 4096, std::chrono::milliseconds(10)};
    CHECK(parse_push(line(format_push(push)), 4) == push);
    Push to_address = push;
    to_address.ipv4 = "10.0.0.6";
    CHECK(parse_push(line(format_push(to_address)), 4) == to_address);
    CHECK_THROWS_AS(parse_push(line(format_push(push)), 3),
                    ProtocolError);  // node 3 does not exist
    using std::chrono::microseconds;
    for (const Pushed& pushed :
         {Pushed{17, 1 << 20, microseconds(900), microseconds(30), 117, 2, ""},
          Pushed{18, 0, microseconds(0), microseconds(0), 0, 0, "cannot connect: it is off"}})
        CHECK(parse_pushed(line(format_pushed(pushed))) == pushed);
    for (const char* wrong : {"send", "send 1 2", "send 1024 1 1 *", "send 0 -1 1 *",
                              "send 0 1 1 a/very/long/device/name", "push 1 eth1 0 eth1 5 5",
                              "push 1 eth1 0 eth1 -5 5 5 -",
                              "push 1 eth1 0 eth1 5 5 5 fe80::1", ""})
        CHECK_THROWS_AS(wrong[0] == 's' ? (void)parse_round(wrong) : (void)parse_push(wrong, 4),
                        ProtocolError);
}

TEST_CASE("Damaged jobs and reports are refused, or read as values that print the same") {
    const std::string report = format_report(some_report());
    Job whole{some_nonce(), 3, 8, 23456, false, "torus.toml", {"eth1"}};
    const std::string job = format_job(whole);
    std::mt19937 random(2);
    for (int round = 0; round < 20000; ++round) {
        std::string text = round % 2 ? report : job;
        for (unsigned i = 0; i < 1 + random() % 3; ++i)
            text[random() % text.size()] = char(random() % 256);
        try {
            if (round % 2) {
                ProbeReport back, again;
                read_lines(text,
                           [&](const auto& line) { return parse_report_line(line, 4, back); });
                read_lines(format_report(back),
                           [&](const auto& line) { return parse_report_line(line, 4, again); });
                CHECK(again == back);
            } else {
                Job back;
                read_lines(text, [&](const auto& line) { return parse_job_line(line, back); });
                CHECK((back.node >= 0 && back.node < back.nodes));
            }
        } catch (const ProtocolError&) {
        }
    }
}
