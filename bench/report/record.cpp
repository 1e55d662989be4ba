// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>

#include "base/json.h"

namespace torusmp::bench {
namespace {

using base::Json;

constexpr std::string_view record_writer = "torus-bench report";

const Json& member_of(const Json& object, std::string_view name, Json::Kind kind) {
    return recorded_member(object, name, kind, record_writer);
}
std::string word_of(const Json& object, std::string_view name) {
    return recorded_text(object, name, record_writer);
}

RecordedPart part_of(const Json& json) {
    RecordedPart part{word_of(json, "name"),    word_of(json, "section"),
                      word_of(json, "overlay"), word_of(json, "command"),
                      word_of(json, "failure"), member_of(json, "took", Json::Kind::number).number};
    if (part.failure.empty())
        part.result = recorded_of(member_of(json, "result", Json::Kind::object));
    return part;
}

ReportRecord record_of(const Json& json) {
    if (word_of(json, "command") != "report")
        throw std::runtime_error(
            fmt::format("a file of torus-bench {}: expected a file of "
                        "torus-bench report",
                        word_of(json, "command")));
    ReportRecord record{word_of(json, "machine"),
                        word_of(json, "version"),
                        word_of(json, "began"),
                        member_of(json, "seconds", Json::Kind::number).number,
                        {}};
    for (const Json& part : member_of(json, "parts", Json::Kind::list).items)
        record.parts.push_back(part_of(part));
    return record;
}

}  // namespace

const RecordedPart* ReportRecord::find(const std::string& name) const {
    const auto found = std::find_if(parts.begin(), parts.end(),
                                    [&](const RecordedPart& part) { return part.name == name; });
    return found == parts.end() ? nullptr : &*found;
}

ReportRecord read_record(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in || std::filesystem::is_directory(file))
        throw std::runtime_error(fmt::format("cannot read {}", file));
    try {
        return record_of(base::parse_json(std::string{std::istreambuf_iterator<char>(in), {}}));
    } catch (const std::runtime_error& wrong) {
        throw std::runtime_error(fmt::format("{}: {}", file, wrong.what()));
    }
}

std::string as_json(const ReportRecord& record) {
    std::string out = fmt::format(
        "{{\"tool\":\"torus-bench\",\"command\":\"report\",\n \"machine\":{},\n \"version\":{},"
        "\"began\":{},\"seconds\":{:.9g},\n \"parts\":[",
        json_quoted(record.machine), json_quoted(record.version), json_quoted(record.began),
        record.seconds);
    for (const RecordedPart& part : record.parts) {
        const Recorded& result = part.result;
        out += fmt::format(
            "{}\n{{\"name\":{},\"section\":{},\"overlay\":{},\"command\":{},\"failure\":{},"
            "\"took\":{:.3f},\n \"result\":{}}}",
            &part == &record.parts.front() ? "" : ",", json_quoted(part.name),
            json_quoted(part.section), json_quoted(part.overlay), json_quoted(part.command),
            json_quoted(part.failure), part.took,
            part.failure.empty() ? as_json(result.command, result.facts, result.table, result.links)
                                 : "null");
    }
    return out + "]}\n";
}

void write_whole(const std::string& file, const std::string& text) {
    const std::string temporary = file + ".tmp";
    std::ofstream out(temporary, std::ios::binary);
    out << text;
    out.close();
    std::error_code error;
    if (out) std::filesystem::rename(temporary, file, error);
    if (out && !error) return;
    std::filesystem::remove(temporary, error);
    throw std::runtime_error(fmt::format("cannot write {}", file));
}

}  // namespace torusmp::bench
