// SPDX-License-Identifier: BSD-3-Clause
#include "io/hints.h"

#include <charconv>
#include <limits>

namespace torusmp::io {
namespace {

template <class Number>
bool take_number(std::string_view value, Number least, Number most, Number& to) {
    Number number{};
    const char* const end = value.data() + value.size();
    const auto [rest, error] = std::from_chars(value.data(), end, number);
    if (error != std::errc() || rest != end || number < least || number > most) return false;
    to = number;
    return true;
}

bool take_choice(std::string_view value, Choice& to) {
    if (value == "enable" || value == "true")
        to = Choice::yes;
    else if (value == "disable" || value == "false")
        to = Choice::no;
    else if (value == "automatic")
        to = Choice::automatic;
    else
        return false;
    return true;
}

const char* name_of(Choice choice) {
    return choice == Choice::yes ? "enable" : choice == Choice::no ? "disable" : "automatic";
}

constexpr std::size_t largest = std::size_t(1) << 30;

}  // namespace

bool Hints::take(std::string_view key, std::string_view value) {
    if (key == "cb_nodes")
        return take_number(value, 1, std::numeric_limits<int>::max(), aggregators);
    if (key == "cb_buffer_size")
        return take_number(value, std::size_t(4096), largest, collective_buffer);
    if (key == "ind_rd_buffer_size")
        return take_number(value, std::size_t(4096), largest, sieve_buffer);
    if (key == "striping_unit") return take_number(value, std::size_t(1), largest, striping_unit);
    if (key == "romio_cb_read") return take_choice(value, collective_read);
    if (key == "romio_cb_write") return take_choice(value, collective_write);
    if (key == "romio_ds_read") return take_choice(value, sieve_read);
    if (key == "collective_buffering") {
        Choice both = Choice::automatic;
        if (!take_choice(value, both)) return false;
        collective_read = collective_write = both;
        return true;
    }
    return false;
}

std::vector<std::pair<std::string, std::string>> Hints::entries() const {
    return {{"cb_nodes", std::to_string(aggregators)},
            {"cb_buffer_size", std::to_string(collective_buffer)},
            {"romio_cb_read", name_of(collective_read)},
            {"romio_cb_write", name_of(collective_write)},
            {"romio_ds_read", name_of(sieve_read)},
            // Gaps between what is written are never written: others may write there.
            {"romio_ds_write", "disable"},
            {"ind_rd_buffer_size", std::to_string(sieve_buffer)},
            {"striping_unit", std::to_string(striping_unit)}};
}

}  // namespace torusmp::io
