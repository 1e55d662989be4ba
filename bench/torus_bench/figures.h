// What a benchmark finds: tables of figures that are printed, written as JSON and drawn.
//
// Plain values; made on rank 0 and passed on. No message passing in here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace torusmp::bench {

struct Figure {
    double value = 0;             // what the table shows: the median
    double best = 0;              // of the fastest repetition
    std::vector<double> samples;  // one a repetition, in the column's unit
};

struct Column {
    enum class Draw { no, line, dashes };

    std::string group;  // columns of one group stand under one heading; may be empty
    std::string name;
    std::string unit;
    Draw draw = Draw::no;
    int colour = 0;  // curves that belong together share one
};

struct Row {
    std::size_t bytes = 0;
    std::vector<Figure> figures;  // one a column
};

struct Table {
    std::string title;
    std::string y_label;  // of the drawing
    std::vector<Column> columns;
    std::vector<Row> rows;
    std::vector<std::string> notes;  // what the columns mean, printed below
};

// What it ran on, in the order of printing: {"cpu", "..."}, {"cores", "2"}.
struct Fact {
    std::string name;
    std::string text;
    bool number = false;  // `text` is a number (or true, false) in JSON too
};

// Aligned columns, a heading with units.
std::string as_text(const Table& table);

std::string as_json(std::string_view command, const std::vector<Fact>& facts, const Table& table);

// Three significant digits, never an exponent.
std::string shorten(double value);

}  // namespace torusmp::bench
