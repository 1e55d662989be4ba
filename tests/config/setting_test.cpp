// SPDX-License-Identifier: BSD-3-Clause
// A setting is declared once, in a row from which its parser, its output and its description
// follow.
#include <catch2/catch.hpp>
#include <chrono>

#include "config/geometry.h"
#include "config/load.h"
#include "config/types.h"
#include "job/settings.h"
#include "programs/torus_info/explain.h"
#include "tests/config/temporary.h"

namespace setting_test {

using namespace torusmp::config;
using namespace torusmp::torus_info;
using namespace torusmp::config::literals;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using torusmp::test::TemporaryFolder;

// One more owner, with settings of its own.
const Setting<int> sails{"ship.sails", integer_between(1, {9, "a clipper"}), 3,
                         "How many sails are set."};
const Setting<Duration> watch{"ship.watch", time_between({0s, "none"}, 12h), 4h,
                              "How long a watch of the crew lasts."};
const Schema& ship() {
    static const Schema schema({torusmp::config::setting::table, Table{&sails, &watch}});
    return schema;
}

TEST_CASE("A setting that is added reaches file, environment, flags, ranks and descriptions") {
    const TemporaryFolder folder;
    const std::string path = folder.write("g.toml", "[ship]\nsails = 5\n");
    const Settings initial = load(ship(), {}, {});
    CHECK(initial[sails] == 3);
    CHECK(initial[watch] == 4h);
    CHECK(initial.origin(sails).kind == Origin::Kind::default_value);

    const Settings by_file = load(ship(), {{}, path}, {});
    CHECK(by_file[sails] == 5);
    CHECK_THAT(by_file.origin(sails).where, EndsWith("g.toml:2"));
    const std::vector<std::string> environment{"TORUSMP_SHIP_SAILS=6"};
    CHECK(load(ship(), {{}, path}, environment)[sails] == 6);
    const Settings by_flag = load(ship(), {{parse_set_flag("ship.sails=7")}, path}, environment);
    CHECK(by_flag[sails] == 7);
    CHECK(load_for_rank(ship(), {}, export_environment(by_flag)) == by_flag);

    const auto flag = [](const char* text) { load(ship(), {{parse_set_flag(text)}, {}}, {}); };
    CHECK_THROWS_WITH(flag("ship.sails=10"),
                      "--set ship.sails: ship.sails is \"10\": expected a whole number from 1 to 9 "
                      "(a clipper)");
    CHECK_THROWS_WITH(flag("ship.watch=13h"),
                      EndsWith("expected a time from 0 (none) to 12h, like 14400s"));
    CHECK_THROWS_WITH(flag("ship.sail=1"), Contains("did you mean 'ship.sails'?"));
    CHECK_THROWS_WITH(load(ship(), {}, std::vector<std::string>{"TORUSMP_SHIP_SAIL=1"}),
                      Contains("did you mean TORUSMP_SHIP_SAILS?"));

    CHECK_THAT(explain_setting(sails, by_flag),
               Contains("ship.sails (integer)") && Contains("How many sails are set.") &&
                   Contains("from 1 to 9 (a clipper)") && Contains("sails in the table [ship]") &&
                   Contains("TORUSMP_SHIP_SAILS=3") && Contains("7, from --set ship.sails"));
    CHECK_THAT(reference_page(ship()),
               Contains("\n## ship\n\n### ship.sails\nHow many sails are set.\n") &&
                   Contains("- default: `3`\n") && Contains("### ship.watch\n"));
}

TEST_CASE("The default of every setting is a value that the setting accepts") {
    for (const AnySetting* setting : torusmp::job::schema().settings()) {
        CAPTURE(setting->key());
        const std::string text = setting->format(setting->initial_value());
        if (!text.empty())
            CHECK(setting->equal(setting->read(Raw::words(text)), setting->initial_value()));
        CHECK(setting->expected().find("  ") == std::string::npos);
    }
}

TEST_CASE("Two settings with one key, or with one variable, are refused") {
    const Setting<int> again{"ship.sails", integer_between(0, 1), 0, "Another."};
    CHECK_THROWS_WITH(Schema({Table{&sails}, Table{&again}}), Contains("'ship.sails'"));
    const Setting<int> dotted{"ship.of.sails", integer_between(0, 1), 0, "One."};
    const Setting<int> joined{"ship.of_sails", integer_between(0, 1), 0, "Another."};
    CHECK_THROWS_WITH(Schema({Table{&dotted, &joined}}), Contains("TORUSMP_SHIP_OF_SAILS"));
    CHECK_NOTHROW(Schema({Table{&sails}, Table{&dotted}}));
}

TEST_CASE("A setting that is in no table is reported by name when it is read") {
    const Settings settings(torusmp::job::schema());
    CHECK_THROWS_WITH(settings[sails], Contains("ship.sails") && Contains("job/settings.cpp"));
}

TEST_CASE("Settings of one section stand together, whoever owns them") {
    const Setting<bool> anchor{"ship.anchor", boolean(), true, "Whether the anchor is down."};
    const Setting<bool> light{"harbour.light", boolean(), true, "Whether the light is on."};
    const Schema schema({Table{&sails}, Table{&light}, Table{&anchor}});
    CHECK(schema.settings() == std::vector<const AnySetting*>{&sails, &anchor, &light});
    CHECK(schema.sections() == std::vector<std::string_view>{"ship", "harbour"});
}

TEST_CASE("The reference includes the settings that a build omits, in the order of keys") {
    static const Table left_out{&watch};
    const Schema without({Table{&sails}}, {{left_out, "build it with sailors"}});
    CHECK(reference_page(without) == reference_page(Schema({Table{&watch, &sails}})));
}

TEST_CASE("The accepted values of a type are described, with its limits and an example") {
    enum class Wind { calm, storm };
    const Setting<Wind> wind{"ship.wind",
                             choice<Wind>({{"calm", Wind::calm}, {"storm", Wind::storm}}),
                             Wind::calm, "The weather."};
    CHECK(wind.expected() == "calm or storm");
    CHECK(wind.example() == "storm");  // an example that changes nothing shows nothing
    const Setting<std::size_t> hold{"ship.hold", size_between({0, "none"}, 1_TiB), 64_KiB,
                                    "The room for cargo."};
    CHECK(hold.expected() == "a size from 0 (none) to 1TiB, like 64KiB");
    const Setting<int> course{
        "ship.course", integer_or_auto(0, 359), auto_number, "Degrees.", {.example = "90"}};
    CHECK(course.expected() == "auto, or a whole number from 0 to 359");
    CHECK(course.example() == "90");
    CHECK(course.format(course.initial_value()) == "auto");
}

TEST_CASE("Names that become known late are requested when they are needed") {
    std::vector<std::string> ports{"auto", "hull"};
    const Setting<std::string> port{"ship.port", one_of([&] { return ports; }), "auto",
                                    "Where it goes."};
    CHECK(port.expected() == "auto or hull");
    CHECK_THROWS_AS(port.read(Raw::words("cork")), Mismatch);
    ports.push_back("cork");
    CHECK(port.expected() == "auto, hull or cork");
    CHECK(port.in(port.read(Raw::words("cork"))) == "cork");
    CHECK(port.example() == "hull");
}

TEST_CASE("A setting that the build omits is an error with the build option that adds it") {
    const Setting<int> oars{"galley.oars", integer_between(1, 170), 170, "How many oars it has."};
    const Table galley{&oars};
    const Schema schema(
        {torusmp::config::setting::table, Table{&sails}},
        {{galley, "this build has no galley: expected one with TORUSMP_GALLEY=ON"}});
    const auto why = EndsWith("this build has no galley: expected one with TORUSMP_GALLEY=ON");
    const TemporaryFolder folder;
    const auto file = [&](const char* text) {
        load(schema, {{}, folder.write("g.toml", text)}, std::vector<std::string>{});
    };
    CHECK_THROWS_WITH(file("[galley]\noars = 20\n"),
                      Contains("g.toml:1: unknown table [galley]") && why);
    CHECK_THROWS_WITH(load(schema, {{parse_set_flag("galley.oars=20")}, {}}, {}),
                      Contains("galley.oars") && why);
    CHECK_THROWS_WITH(load(schema, {}, std::vector<std::string>{"TORUSMP_GALLEY_OARS=20"}),
                      Contains("TORUSMP_GALLEY_OARS") && why);
    CHECK_THROWS_WITH(load(schema, {{parse_set_flag("ship.oars=20")}, {}}, {}),
                      !Contains("TORUSMP_GALLEY"));
}

}  // namespace setting_test
