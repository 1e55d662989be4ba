// SPDX-License-Identifier: BSD-3-Clause
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace torusmp::base {

namespace {

// Control characters, which terminals interpret: the ASCII ones, and U+0080 to U+009f.
bool is_control(std::string_view character) {
    const auto first = static_cast<unsigned char>(character[0]);
    if (character.size() == 1) return first < 0x20 || first == 0x7f;
    return first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(0);
    if (lead < 0x80) return 1;
    if (lead < 0xc2 || lead > 0xf4) return 0;
    const std::size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (length > text.size()) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    // Overlong, a surrogate, or beyond the last character.
    const bool wrong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) > 0x9f) ||
                       (lead == 0xf0 && byte(1) < 0x90) || (lead == 0xf4 && byte(1) > 0x8f);
    return wrong ? 0 : length;
}

std::string printable(std::string_view text, std::size_t limit) {
    std::string out;
    while (!text.empty()) {
        if (out.size() >= limit) return out + "...";
        const std::size_t length = utf8_length(text);
        if (length == 0 || is_control(text.substr(0, length))) {
            out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
            text.remove_prefix(1);
        } else {
            out += text.substr(0, length);
            text.remove_prefix(length);
        }
    }
    return out;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
    // Three rows of the usual table are enough; the third one is for swaps.
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
    constexpr std::size_t longest = 128;  // longer words are not typing errors
    if (word.empty() || word.size() > longest) return {};
    std::string_view best;
    std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
    for (std::string_view candidate : candidates) {
        const std::size_t distance = edit_distance(word, candidate);
        // If every character of the word differs, it is not a typing error but another word.
        if (distance < best_distance && distance < std::min(word.size(), candidate.size())) {
            best = candidate;
            best_distance = distance;
        }
    }
    return best;
}

std::string listed(std::vector<std::string> words, std::size_t most) {
    if (words.empty()) return {};
    if (words.size() > most) {
        const std::size_t more = words.size() - (most - 1);
        words.resize(most - 1);
        words.push_back(fmt::format("{} more", more));
    }
    const std::string last = std::move(words.back());
    words.pop_back();
    return fmt::format("{}{}{}", fmt::join(words, ", "), words.empty() ? "" : " and ", last);
}

}  // namespace torusmp::base
