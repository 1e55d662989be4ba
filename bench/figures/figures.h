// SPDX-License-Identifier: BSD-3-Clause
// What a benchmark finds: tables of figures that are printed, written as JSON and drawn.
//
// Plain values; made on rank 0 and passed on. No message passing in here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace torusmp::bench {

inline constexpr double megabyte = 1e6;  // of rates; sizes are in powers of two

struct Figure {
    double value = 0;             // what the table shows: the median
    double best = 0;              // of the fastest repetition
    std::vector<double> samples;  // one a repetition, in the column's unit
    long calls = 0;               // so often the work was done in each; 0: not told
};

// So many colours there are; a colour and so many more is the same paint with another mark.
inline constexpr int paints = 7;

struct Column {
    enum class Draw { no, line, dashes, points };

    std::string group;  // columns of one group stand under one heading; may be empty
    std::string name;
    std::string unit;
    Draw draw = Draw::no;
    int colour = 0;      // curves that belong together share one
    bool count = false;  // printed without decimals
};

struct Row {
    std::size_t bytes = 0;
    std::vector<Figure> figures;  // one a column
    std::string label = {};       // if there is one, it stands for the number
    bool beside = false;          // drawn as a point, beside the curve
};

// What something carries at most, or the like: a line across the drawing.
struct Level {
    std::string name;
    std::string unit;
    double value = 0;
    int colour = 0;
};

// What came over one link while all of them were busy, at its receiver.
struct LinkRate {
    int receiver = 0;
    int sender = 0;
    std::string direction;  // of the receiver: "0+"
    double rate = 0;        // MB/s
};

struct Table {
    // What the rows' numbers or labels are: "bytes", printed as a size, or "hops", "torus" ...
    std::string key = "bytes";
    std::string title;
    std::string y_label;  // of the drawing
    std::vector<Column> columns;
    std::vector<Row> rows;
    std::vector<std::string> notes;  // what the columns mean, printed below
    // What the numbers of the rows are in the drawing; empty: the key.
    std::string x_label = {};
    bool linear = false;  // both axes of the drawing; else logarithmic
    std::vector<Level> levels = {};
    std::vector<LinkRate> link_rates = {};
};

// What every ratio means.
inline constexpr std::string_view ratio_note =
    "Ratio: of the times, torusmp's to the other's: below 1, torusmp is ahead.";

// What it ran on, in the order of printing: {"cpu", "..."}, {"cores", "2"}.
struct Fact {
    std::string name;
    std::string text;
    bool number = false;  // `text` is a number (or true, false) in JSON too
};

// What crossed one end of a link, both ways: bytes of packets and remote writes, without the
// headers of packets and of whatever carries them.
struct LinkTraffic {
    int rank = 0;
    std::string direction;  // "0+"
    std::string device;     // empty: none is known
    int peer = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t packets_sent = 0;
};

// Aligned columns, a heading with units.
std::string as_text(const Table& table);
// A line for each end, or where there are too many to read, one for each direction. Nothing
// without links.
std::string as_text(const std::vector<LinkTraffic>& links);

std::string as_json(std::string_view command, const std::vector<Fact>& facts, const Table& table,
                    const std::vector<LinkTraffic>& links = {});

// As a text of JSON.
std::string json_quoted(std::string_view text);

// A line a row: what the rows are, then of each column its median, least and greatest sample.
std::string as_csv(const Table& table);

std::string_view name_of(Column::Draw draw);

// "16 KiB", "3", "broadcast": what stands before a row of the printed table, and in it.
std::string row_name(const Table& table, const Row& row);
std::string cell_text(const Column& column, double value);

// Three significant digits, never an exponent.
std::string shorten(double value);

}  // namespace torusmp::bench
