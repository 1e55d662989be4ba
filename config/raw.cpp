#include "config/raw.h"

#include <fmt/format.h>

#include <algorithm>

namespace torusmp::config {

namespace {

// Length of the well-formed UTF-8 sequence at the front of `text`; 0: there is none.
std::size_t utf8_sequence(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text[0]);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xc2 ? 0
                               : lead < 0xe0 ? 2
                               : lead < 0xf0 ? 3
                               : lead < 0xf5 ? 4
                                             : 0;
    if (length == 0 || length > text.size()) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
    // U+0080 to U+009f steer some terminals, like the ASCII control characters.
    if (length == 2 && lead == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0) return 0;
    return length;
}

std::string quoted_list(const std::vector<Raw>& items) {
    std::string out = "[";
    for (const Raw& item : items) {
        if (out.size() > 1) out += ", ";
        if (out.size() > 60) return out + "...]";
        out += item.quoted();
    }
    return out + "]";
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
    std::string out;
    while (!text.empty()) {
        if (out.size() >= limit) return out + "...";
        const std::size_t length = utf8_sequence(text);
        const auto first = static_cast<unsigned char>(text[0]);
        if (length == 0 || first < 0x20 || first == 0x7f) {
            out += fmt::format("\\x{:02x}", first);
            text.remove_prefix(1);
        } else {
            out += text.substr(0, length);
            text.remove_prefix(length);
        }
    }
    return out;
}

std::string Raw::quoted() const {
    switch (form) {
        case Form::text:
        case Form::string:
            return '"' + printable(text) + '"';
        case Form::integer:
            return std::to_string(integer);
        case Form::real:
            return printable(text);
        case Form::boolean:
            return boolean ? "true" : "false";
        case Form::list:
            return quoted_list(items);
        case Form::table:
            return "a table";
        case Form::moment:
            return "a date or time";
    }
    return {};
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
    // Three rows of the usual table are enough; the third is for swaps.
    std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before.swap(last);
        last.swap(row);
    }
    return last[b.size()];
}

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates) {
    constexpr std::size_t longest = 128;  // longer is noise, not a typing error
    if (word.empty() || word.size() > longest) return {};
    std::string_view best;
    std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
    for (std::string_view candidate : candidates) {
        const std::size_t distance = edit_distance(word, candidate);
        // A word of which nothing is left was not mistyped, it was another word.
        if (distance < best_distance && distance < std::min(word.size(), candidate.size())) {
            best = candidate;
            best_distance = distance;
        }
    }
    return best;
}

}  // namespace torusmp::config
