// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_check/protocol.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/address.h"
#include "base/text.h"
#include "base/units.h"
#include "config/geometry.h"
#include "config/raw.h"

namespace torusmp::torus_check {

namespace {

constexpr std::size_t most_lines = 1 << 20;  // of one report; a longer one is not ours
constexpr int most_time = 1 << 30;
constexpr std::uint64_t most_bytes = std::uint64_t(1) << 40;

[[noreturn]] void fail(std::string_view line, const std::string& why) {
    throw ProtocolError(fmt::format("\"{}\": {}", base::printable(line, 120), why));
}

// Splits a line into at most `count` words; the last one is the rest of the line.
std::vector<std::string> split(std::string_view line, std::size_t count) {
    std::vector<std::string> words;
    while (words.size() + 1 < count && line.find(' ') != std::string_view::npos) {
        words.emplace_back(line.substr(0, line.find(' ')));
        line.remove_prefix(line.find(' ') + 1);
    }
    words.emplace_back(line);
    return words;
}

std::vector<std::string> exactly(std::string_view line, std::size_t count) {
    std::vector<std::string> words = split(line, count);
    if (words.size() != count) fail(line, fmt::format("expected {} words", count));
    return words;
}

int number(std::string_view line, const std::string& word, int low, int high) {
    const auto value = base::parse_integer(word);
    if (!value || *value < low || *value > high)
        fail(line, fmt::format("expected a number from {} to {}, found \"{}\"", low, high,
                               base::printable(word)));
    return int(*value);
}

std::uint64_t bytes(std::string_view line, const std::string& word) {
    const auto value = base::parse_integer(word);
    if (!value || *value < 0 || std::uint64_t(*value) > most_bytes)
        fail(line, fmt::format("expected a number of bytes, found \"{}\"", base::printable(word)));
    return std::uint64_t(*value);
}

// Parses a counter of the kernel, which wraps around.
std::uint32_t counter(std::string_view line, const std::string& word) {
    const auto value = base::parse_integer(word);
    if (!value || *value < 0 || *value > 0xffffffffLL)
        fail(line, fmt::format("expected a counter, found \"{}\"", base::printable(word)));
    return std::uint32_t(*value);
}

std::string device(std::string_view line, const std::string& word) {
    const bool plain =
        std::all_of(word.begin(), word.end(), [](char c) { return c > ' ' && c < 0x7f; });
    if (word.empty() || word.size() > 15 || !plain) fail(line, "expected the name of a device");
    return word;
}

std::size_t lines_of(const ProbeReport& report) {
    return report.sent.size() + report.heard.size() + report.counted.size();
}

// Turns any text into a single line.
std::string on_one_line(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r' || c == '\0'; }, ' ');
    return text;
}

std::string text_word(const std::string& text) {
    return text.empty() ? "-" : on_one_line(text);
}

std::string word_text(const std::string& word) {
    return word == "-" ? std::string() : base::printable(word, 200);
}

}  // namespace

std::string format_job(const Job& job) {
    std::string out = fmt::format("job {} {} {} {} {}\n", format_nonce(job.nonce), job.node,
                                  job.nodes, job.port, job.routes ? 1 : 0);
    if (!job.geometry.empty()) out += fmt::format("geometry {}\n", on_one_line(job.geometry));
    for (const std::string& name : job.devices) out += fmt::format("device {}\n", name);
    return out + "start\n";
}

bool parse_job_line(std::string_view line, Job& job) {
    if (line == "start") return true;
    const std::string head = split(line, 2)[0];
    if (head == "job") {
        const auto words = exactly(line, 6);
        const auto nonce = parse_nonce(words[1]);
        if (!nonce) fail(line, "expected a nonce of 32 hexadecimal digits");
        job.nonce = *nonce;
        job.nodes = number(line, words[3], 1, config::max_ranks);
        job.node = number(line, words[2], 0, job.nodes - 1);
        job.port = number(line, words[4], 1, 65535);
        job.routes = number(line, words[5], 0, 1) == 1;
    } else if (head == "geometry") {
        job.geometry = exactly(line, 2)[1];
    } else if (head == "device") {
        if (job.devices.size() >= most_lines) fail(line, "too many devices");
        job.devices.push_back(device(line, exactly(line, 2)[1]));
    } else {
        fail(line, "expected job, geometry, device or start");
    }
    return false;
}

std::string format_round(const Round& round) {
    std::string out = fmt::format("send {} {} {}", round.number, round.small, round.large);
    if (round.all) return out + " *\n";
    for (const std::string& name : round.devices) out += " " + name;
    return out + "\n";
}

Round parse_round(std::string_view line) {
    const auto words = split(line, line.size());
    if (words.size() < 4 || words[0] != "send") fail(line, "expected send with three numbers");
    Round round{number(line, words[1], 0, most_rounds - 1),
                number(line, words[2], 0, most_probes),
                number(line, words[3], 0, most_probes),
                false,
                {}};
    round.all = words.size() == 5 && words[4] == "*";
    for (std::size_t i = 4; i < words.size() && !round.all; ++i)
        round.devices.push_back(device(line, words[i]));
    return round;
}

std::string format_push(const Push& push) {
    return fmt::format("push {} {} {} {} {} {} {} {}\n", push.id, push.device, push.node, push.far,
                       push.bytes, push.least, push.time.count(),
                       push.ipv4.empty() ? "-" : push.ipv4);
}

Push parse_push(std::string_view line, int nodes) {
    const auto words = exactly(line, 9);
    if (words[0] != "push") fail(line, "expected push");
    const auto ipv4 = base::parse_address(words[8]);
    if (words[8] != "-" && (!ipv4 || ipv4->v6)) fail(line, "expected an IPv4 address or -");
    return {number(line, words[1], 0, 0x7fffffff),
            device(line, words[2]),
            number(line, words[3], 0, nodes - 1),
            device(line, words[4]),
            bytes(line, words[5]),
            bytes(line, words[6]),
            std::chrono::milliseconds(number(line, words[7], 0, most_time)),
            ipv4 ? ipv4->text() : std::string()};
}

std::string format_pushed(const Pushed& pushed) {
    return fmt::format("pushed {} {} {} {} {} {} {}\n", pushed.id, pushed.bytes,
                       pushed.time.count(), pushed.round_trip.count(), pushed.segments,
                       pushed.again, text_word(pushed.trouble));
}

Pushed parse_pushed(std::string_view line) {
    const auto words = exactly(line, 8);
    if (words[0] != "pushed") fail(line, "expected pushed");
    return {number(line, words[1], 0, 0x7fffffff),
            bytes(line, words[2]),
            std::chrono::microseconds(number(line, words[3], 0, most_time)),
            std::chrono::microseconds(number(line, words[4], 0, most_time)),
            number(line, words[5], 0, 0x7fffffff),
            number(line, words[6], 0, 0x7fffffff),
            word_text(words[7])};
}

std::string format_report(const ProbeReport& report) {
    std::string out;
    for (const Sent& sent : report.sent)
        out += fmt::format("sent {} {} {} {} {} {}\n", sent.device, sent.small, sent.large,
                           sent.large_bytes, sent.overflow, text_word(sent.trouble));
    for (const Heard& heard : report.heard)
        out += fmt::format("heard {} {} {} {} {}\n", heard.device, heard.node, heard.from,
                           heard.small, heard.large);
    for (const Counted& counted : report.counted) {
        out += "counted " + counted.device;
        for (const std::uint32_t value : counted.counters.values())
            out += fmt::format(" {}", value);
        out += "\n";
    }
    return out + fmt::format("end {}\n", lines_of(report));
}

bool parse_report_line(std::string_view line, int nodes, ProbeReport& report) {
    const std::size_t lines = lines_of(report);
    if (lines > most_lines) fail(line, "the report is too long");
    const std::string head = split(line, 2)[0];
    if (head == "sent") {
        const auto words = exactly(line, 7);
        report.sent.push_back({device(line, words[1]), number(line, words[2], 0, most_probes),
                               number(line, words[3], 0, most_probes),
                               number(line, words[4], 0, 65536),
                               number(line, words[5], 0, 0x7fffffff), word_text(words[6])});
    } else if (head == "heard") {
        const auto words = exactly(line, 6);
        report.heard.push_back({device(line, words[1]), number(line, words[2], 0, nodes - 1),
                                device(line, words[3]), number(line, words[4], 0, most_probes),
                                number(line, words[5], 0, most_probes)});
    } else if (head == "counted") {
        base::LinkCounters counters;
        const auto words = exactly(line, 2 + counters.values().size());
        for (std::size_t i = 0; i < counters.values().size(); ++i)
            counters.set(i, counter(line, words[2 + i]));
        report.counted.push_back({device(line, words[1]), counters});
    } else if (head == "end") {
        if (std::size_t(number(line, exactly(line, 2)[1], 0, 0x7fffffff)) != lines)
            fail(line, fmt::format("received {} lines; some are lost", lines));
        return true;
    } else {
        fail(line, "expected sent, heard, counted or end");
    }
    return false;
}

}  // namespace torusmp::torus_check
