// SPDX-License-Identifier: BSD-3-Clause
#include "nersc.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <span>
#include <system_error>
#include <type_traits>

namespace wilson {

namespace {

// Real headers have about 25 lines. A file without END_HEADER in this much text is not a NERSC
// file.
constexpr std::size_t longest_header = 64 * 1024;

[[noreturn]] void refuse(const std::string& path, int line, const std::string& what) {
    throw InputError(fmt::format("{}:{}: {}", path, line, what));
}

std::string_view trimmed(std::string_view s) {
    const auto first = s.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return {};
    return s.substr(first, s.find_last_not_of(" \t\r") - first + 1);
}

struct Entry {
    std::string value;
    int line;
};

// The keys of a header with their lines, and its end.
struct Keys {
    std::string path;
    std::map<std::string, Entry, std::less<>> entries;
    std::uint64_t bytes = 0;
    int last_line = 0;

    const Entry& get(std::string_view key) const {
        const auto found = entries.find(key);
        if (found == entries.end())
            refuse(path, last_line, fmt::format("the header ends without {}", key));
        return found->second;
    }

    // Base 16 for the checksum.
    template <class Number>
    Number number(std::string_view key, const char* expected, int base = 10) const {
        const auto& [text, line] = get(key);
        Number value{};
        std::from_chars_result result{};
        const char* const end = text.data() + text.size();
        if constexpr (std::is_floating_point_v<Number>)
            result = std::from_chars(text.data(), end, value);
        else
            result = std::from_chars(text.data(), end, value, base);
        bool good = result.ec == std::errc{} && result.ptr == end;
        if constexpr (std::is_floating_point_v<Number>) good = good && std::isfinite(value);
        if (!good)
            refuse(path, line,
                   fmt::format("{} is {}, expected {}", key, in_quotes(text), expected));
        return value;
    }
};

Keys split_header(std::string_view text, const std::string& path) {
    Keys keys;
    keys.path = path;
    std::size_t at = 0;
    for (int line = 1;; ++line) {
        const std::size_t newline = text.substr(0, longest_header).find('\n', at);
        if (line == 1 &&
            trimmed(text.substr(0, std::min(newline, std::size_t{80}))) != "BEGIN_HEADER")
            refuse(path, 1,
                   fmt::format("found {}, expected BEGIN_HEADER: this is not a NERSC configuration",
                               in_quotes(text.substr(0, std::min(newline, std::size_t{80})))));
        if (newline == std::string_view::npos)
            refuse(path, line,
                   fmt::format("the header has no END_HEADER in its first {} bytes",
                               std::min(text.size(), longest_header)));
        const std::string_view words = trimmed(text.substr(at, newline - at));
        at = newline + 1;
        if (line == 1) continue;
        keys.last_line = line;
        keys.bytes = at;
        if (words == "END_HEADER") return keys;
        const auto equals = words.find('=');
        const std::string_view key = trimmed(words.substr(0, equals));
        if (equals == std::string_view::npos || key.empty())
            refuse(path, line, fmt::format("found {}, expected KEY = VALUE", in_quotes(words)));
        const Entry entry{std::string(trimmed(words.substr(equals + 1))), line};
        const auto [existing, is_new] = keys.entries.emplace(key, entry);
        if (!is_new)
            refuse(path, line,
                   fmt::format("{} again; line {} has it already", in_quotes(key),
                               existing->second.line));
    }
}

void parse_datatype(const Keys& keys, NerscHeader& header) {
    const auto& [value, line] = keys.get("DATATYPE");
    if (value == "4D_SU3_GAUGE")
        header.rows = 2;
    else if (value == "4D_SU3_GAUGE_3x3" || value == "4D_SU3_GAUGE_3X3")
        header.rows = 3;
    else
        refuse(keys.path, line,
               fmt::format("DATATYPE is {}, expected 4D_SU3_GAUGE or 4D_SU3_GAUGE_3x3",
                           in_quotes(value)));
}

void parse_floating_point(const Keys& keys, NerscHeader& header) {
    const auto& [value, line] = keys.get("FLOATING_POINT");
    header.line.floating_point = line;
    for (const int bytes : {4, 8})
        for (const bool big : {true, false})
            if (value == fmt::format("IEEE{}{}", 8 * bytes, big ? "BIG" : "LITTLE")) {
                header.word_bytes = bytes;
                header.big_endian = big;
                return;
            }
    refuse(keys.path, line,
           fmt::format("FLOATING_POINT is {}, expected IEEE32BIG, IEEE32LITTLE, IEEE64BIG or "
                       "IEEE64LITTLE",
                       in_quotes(value)));
}

void parse_dimensions(const Keys& keys, NerscHeader& header) {
    for (int mu = 0; mu < 4; ++mu) {
        const auto key = fmt::format("DIMENSION_{}", mu + 1);
        header.extent[mu] = keys.number<int>(key, "a number of sites");
        const int line = keys.get(key).line;
        if (mu == 0) header.line.extent = line;
        // The limit keeps the volume far from overflow, and is larger than any lattice that fits in
        // a file.
        if (header.extent[mu] < 1 || header.extent[mu] > 8192)
            refuse(keys.path, line,
                   fmt::format("{} is {}, expected 1 to 8192", key, header.extent[mu]));
        const auto boundary = keys.entries.find(fmt::format("BOUNDARY_{}", mu + 1));
        if (boundary != keys.entries.end() && boundary->second.value != "PERIODIC")
            refuse(keys.path, boundary->second.line,
                   fmt::format("{} is {}, expected PERIODIC: other boundaries are not supported",
                               boundary->first, in_quotes(boundary->second.value)));
    }
}

// Rank 0: the first bytes of the file, and its length compared with the length that the header
// requires.
NerscHeader examine(const std::string& path) {
    auto [file, found] = open_regular(path);
    std::string text(std::min<std::uint64_t>(found, longest_header), '\0');
    if (!file.read(text.data(), static_cast<std::streamsize>(text.size())))
        throw InputError(fmt::format("{}: reading the header failed", path));
    const NerscHeader header = parse_nersc_header(text, path);
    const std::uint64_t expected = header.data_offset + header.data_bytes();
    if (found != expected)
        throw InputError(fmt::format(
            "{}: {}: the file has {} bytes, but {} were expected: {} of header and {} of links for "
            "a {} lattice with {} rows of {}-bit numbers",
            path, found < expected ? "truncated" : "too long", found, expected, header.data_offset,
            header.data_bytes(), to_string(header.extent), header.rows, 8 * header.word_bytes));
    return header;
}

// The sum of the data as 32-bit words, and the sum of the words in the other byte order: it
// distinguishes a damaged file from a wrong FLOATING_POINT.
class WordSums {
  public:
    explicit WordSums(const NerscHeader& header) : header_(header) {}

