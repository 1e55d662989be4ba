#include <catch2/catch.hpp>
#include <set>

#include "base/text.h"
#include "config/keys.h"
#include "config/raw.h"

using namespace torusmp::config;

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

TEST_CASE("The base::nearest word is found, and none where nothing is near") {
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
    for (const Key& key : keys()) {
        CAPTURE(key.name);
        CHECK(names.insert(key.name).second);
        CHECK(variables.insert(key.variable()).second);
        CHECK(key.help.size() > 20);
        CHECK(key.help.back() == '.');
        Settings settings;
        const bool empty_at_start = key.format(settings).empty();
        CHECK(empty_at_start == !key.unset.empty());
        const Origin origin{Origin::Kind::flag, "--set"};
        REQUIRE_NOTHROW(assign(key, Raw::words(key.example), origin, settings));
        CHECK(key.origin_in(settings) == origin);
        // What it prints it reads, to the same value.
        Settings again;
        REQUIRE_NOTHROW(assign(key, Raw::words(key.format(settings)), origin, again));
        CHECK(again == settings);
    }
    CHECK(find_key("transport.tokens")->variable() == "TORUSMP_TRANSPORT_TOKENS");
    CHECK(find_key("links.hosts")->variable() == "TORUSMP_LINKS_HOSTS");
    CHECK_FALSE(find_key("transport.token"));
}
