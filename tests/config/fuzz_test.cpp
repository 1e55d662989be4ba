// SPDX-License-Identifier: BSD-3-Clause
// The fuzz trial without libFuzzer: seeded mutations of the corpus, the same on every run.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "tests/config/fuzz_geometry.h"

namespace {

std::vector<std::string> read_corpus() {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(CORPUS_PATH))
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());  // the order of a folder differs between machines
    std::vector<std::string> texts;
    for (const auto& file : files) {
        std::ifstream in(file, std::ios::binary);
        texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
    return texts;
}

class Mutator {
  public:
    explicit Mutator(std::vector<std::string> corpus) : corpus_(std::move(corpus)) {}

    std::string next() {
        std::string text = corpus_[below(corpus_.size())];
        for (std::size_t edits = 1 + below(4); edits > 0; --edits) edit(text);
        return text;
    }

  private:
    std::size_t below(std::size_t limit) { return random_() % std::max<std::size_t>(limit, 1); }

    void edit(std::string& text) {
        static const std::vector<std::string> pieces{"[",
                                                     "]",
                                                     "{",
                                                     "}",
                                                     "\"",
                                                     "'",
                                                     "\"\"\"",
                                                     "=",
                                                     ",",
                                                     ".",
                                                     "\n",
                                                     "#",
                                                     "0",
                                                     "-1",
                                                     "inf",
                                                     "nan",
                                                     "1e400",
                                                     "{0}",
                                                     "{5:09}",
                                                     "9223372036854775807",
                                                     "99999999999",
                                                     "TiB",
                                                     "true",
                                                     "[links.x]\n",
                                                     "\"0+\" = ",
                                                     "1979-05-27T07:32:00Z",
                                                     "\\u0000",
                                                     "\\U0010ffff",
                                                     std::string("\0", 1),
                                                     "\xff",
                                                     "\xc3",
                                                     "\xef\xbb\xbf",
                                                     std::string(300, '['),
                                                     std::string(300, 'a') + ".",
                                                     "dims = [1048576]\n",
                                                     "hosts = \"{0}\"\n"};
        const std::size_t at = below(text.size() + 1);
        switch (below(6)) {
            case 0:
                text.insert(at, pieces[below(pieces.size())]);
                break;
            case 1:
                text.erase(at, 1 + below(8));
                break;
            case 2:
                text.resize(at);
                break;
            case 3:
                if (at < text.size()) text[at] = char(random_());
                break;
            case 4:
                text.insert(at, text.substr(below(text.size()), below(40)));
                break;
            case 5:
                text.replace(at, 1 + below(3), pieces[below(pieces.size())]);
                break;
        }
    }

    std::vector<std::string> corpus_;
    std::mt19937 random_{4 * 8 * 8};
};

std::string trial(const std::string& text) {
    return torusmp::test::try_geometry(reinterpret_cast<const std::uint8_t*>(text.data()),
                                       text.size());
}

}  // namespace

TEST_CASE("The corpus of the geometry reader passes unchanged") {
    const std::vector<std::string> corpus = read_corpus();
    REQUIRE(corpus.size() >= 3);
    for (const std::string& text : corpus) CHECK(trial(text).empty());
}

TEST_CASE("Mutations of geometry files are refused in one line, or reach a rank unchanged") {
    Mutator mutator(read_corpus());
    for (int i = 0; i < 3000; ++i) {
        const std::string text = mutator.next();
        const std::string wrong = trial(text);
        if (!wrong.empty()) {
            CAPTURE(i, text, wrong);
            FAIL_CHECK("the answer " + wrong);
        }
    }
}