    void add(std::span<const std::byte> site) {
        sum_ += word_sum(site, header_.big_endian);
        swapped_ += word_sum(site, !header_.big_endian);
    }
    std::uint32_t sum() const { return sum_; }
    std::uint32_t swapped() const { return swapped_; }

  private:
    const NerscHeader& header_;
    std::uint32_t sum_ = 0, swapped_ = 0;
};

}  // namespace

std::uint32_t word_sum(std::span<const std::byte> site, bool big_endian) {
    std::uint32_t sum = 0;
    for (std::size_t at = 0; at < site.size(); at += sizeof sum)
        sum += word_at<std::uint32_t>(&site[at], big_endian);
    return sum;
}

std::uint32_t sum_over_ranks(std::uint32_t value) {
    std::uint64_t sum = value;
    check(QMP_sum_uint64_t(&sum), "QMP_sum_uint64_t");
    return static_cast<std::uint32_t>(sum);
}

NerscHeader parse_nersc_header(std::string_view text, const std::string& path) {
    const Keys keys = split_header(text, path);
    NerscHeader header{};
    header.data_offset = keys.bytes;
    parse_datatype(keys, header);
    parse_dimensions(keys, header);
    parse_floating_point(keys, header);
    header.checksum = keys.number<std::uint32_t>("CHECKSUM", "up to 8 hexadecimal digits", 16);
    header.link_trace = keys.number<double>("LINK_TRACE", "a number");
    header.plaquette = keys.number<double>("PLAQUETTE", "a number");
    header.line.checksum = keys.get("CHECKSUM").line;
    header.line.link_trace = keys.get("LINK_TRACE").line;
    header.line.plaquette = keys.get("PLAQUETTE").line;
    return header;
}

NerscHeader read_nersc_header(const std::string& path) {
    return on_all_ranks<NerscHeader>([&] { return examine(path); });
}

void read_nersc_links(const std::string& path, const NerscHeader& header, const Lattice& lattice,
                      GaugeField& field, const LinkReader& read) {
    WordSums sums(header);
    read(path, header, lattice, field,
         [&](std::span<const std::byte> site, std::int64_t) { sums.add(site); });

    const std::uint32_t sum = sum_over_ranks(sums.sum());
    const std::uint32_t swapped = sum_over_ranks(sums.swapped());
    if (sum == header.checksum) return;
    if (swapped == header.checksum)
        refuse(path, header.line.floating_point,
               fmt::format("FLOATING_POINT says {}-endian, but CHECKSUM {:08x} fits the links only "
                           "as {}-endian numbers",
                           header.big_endian ? "big" : "little", header.checksum,
                           header.big_endian ? "little" : "big"));
    refuse(path, header.line.checksum,
           fmt::format("CHECKSUM is {:08x}, but the links add up to {:08x}: the file is damaged",
                       header.checksum, sum));
}

void check_nersc(const std::string& path, const NerscHeader& header, double plaquette,
                 double link_trace) {
    const auto compare = [&](const char* name, int line, double said, double found) {
        // Written so that a NaN among the links is refused too.
        if (!(std::abs(said - found) <= nersc_tolerance))
            refuse(path, line,
                   fmt::format("{} is {:.10f}, but the links give {:.10f} (tolerance {:.0e})", name,
                               said, found, nersc_tolerance));
    };
    compare("PLAQUETTE", header.line.plaquette, header.plaquette, plaquette);
    compare("LINK_TRACE", header.line.link_trace, header.link_trace, link_trace);
}

}  // namespace wilson
