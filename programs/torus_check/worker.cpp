// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_check/worker.h"

#include <fmt/format.h>

#include <stdexcept>

#include "base/text.h"
#include "core/transport/machine.h"

namespace torusmp::torus_check {

namespace {

constexpr std::size_t longest_line = std::size_t(1) << 16;
constexpr int most_noise = 200;  // lines that a login shell may print before the probe speaks

}  // namespace

void Worker::hear(std::string_view text) {
    output_ += text;
    std::size_t begin = 0;
    for (std::size_t end; !lost() && (end = output_.find('\n', begin)) != std::string::npos;
         begin = end + 1)
        try {
            take_line(output_.substr(begin, end - begin));
        } catch (const std::exception& error) {
            give_up(fmt::format("cannot parse the output of its probe: {}", error.what()));
        }
    output_.erase(0, begin);
    if (output_.size() > longest_line) give_up("a line of its probe is too long");
}

void Worker::give_up(const std::string& why) {
    if (!lost()) trouble_ = why;
}

void Worker::expect_report() {
    report_ = {};
    reporting_ = true;
}

void Worker::take_line(const std::string& line) {
    switch (stage_) {
        case Stage::greeting:
            return take_greeting(line);
        case Stage::facts:
            return take_facts(line);
        case Stage::open:
            return take_answer(line);
    }
}

void Worker::take_greeting(const std::string& line) {
    const std::string expected = fmt::format("{} {}", hello_word, TORUSMP_VERSION);
    if (line == expected)
        stage_ = Stage::facts;
    else if (line.starts_with(hello_word))
        give_up(fmt::format("it runs another version: found \"{}\", expected \"{}\"",
                            base::printable(line), expected));
    else if (++noise_ > most_noise)
        give_up(fmt::format("the program that answered is not torus-check: it sent \"{}\"",
                            base::printable(line)));
}

void Worker::take_facts(const std::string& line) {
    if (line == "ready" && facts_complete_) {
        stage_ = Stage::open;
        return;
    }
    if (facts_text_.size() > (std::size_t(64) << 20))
        throw ProtocolError(
            "the list of facts is "
            "too long");
    facts_text_ += line + "\n";
    if (!line.starts_with("end ")) return;
    facts_ = transport::parse_facts(facts_text_);
    facts_complete_ = true;
}

void Worker::take_answer(const std::string& line) {
    if (line.starts_with("pushed ")) {
        pushed_.push_back(parse_pushed(line));
    } else if (sending_ && line == "sending-done") {
        sending_ = false;
    } else if (reporting_) {
        reporting_ = !parse_report_line(line, nodes_, report_);
    } else {
        throw ProtocolError(base::printable(line));
    }
}

}  // namespace torusmp::torus_check
