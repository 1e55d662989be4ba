// SPDX-License-Identifier: BSD-3-Clause
#include "base/printing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "base/text.h"

namespace torusmp::base {

std::string format_table(const std::vector<Row>& rows) {
    std::vector<std::size_t> widths;
    for (const Row& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
    }
    std::string out;
    for (const Row& row : rows) {
        std::string text = " ";
        for (std::size_t c = 0; c < row.size(); ++c)
            text += fmt::format(" {:<{}} ", row[c], c + 1 < row.size() ? widths[c] : 0);
        text.erase(text.find_last_not_of(' ') + 1);
        out += text + "\n";
    }
    return out;
}

std::string json_quote(std::string_view text) {
    std::string out = "\"";
    for (char c : printable(text, std::string::npos)) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + "\"";
}

std::string json_enclose(const std::vector<std::string>& parts, char open, char close, int depth) {
    if (parts.empty()) return {open, close};
    const std::string indent(std::size_t(depth) * 2, ' ');
    return fmt::format("{}\n{}  {}\n{}{}", open, indent, fmt::join(parts, ",\n" + indent + "  "),
                       indent, close);
}

void write_text_file(const std::string& path, const std::string& text) {
    const auto fail = [&] {
        throw std::runtime_error(
            fmt::format("{}: cannot write: {}", printable(path, 512), std::strerror(errno)));
    };
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "we"));
    if (!file) fail();
    if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size()) fail();
    // Closed explicitly: only then is an error of writing to the disk reported.
    if (std::fclose(file.release()) != 0) fail();
}

}  // namespace torusmp::base
