// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>
#include <set>

#include "base/text.h"
#include "config/raw.h"
#include "config/settings.h"
#include "job/settings.h"

using namespace torusmp::config;
namespace base = torusmp::base;
using torusmp::job::schema;

TEST_CASE("The distance of two words counts inserted, deleted, changed and swapped letters") {
    CHECK(base::edit_distance("", "") == 0);
    CHECK(base::edit_distance("tokens", "tokens") == 0);
    CHECK(base::edit_distance("token", "tokens") == 1);
    CHECK(base::edit_distance("tokens", "okens") == 1);
    CHECK(base::edit_distance("tokens", "tokans") == 1);
    CHECK(base::edit_distance("tokens", "toknes") == 1);
    CHECK(base::edit_distance("relay", "kernel") == 5);
    CHECK(base::edit_distance("abc", "") == 3);
}

TEST_CASE("The nearest word is found, and none if no word is near") {
    const std::vector<std::string_view> words{"relay", "kernel", "tokens"};
    CHECK(base::nearest("relais", words) == "relay");
    CHECK(base::nearest("kernal", words) == "kernel");
    CHECK(base::nearest("toknes", words) == "tokens");
    CHECK(base::nearest("", words).empty());
    CHECK(base::nearest("bandwidth", words).empty());
    CHECK(base::nearest("x", words).empty());
    CHECK(base::nearest(std::string(100000, 'k'), words).empty());
}

TEST_CASE("A quoted text has no control characters, no broken UTF-8 and no end of line") {
    CHECK(base::printable("caf\xc3\xa9") == "caf\xc3\xa9");
    CHECK(base::printable("a\nb\x1b[31m\x7f") == "a\\x0ab\\x1b[31m\\x7f");
    CHECK(base::printable("\xff\xc3(") == "\\xff\\xc3(");
    CHECK(base::printable("\xc2\x9b"
                          "2J") == "\\xc2\\x9b2J");  // a terminal's one-byte escape
    CHECK(base::printable(std::string(1000, 'x')).size() == 63);
    CHECK(base::printable(std::string("\0", 1)) == "\\x00");
}

TEST_CASE("Every key has a name, a help text and an example that it accepts itself") {
    std::set<std::string_view> names;
    std::set<std::string> variables;
    for (const AnySetting* setting : schema().settings()) {
        CAPTURE(setting->key());
        CHECK(names.insert(setting->key()).second);
        CHECK(variables.insert(setting->variable()).second);
        CHECK(setting->help().size() > 20);
        CHECK(setting->help().back() == '.');
        Settings settings(schema());
        const bool empty_at_start = settings.text(*setting).empty();
        CHECK(empty_at_start == !setting->unset().empty());
        const Origin origin{Origin::Kind::flag, "--set"};
        REQUIRE_NOTHROW(settings.assign(*setting, Raw::words(setting->example()), origin));
        CHECK(settings.origin(*setting) == origin);
        // The printed text is read back as the same value.
        Settings again(schema());
        REQUIRE_NOTHROW(again.assign(*setting, Raw::words(settings.text(*setting)), origin));
        CHECK(again == settings);
    }
    CHECK(schema().find("transport.tokens")->variable() == "TORUSMP_TRANSPORT_TOKENS");
    CHECK(schema().find("links.hosts")->variable() == "TORUSMP_LINKS_HOSTS");
    CHECK_FALSE(schema().find("transport.token"));
}
