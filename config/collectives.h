// Which form of a collective is taken, by where its ranks are and by size: a small table of the
// settings, with defaults that were measured.
//
// A table stands in one line: "host: lines<128KiB scatter; crowded: lines; links: tree<32KiB
// disjoint". Without a situation in front, forms hold for all; what is not named keeps its default.
// Plain values; any thread may read them.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/type.h"

namespace torusmp::config {

enum class Collective {
    broadcast,
    reduce,
    allreduce,
    scatter,
    gather,
    allgather,
    reduce_scatter,
    alltoall,
    scan
};

// Where the ranks of a group are.
enum class Situation {
    host,     // all on one host, a core for each
    crowded,  // all on one host, more ranks than cores
    links     // they talk over links
};
inline constexpr int situations = 3;

// A form of a collective, from 1 in the order of form_names(); 0 stands for none.
using FormNumber = int;

struct FormTable {
    struct Entry {
        FormNumber form = 0;
        std::size_t below = 0;  // bytes; the last entry has no limit
        friend bool operator==(const Entry&, const Entry&) = default;
    };
    std::array<std::vector<Entry>, situations> entries;

    FormNumber pick(Situation situation, std::size_t bytes) const {
        const std::vector<Entry>& choices = entries[std::size_t(situation)];
        std::size_t i = 0;
        while (i + 1 < choices.size() && bytes >= choices[i].below) ++i;
        return choices[i].form;
    }
    friend bool operator==(const FormTable&, const FormTable&) = default;
};

using FormTables = std::array<FormTable, 9>;  // by Collective

// How the collectives of a job go.
struct CollectivePolicy {
    FormTables forms;
    bool check = false;  // members compare what they call, before each collective
};
// What holds where the settings say nothing.
const CollectivePolicy& default_policy();

// The forms that a collective has, as the table names them.
std::span<const std::string_view> form_names(Collective collective);
const FormTable& default_forms(Collective collective);
// Throws std::invalid_argument that says what was found and what was expected.
FormTable parse_forms(Collective collective, std::string_view text);
std::string format_forms(Collective collective, const FormTable& table);
// The forms of one collective as the value of a setting.
Type<FormTable> forms_type(Collective collective);

}  // namespace torusmp::config
