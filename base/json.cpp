// SPDX-License-Identifier: BSD-3-Clause
#include "base/json.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace torusmp::base {

namespace {

constexpr int deepest = 64;

class Reader {
  public:
    explicit Reader(std::string_view text) : text_(text) {}

    Json whole() {
        Json value = read(0);
        skip_blanks();
        if (at_ != text_.size()) fail("the end");
        return value;
    }

  private:
    [[noreturn]] void fail(std::string_view expected) const {
        const auto line = 1 + std::count(text_.begin(), text_.begin() + std::ptrdiff_t(at_), '\n');
        const std::string found = at_ < text_.size() ? "'" + std::string(text_.substr(at_, 1)) + "'"
                                                     : std::string("the end");
        throw std::runtime_error("line " + std::to_string(line) + ": found " + found +
                                 ", expected " + std::string(expected));
    }

    void skip_blanks() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' ||
                                      text_[at_] == '\t' || text_[at_] == '\r'))
            ++at_;
    }

    bool take(char c) {
        skip_blanks();
        if (at_ == text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }

    bool take_word(std::string_view word) {
        if (text_.substr(at_, word.size()) != word) return false;
        at_ += word.size();
        return true;
    }

    Json read(int depth) {
        if (depth > deepest) fail("fewer brackets within each other");
        Json value;
        if (take('{')) {
            value.kind = Json::Kind::object;
            if (take('}')) return value;
            do {
                skip_blanks();
                if (at_ == text_.size() || text_[at_] != '"') fail("a name in quotes");
                std::string name = read_text();
                if (!take(':')) fail("':'");
                value.members.push_back({std::move(name), read(depth + 1)});
            } while (take(','));
            if (!take('}')) fail("',' or '}'");
        } else if (take('[')) {
            value.kind = Json::Kind::list;
            if (take(']')) return value;
            do value.items.push_back(read(depth + 1));
            while (take(','));
            if (!take(']')) fail("',' or ']'");
        } else if (at_ < text_.size() && text_[at_] == '"') {
            value.kind = Json::Kind::text;
            value.text = read_text();
        } else if (take_word("true")) {
            value.kind = Json::Kind::boolean;
            value.boolean = true;
        } else if (take_word("false")) {
            value.kind = Json::Kind::boolean;
        } else if (!take_word("null")) {
            value.kind = Json::Kind::number;
            value.number = read_number();
        }
        return value;
    }

    double read_number() {
        const std::string digits(
            text_.substr(at_, text_.find_first_not_of("+-.0123456789eE", at_) - at_));
        char* end = nullptr;
        const double number = std::strtod(digits.c_str(), &end);
        if (digits.empty() || *end != '\0' || !std::isfinite(number)) fail("a value");
        at_ += digits.size();
        return number;
    }

    std::string read_text() {
        std::string out;
        for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
            if (text_[at_] != '\\') {
                out += text_[at_];
                continue;
            }
            if (++at_ == text_.size()) break;
            switch (text_[at_]) {
                case 'n':
                    out += '\n';
                    break;
                case 't':
                    out += '\t';
                    break;
                case 'u':
                    read_code_point(out);
                    break;
                case '"':
                case '\\':
                case '/':
                    out += text_[at_];
                    break;
                default:
                    fail("an escape that JSON knows");
            }
        }
        if (at_ == text_.size()) fail("'\"'");
        ++at_;
        return out;
    }

    // Leaves the position at the last digit. Surrogate pairs are not combined: torusmp does not
    // write them.
    void read_code_point(std::string& out) {
        const std::string digits(text_.substr(at_ + 1, 4));
        char* end = nullptr;
        const unsigned long code = std::strtoul(digits.c_str(), &end, 16);
        if (digits.size() != 4 || *end != '\0') fail("four hexadecimal digits behind \\u");
        at_ += 4;
        if (code < 0x80) {
            out += char(code);
        } else if (code < 0x800) {
            out += char(0xc0 | code >> 6);
            out += char(0x80 | (code & 0x3f));
        } else {
            out += char(0xe0 | code >> 12);
            out += char(0x80 | (code >> 6 & 0x3f));
            out += char(0x80 | (code & 0x3f));
        }
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace

const Json* Json::find(std::string_view name) const {
    const auto found = std::find_if(members.begin(), members.end(),
                                    [&](const auto& member) { return member.name == name; });
    return found == members.end() ? nullptr : &found->value;
}

Json parse_json(std::string_view text) {
    return Reader(text).whole();
}

}  // namespace torusmp::base
