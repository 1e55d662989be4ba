// SPDX-License-Identifier: BSD-3-Clause
// The results of a benchmark: tables of figures, which are printed, written as JSON and drawn.
//
// Plain values, made on rank 0. This file does not pass messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace torusmp::bench {

inline constexpr double megabyte = 1e6;  // for rates; sizes are powers of two

struct Figure {
    double value = 0;             // the median, which the table shows
    double best = 0;              // fastest repetition
    std::vector<double> samples;  // one per repetition, in the column's unit
    long calls = 0;               // calls per repetition; 0 if unknown
};

// Number of colours; an index beyond it selects the same colours with another mark.
inline constexpr int paints = 7;

struct Column {
    enum class Draw { no, line, dashes, points };

    std::string group;  // columns of a group share a heading; may be empty
    std::string name;
    std::string unit;
    Draw draw = Draw::no;
    int colour = 0;      // related curves share one
    bool count = false;  // printed without decimals
};

struct Row {
    std::size_t bytes = 0;
    std::vector<Figure> figures;  // one per column
    std::string label = {};       // replaces the number, unless empty
    bool beside = false;          // drawn as a point, beside the curve
};

// A horizontal line across the drawing, for example the capacity of a link.
struct Level {
    std::string name;
    std::string unit;
    double value = 0;
    int colour = 0;
};

// The rate received over one link while all links were busy.
struct LinkRate {
    int receiver = 0;
    int sender = 0;
    std::string direction;  // the receiver's, such as "0+"
    double rate = 0;        // MB/s
};

struct Table {
    // The meaning of the rows' numbers or labels: "bytes", printed as a size, or "hops", "torus"
    // ...
    std::string key = "bytes";
    std::string title;
    std::string y_label;  // of the drawing
    std::vector<Column> columns;
    std::vector<Row> rows;
    std::vector<std::string> notes;  // meaning of the columns, printed below
    // The label of the drawing's x axis, and the factor for the rows' numbers; empty for the key.
    std::string x_label = {};
    double x_scale = 1;
    bool linear = false;  // the drawing has linear axes; else logarithmic
    std::vector<Level> levels = {};
    std::vector<LinkRate> link_rates = {};
};

// The key of tables whose rows are names, with one value for each drawn column: the drawing has a
// line for each row and a dot for each column.
inline constexpr std::string_view dots_key = "measure";

// The meaning of every ratio.
inline constexpr std::string_view ratio_note =
    "Ratio: time of torusmp divided by the time of the other; below 1, torusmp is faster.";

// A property of the system, in the order of printing: {"cpu", "..."}, {"cores", "2"}.
struct Fact {
    std::string name;
    std::string text;
    bool number = false;  // `text` is a number (or true, false) in JSON too
};

// Traffic at one end of a link, both directions: bytes of packets and remote writes, without
// headers of packets and lower layers.
struct LinkTraffic {
    int rank = 0;
    std::string direction;  // "0+"
    std::string device;     // empty if none is known
    int peer = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t packets_sent = 0;
};

// Aligned columns, and a heading with units.
std::string as_text(const Table& table);
// One line per link end, or one per direction if there are many. Empty without links.
std::string as_text(const std::vector<LinkTraffic>& links);

std::string as_json(std::string_view command, const std::vector<Fact>& facts, const Table& table,
                    const std::vector<LinkTraffic>& links = {});

// Quotes a text for JSON.
std::string json_quoted(std::string_view text);

// Each row is one line with its name, then the median, minimum and maximum of each column.
std::string as_csv(const Table& table);

std::string_view name_of(Column::Draw draw);

// "16 KiB", "3", "broadcast": the first cell of a printed row.
std::string row_name(const Table& table, const Row& row);
// Marks a figure whose samples scatter: "16.2~".
std::string cell_text(const Column& column, const Figure& figure);

// Whether the quartiles of the samples differ by more than a quarter of the median, so that the
// median means little. bench/peers/quiet.py has the same rule.
bool scatters(const Figure& figure);
// The meaning of the mark; empty if no figure of the table has it.
std::string scatter_note(const Table& table);

// Units are plain ASCII in tables; pages show "us" as "µs".
std::string unit_text(std::string_view unit);

// Formats three significant digits, never with an exponent.
std::string shorten(double value);

}  // namespace torusmp::bench
