// SPDX-License-Identifier: BSD-3-Clause
#include "bench/figures/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/units.h"

namespace torusmp::bench {
namespace {

constexpr std::size_t gap = 2;        // between columns
constexpr std::size_t group_gap = 2;  // additional gap between groups

std::string size_text(std::size_t bytes) {
    const std::string text = base::format_size(bytes);
    // Writes "16KiB" as "16 KiB".
    const std::size_t unit = text.find_first_not_of("0123456789");
    return fmt::format("{} {}", text.substr(0, unit), text.substr(unit));
}

struct Layout {
    std::vector<std::string> sizes;
    std::size_t size_width = 4;                   // "size"
    std::vector<std::vector<std::string>> cells;  // by column
    std::vector<std::size_t> widths;
    std::vector<bool> opens_group;
};

}  // namespace

std::string row_name(const Table& table, const Row& row) {
    if (!row.label.empty()) return row.label;
    return table.key == "bytes" ? size_text(row.bytes) : std::to_string(row.bytes);
}

namespace {

constexpr double most_scatter = 0.25;
constexpr std::size_t fewest_samples = 3;  // the fewest samples with quartiles

// Interpolates between the two nearest of ascending samples.
double quantile(const std::vector<double>& sorted, double share) {
    const double place = share * double(sorted.size() - 1);
    const auto below = std::size_t(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (place - double(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

bool scatters(const Figure& figure) {
    if (figure.samples.size() < fewest_samples) return false;
    std::vector<double> sorted = figure.samples;
    std::sort(sorted.begin(), sorted.end());
    return quantile(sorted, 0.75) - quantile(sorted, 0.25) > most_scatter * quantile(sorted, 0.5);
}

std::string cell_text(const Column& column, const Figure& figure) {
    const std::string text = column.count && std::isfinite(figure.value)
                                 ? fmt::format("{:.0f}", figure.value)
                                 : shorten(figure.value);
    return scatters(figure) ? text + "~" : text;
}

std::string scatter_note(const Table& table) {
    for (const Row& row : table.rows)
        if (std::any_of(row.figures.begin(), row.figures.end(), scatters))
            return fmt::format(
                "~: the quartiles of its samples are more than {:.0f} % of their median apart: do "
                "not rely on it.",
                100 * most_scatter);
    return "";
}

namespace {

Layout lay_out(const Table& table) {
    Layout layout;
    for (const Row& row : table.rows) {
        layout.sizes.push_back(row_name(table, row));
        layout.size_width = std::max(layout.size_width, layout.sizes.back().size());
    }
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        const Column& column = table.columns[c];
        std::size_t width = std::max(column.name.size(), column.unit.size());
        std::vector<std::string> cells;
        for (const Row& row : table.rows) {
            cells.push_back(cell_text(column, row.figures[c]));
            width = std::max(width, cells.back().size());
        }
        layout.cells.push_back(std::move(cells));
        layout.widths.push_back(width);
        layout.opens_group.push_back(!column.group.empty() &&
                                     (c == 0 || table.columns[c - 1].group != column.group));
    }
    return layout;
}

std::size_t space_before(const Layout& layout, std::size_t column) {
    return gap + (layout.opens_group[column] ? group_gap : 0);
}

template <class Text>
std::string line(const Layout& layout, std::string_view first, Text text) {
    std::string out = fmt::format("{:>{}}", first, layout.size_width);
    for (std::size_t c = 0; c < layout.widths.size(); ++c)
        out += fmt::format("{:{}}{:>{}}", "", space_before(layout, c), text(c), layout.widths[c]);
    out.erase(out.find_last_not_of(' ') + 1);
    return out + "\n";
}

// Centres each group's name over its columns; widens the group's first column if the name is long.
std::string group_line(const Table& table, Layout& layout) {
    std::string out(layout.size_width, ' ');
    bool any = false;
    for (std::size_t c = 0; c < table.columns.size();) {
        std::size_t end = c + 1;
        while (end < table.columns.size() && table.columns[end].group == table.columns[c].group)
            ++end;
        std::size_t width = layout.widths[c];
        for (std::size_t i = c + 1; i < end; ++i)
            width += space_before(layout, i) + layout.widths[i];
        const std::string& name = table.columns[c].group;
        if (name.size() > width) {
            layout.widths[c] += name.size() - width;
            width = name.size();
        }
        out += fmt::format("{:{}}{:^{}}", "", space_before(layout, c), name, width);
        any = any || !name.empty();
        c = end;
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return any ? out + "\n" : "";
}

}  // namespace

std::string json_quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            out += fmt::format("\\{}", c);
        else if (static_cast<unsigned char>(c) < 0x20)
            out += fmt::format("\\u{:04x}", int(c));
        else
            out += c;
    }
    return out + "\"";
}

namespace {

// JSON has no infinity; a figure that could not be computed is null.
std::string json_number(double value) {
    return std::isfinite(value) ? fmt::format("{:.9g}", value) : "null";
}

template <class List, class Text>
std::string json_list(const List& list, Text text) {
    std::string out = "[";
    for (const auto& item : list) {
        if (out.size() > 1) out += ',';
        out += text(item);
    }
    out += ']';
    return out;
}

std::string json_figure(const Figure& figure) {
    return fmt::format("{{\"median\":{},\"best\":{},\"samples\":{}{}}}", json_number(figure.value),
                       json_number(figure.best), json_list(figure.samples, json_number),
                       figure.calls > 0 ? fmt::format(",\"calls\":{}", figure.calls) : "");
}

std::string json_row(const Table& table, const Row& row) {
    return fmt::format("\n  {{{}:{},\"figures\":{},\"x\":{},\"beside\":{}}}",
                       json_quoted(table.key),
                       row.label.empty() ? std::to_string(row.bytes) : json_quoted(row.label),
                       json_list(row.figures, json_figure),
                       json_number(table.x_scale * double(row.bytes)), row.beside);
}

std::string json_link(const LinkTraffic& link) {
    return fmt::format(
        "\n  {{\"rank\":{},\"direction\":{},\"device\":{},\"peer\":{},\"bytes_sent\":{},"
        "\"bytes_received\":{},\"packets_sent\":{}}}",
        link.rank, json_quoted(link.direction), json_quoted(link.device), link.peer,
        link.bytes_sent, link.bytes_received, link.packets_sent);
}

constexpr std::size_t most_link_lines = 64;

std::string each_link(const std::vector<LinkTraffic>& links) {
    const auto device = [](const LinkTraffic& link) {
        return link.device.empty() ? std::string("-") : link.device;
    };
    std::size_t wide = 6;
    for (const LinkTraffic& link : links) wide = std::max(wide, device(link).size());
    std::string out =
        fmt::format("rank  link  {:<{}}   to      sent  received   packets\n", "device", wide);
    out += fmt::format("            {:{}}             MB        MB      sent\n", "", wide);
    for (const LinkTraffic& link : links)
        out += fmt::format("{:>4}  {:>4}  {:<{}} {:>4}  {:>8}  {:>8}  {:>8}\n", link.rank,
                           link.direction, device(link), wide, link.peer,
                           shorten(double(link.bytes_sent) / 1e6),
                           shorten(double(link.bytes_received) / 1e6), link.packets_sent);
    return out;
}

// For each direction the minimum, the maximum and the sum over all ranks.
std::string each_direction(const std::vector<LinkTraffic>& links) {
    struct Sum {
        std::size_t ends = 0;
        std::uint64_t least = ~std::uint64_t{0}, most = 0, all = 0;
    };
    std::map<std::string, Sum> sums;
    for (const LinkTraffic& link : links) {
        Sum& sum = sums[link.direction];
        ++sum.ends;
        sum.least = std::min(sum.least, link.bytes_sent);
        sum.most = std::max(sum.most, link.bytes_sent);
        sum.all += link.bytes_sent;
    }
    std::string out =
        "link   ends  least sent  most sent   all sent\n"
        "                     MB         MB         MB\n";
    for (const auto& [direction, sum] : sums)
        out += fmt::format("{:>4}  {:>5}  {:>10}  {:>9}  {:>9}\n", direction, sum.ends,
                           shorten(double(sum.least) / 1e6), shorten(double(sum.most) / 1e6),
                           shorten(double(sum.all) / 1e6));
    return out;
}

std::string json_column(const Column& column) {
    return fmt::format(
        "{{\"group\":{},\"name\":{},\"unit\":{},\"draw\":{},\"colour\":{},\"count\":{}}}",
        json_quoted(column.group), json_quoted(column.name), json_quoted(column.unit),
        json_quoted(name_of(column.draw)), column.colour, column.count);
}

std::string json_level(const Level& level) {
    return fmt::format("{{\"name\":{},\"unit\":{},\"value\":{},\"colour\":{}}}",
                       json_quoted(level.name), json_quoted(level.unit), json_number(level.value),
                       level.colour);
}

std::string json_link_rate(const LinkRate& link) {
    return fmt::format("\n  {{\"receiver\":{},\"sender\":{},\"direction\":{},\"rate\":{}}}",
                       link.receiver, link.sender, json_quoted(link.direction),
                       json_number(link.rate));
}

// Quotes a cell according to RFC 4180.
std::string csv_cell(std::string_view text) {
    if (text.find_first_of(",\"\n") == std::string_view::npos) return std::string(text);
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + "\"";
}

std::string csv_number(double value) {
    return std::isfinite(value) ? fmt::format("{:.9g}", value) : "";
}

}  // namespace

std::string_view name_of(Column::Draw draw) {
    static constexpr std::array<std::string_view, 4> names = {"no", "line", "dashes", "points"};
    return names[std::size_t(draw)];
}

std::string as_csv(const Table& table) {
    std::string out = csv_cell(table.key);
    for (const Column& column : table.columns) {
        const std::string name =
            (column.group.empty() ? column.name : column.group + ", " + column.name) +
            (column.unit.empty() ? "" : " [" + column.unit + "]");
        for (const char* which : {"", ", least", ", greatest"}) out += "," + csv_cell(name + which);
    }
    out += "\n";
    for (const Row& row : table.rows) {
        out += row.label.empty() ? std::to_string(row.bytes) : csv_cell(row.label);
        for (const Figure& figure : row.figures) {
            const auto [least, greatest] =
                std::minmax_element(figure.samples.begin(), figure.samples.end());
            const bool any = !figure.samples.empty();
            out += "," + csv_number(figure.value) + "," + csv_number(any ? *least : NAN) + "," +
                   csv_number(any ? *greatest : NAN);
        }
        out += "\n";
    }
    return out;
}

std::string unit_text(std::string_view unit) {
    return unit == "us" ? "\u00b5s" : std::string(unit);
}

std::string shorten(double value) {
    if (!std::isfinite(value)) return "-";
    const double size = std::abs(value);
    const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
    return fmt::format("{:.{}f}", value, decimals);
}

std::string as_text(const Table& table) {
    Layout layout = lay_out(table);
    std::string out = table.title + "\n\n";
    out += group_line(table, layout);
    out += line(layout, table.key == "bytes" ? "size" : table.key,
                [&](std::size_t c) { return table.columns[c].name; });
    out += line(layout, "", [&](std::size_t c) { return table.columns[c].unit; });
    for (std::size_t r = 0; r < table.rows.size(); ++r)
        out += line(layout, layout.sizes[r], [&](std::size_t c) { return layout.cells[c][r]; });
    const std::string scatter = scatter_note(table);
    if (!table.notes.empty() || !scatter.empty()) out += "\n";
    for (const std::string& note : table.notes) out += note + "\n";
    return scatter.empty() ? out : out + scatter + "\n";
}

std::string as_text(const std::vector<LinkTraffic>& links) {
    if (links.empty()) return "";
    return fmt::format(
        "Traffic over each link during the whole run, including warm-up (MB: 10^6 bytes)\n\n{}",
        links.size() <= most_link_lines ? each_link(links) : each_direction(links));
}

std::string as_json(std::string_view command, const std::vector<Fact>& facts, const Table& table,
                    const std::vector<LinkTraffic>& links) {
    std::string ran_on = "{";
    for (const Fact& fact : facts)
        ran_on += fmt::format("{}{}:{}", ran_on.size() > 1 ? "," : "", json_quoted(fact.name),
                              fact.number ? fact.text : json_quoted(fact.text));
    return fmt::format(
        "{{\"tool\":\"torus-bench\",\"command\":{},\n \"ran_on\":{}}},\n \"title\":{},\n "
        "\"key\":{},\"x_label\":{},\"y_label\":{},\"linear\":{},\n \"levels\":{},\n "
        "\"columns\":{},\n \"rows\":{},\n \"notes\":{},\n \"link_rates\":{},\n \"links\":{}}}\n",
        json_quoted(command), ran_on, json_quoted(table.title), json_quoted(table.key),
        json_quoted(table.x_label), json_quoted(table.y_label), table.linear,
        json_list(table.levels, json_level), json_list(table.columns, json_column),
        json_list(table.rows, [&](const Row& row) { return json_row(table, row); }),
        json_list(table.notes, [](const std::string& note) { return json_quoted(note); }),
        json_list(table.link_rates, json_link_rate), json_list(links, json_link));
}

}  // namespace torusmp::bench
