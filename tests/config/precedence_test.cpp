// SPDX-License-Identifier: BSD-3-Clause
// flag > environment > file > default, with the origin of each value, in the launcher and, after
// the handover, in a rank.
#include <catch2/catch.hpp>
#include <random>

#include "config/fit.h"
#include "config/geometry.h"
#include "config/load.h"
#include "core/settings.h"
#include "job/settings.h"
#include "tests/config/temporary.h"

using namespace torusmp::config;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using torusmp::job::schema;
using torusmp::test::TemporaryFolder;
namespace core = torusmp::core;

namespace {

// A second legal value for each key, to distinguish the sources; the first is the key's example.
struct Variant {
    std::string key, file, other, third;
};

// `file` is written as TOML, the others as words.
const std::vector<Variant> variants{
    {"torus.dims", "dims = [2, 1, 1]", "1x2x1", "1x1x2"},
    {"torus.periodic", "periodic = [true, true, false]", "true,false,true", "false,true,true"},
    {"torus.ranks_per_node", "ranks_per_node = [3, 1, 1]", "1x3x1", "1x1x3"},
    {"nodes.hosts", "hosts = [\"a\", \"b\"]", "c{0}{1}{2}", "d,e"},
    {"launch.cpus_per_rank", "cpus_per_rank = 2", "3", "4"},
    {"transport.use", "use = \"shm\"", "tcp", "verbs"},
    {"transport.local", "local = \"links\"", "direct", "links"},
    {"transport.copy", "copy = \"cma\"", "pipeline", "auto"},
    {"transport.eager_limit", "eager_limit = \"1KiB\"", "2KiB", "3000"},
    {"transport.tokens", "tokens = 3", "4", "5"},
    {"transport.relay_tokens", "relay_tokens = 3", "4", "5"},
    {"transport.socket_buffer", "socket_buffer = \"8KiB\"", "16KiB", "5000B"},
    {"transport.timeout", "timeout = \"1s\"", "2s", "300ms"},
    {"transport.checksum", "checksum = true", "false", "true"},
    {"verbs.gid_index", "gid_index = 0", "auto", "3"},
    {"verbs.cache", "cache = \"4KiB\"", "0", "1TiB"},
    {"routing.forward", "forward = \"kernel\"", "relay", "auto"},
    {"routing.detour", "detour = false", "true", "false"},
    {"routing.shortcuts", "shortcuts = 3", "4", "5"},
    {"progress.mode", "mode = \"thread\"", "polling", "thread"},
    {"progress.spin", "spin = \"1us\"", "2us", "0"},
    {"collectives.broadcast", "broadcast = \"lines\"", "links: tree", "tree<1KiB disjoint"},
    {"collectives.reduce", "reduce = \"lines\"", "tree", "host: disjoint"},
    {"collectives.allreduce", "allreduce = \"star\"", "lines", "exchange<100B scatter"},
    {"collectives.scatter", "scatter = \"optimal\"", "apart", "host: optimal"},
    {"collectives.gather", "gather = \"optimal\"", "apart", "host: optimal"},
    {"collectives.allgather", "allgather = \"lines\"", "rings", "star<8B everyone"},
    {"collectives.reduce_scatter", "reduce_scatter = \"lines\"", "rings", "tree<1MiB ordered"},
    {"collectives.alltoall", "alltoall = \"lines\"", "rings", "lines<2KiB pairs"},
    {"collectives.scan", "scan = \"lines\"", "doubling", "crowded: star<9B lines<10B doubling"},
    {"collectives.check", "check = true", "false", "true"},
    {"mpi.check", "check = true", "false", "true"},
    {"log.level", "level = \"debug\"", "info,link=trace", "trace"},
    {"launch.bind", "bind = \"core\"", "numa", "none"},
    {"launch.agent", "agent = \"rsh\"", "ssh -p 22", "lxc exec"},
    {"launch.through", "through = \"torus\"", "network", "torus"},
    {"launch.output", "output = \"blocks\"", "lines", "blocks"},
    {"watchdog.after", "after = \"1s\"", "2s", "0"},
};

std::string text_of(const Settings& settings, const std::string& key) {
    return settings.text(*schema().find(key));
}

Origin origin_of(const Settings& settings, const std::string& key) {
    return settings.origin(*schema().find(key));
}

// The value as the settings print it, whatever way it was written.
std::string canonical(const std::string& key, const std::string& words) {
    Settings settings(schema());
    settings.assign(*schema().find(key), Raw::words(words), {});
    return text_of(settings, key);
}

// A file that gives one key, on line 5, and dimensions for those that need them.
std::string file_for(const Variant& variant) {
    const std::size_t dot = variant.key.find('.');
    const std::string section = variant.key.substr(0, dot);
    if (section == "torus")
        return variant.key == "torus.dims" ? "[torus]\n\n\n\n" + variant.file + "\n"
                                           : "[torus]\n\n\ndims = [2,1,1]\n" + variant.file + "\n";
    return "[torus]\ndims = [2,1,1]\n\n[" + section + "]\n" + variant.file + "\n";
}

}  // namespace

TEST_CASE(
    "The sources are ranked for every key, in every combination, and each origin is reported") {
    const TemporaryFolder folder;
    for (const Variant& variant : variants) {
        const std::string path = folder.write("g.toml", file_for(variant));
        for (int sources = 0; sources < 8; ++sources) {
            const bool by_file = sources & 1, by_environment = sources & 2, by_flag = sources & 4;
            CAPTURE(variant.key, by_file, by_environment, by_flag);
            LoadRequest request;
            std::vector<std::string> environment{"HOME=/root", "TORUSMP_RANK=3"};
            // Keys that need dimensions get them from elsewhere when the file is absent.
            if (!by_file && variant.key != "torus.dims")
                environment.push_back("TORUSMP_TORUS_DIMS=2x1x1");
            if (by_file) request.file = path;
            const std::string variable = schema().find(variant.key)->variable();
            if (by_environment) environment.push_back(variable + "=" + variant.other);
            if (by_flag) request.flags.push_back(parse_set_flag(variant.key + "=" + variant.third));
            const Settings settings = load(schema(), request, environment);
            const Origin origin = origin_of(settings, variant.key);
            if (by_flag) {
                CHECK(text_of(settings, variant.key) == canonical(variant.key, variant.third));
                CHECK(origin == Origin{Origin::Kind::flag, "--set " + variant.key});
            } else if (by_environment) {
                CHECK(text_of(settings, variant.key) == canonical(variant.key, variant.other));
                CHECK(origin == Origin{Origin::Kind::environment, variable});
            } else if (by_file) {
                CHECK(origin == Origin{Origin::Kind::file, path + ":5"});
                CHECK(text_of(settings, variant.key) != text_of(Settings(schema()), variant.key));
            } else {
                CHECK(origin == Origin{});
                CHECK(text_of(settings, variant.key) == text_of(Settings(schema()), variant.key));
            }
            // Ranks see the settings of the launcher.
            CHECK(load_for_rank(schema(), {}, export_environment(settings)) == settings);
        }
    }
}

TEST_CASE("Links from the environment and from flags replace those of the file") {
    const TemporaryFolder folder;
    const std::string path =
        folder.write("g.toml",
                     "[torus]\ndims = [4]\n[nodes]\nhosts = \"q{0}\"\n[links]\n"
                     "\"0+\" = \"a\"\n\"0-\" = \"b\"\n[links.q1]\n\"0+\" = \"c\"\n");
    const Settings by_file = load(schema(), {{}, path}, {});
    CHECK(by_file[setting::links].size() == 2);
    CHECK(load_for_rank(schema(), {}, export_environment(by_file)) == by_file);
    const std::vector<std::string> environment{"TORUSMP_LINKS=0+=x,0-=y",
                                               "TORUSMP_LINKS_HOSTS=q2/0+=z,q3/0-=w"};
    const Settings settings = load(schema(), {{}, path}, environment);
    CHECK(settings[setting::links].at("0+") == "x");
    CHECK(settings[setting::host_links].size() == 2);
    CHECK(settings[setting::host_links].at("q3").at("0-") == "w");
    CHECK(load_for_rank(schema(), {}, export_environment(settings)) == settings);
    CHECK(load(schema(), {{{"links", "0+=m"}}, path}, environment)[setting::links].size() == 1);
    for (const char* bad : {"0+", "0+=", "9+=x", "0+=x,0+=y", "", ",", "0+=x,0-=x"}) {
        CAPTURE(bad);
        CHECK_THROWS_AS(load(schema(), {{{"links", bad, {}}}, path}, {}), ConfigError);
    }
    for (const char* bad : {"0+=x", "q2/0+", "/0+=x", "q2/=x", "-q/0+=x", "nohost/0+=x"}) {
        CAPTURE(bad);
        CHECK_THROWS_AS(load(schema(), {{{"links.hosts", bad, {}}}, path}, {}), ConfigError);
    }
}

TEST_CASE(
    "The flag --config has priority over TORUSMP_CONFIG, and an empty TORUSMP_CONFIG is ignored") {
    const TemporaryFolder folder;
    const std::string one = folder.write("one.toml", "[transport]\ntokens = 11\n");
    const std::string two = folder.write("two.toml", "[transport]\ntokens = 22\n");
    const std::vector<std::string> environment{"TORUSMP_CONFIG=" + two};
    CHECK(load(schema(), {{}, one}, environment)[core::setting::tokens] == 11);
    CHECK(load(schema(), {}, environment)[core::setting::tokens] == 22);
    CHECK(load(schema(), {}, environment).file() == two);
    CHECK(load(schema(), {}, std::vector<std::string>{"TORUSMP_CONFIG="}) == Settings(schema()));
}

TEST_CASE("The last of several flags for one key wins, and --torus is named as such") {
    const LoadRequest request{{{"torus.dims", "4", {}}, {"torus.dims", "2x2x2", "--torus"}}, {}};
    const Settings settings = load(schema(), request, {});
    CHECK(settings[setting::dims] == std::vector<int>{2, 2, 2});
    CHECK(settings.origin(setting::dims) == Origin{Origin::Kind::flag, "--torus"});
}

TEST_CASE("A wrong value is reported with its variable or flag") {
    const auto flag = [](const std::string& text) {
        load(schema(), {{parse_set_flag(text)}, {}}, {});
    };
    const auto variable = [](const std::string& text) {
        load(schema(), {}, std::vector<std::string>{text});
    };
    CHECK_THROWS_WITH(variable("TORUSMP_TRANSPORT_TOKENS=many"),
                      StartsWith("TORUSMP_TRANSPORT_TOKENS: transport.tokens is \"many\": expected "
                                 "a whole number from 2 to 120"));
    CHECK_THROWS_WITH(variable("TORUSMP_TRANSPORT_TOKENS="), Contains("is \"\": expected"));
    CHECK_THROWS_WITH(variable("TORUSMP_TORUS_DIMS=2x0"), Contains("dimension 1 is \"0\""));
    CHECK_THROWS_WITH(variable("TORUSMP_TORUS_DIMS=2x"), Contains("dimension 1 is \"\""));
    CHECK_THROWS_WITH(variable("TORUSMP_TORUS_DIMS=2y2"), StartsWith("TORUSMP_TORUS_DIMS: "));
    CHECK_THROWS_WITH(flag("transport.tokens=8.5"), StartsWith("--set transport.tokens: "));
    CHECK_THROWS_WITH(flag("transport.token=8"), Contains("did you mean 'transport.tokens'?"));
    CHECK_THROWS_WITH(flag("tokens=8"), Contains("did you mean 'transport.tokens'?"));
    CHECK_THROWS_WITH(flag("transport.tokens"), Contains("expected a key and a value"));
    CHECK_THROWS_WITH(flag("=8"), Contains("expected a key and a value"));
    CHECK_THROWS_WITH(flag(""), Contains("expected a key and a value"));
}

TEST_CASE("A misspelled variable is refused, a variable of another program is ignored") {
    const auto variable = [](const std::string& text) {
        load(schema(), {}, std::vector<std::string>{text});
    };
    CHECK_THROWS_WITH(variable("TORUSMP_TRANSPORT_TOKEN=8"),
                      Contains("did you mean TORUSMP_TRANSPORT_TOKENS?"));
    CHECK_THROWS_WITH(variable("TORUSMP_TRANSPORT_BANDWIDTH=8"),
                      Contains("the environment may set"));
    CHECK_THROWS_WITH(variable("TORUSMP_LAUNCH_BNID=core"), Contains("TORUSMP_LAUNCH_BIND?"));
    CHECK_THROWS_WITH(variable("TORUSMP_TORUS_DIM=2"), Contains("TORUSMP_TORUS_DIMS?"));
    for (const char* name : {"TORUSMP_RANK", "TORUSMP_SIZE", "TORUSMP_LOCAL_RANK",
                             "TORUSMP_BOOTSTRAP", "TORUSMP_CONNECTED", "TORUSMP_LAUNCH_SOCKET",
                             "TORUSMP_DEBUG", "NOT_OURS_TRANSPORT_TOKENS", "TORUSMP_"}) {
        CAPTURE(name);
        CHECK_NOTHROW(variable(std::string(name) + "=1"));
    }
}

TEST_CASE("A rank gets values and origins without the file that the launcher read") {
    Settings settings(schema());
    {
        const TemporaryFolder folder;
        const std::string path = folder.write("odd name @%=:\xc3\xa9.toml",
                                              "[transport]\ntokens = 3\nrelay_tokens = 4\n");
        settings = load(schema(), {{{"transport.relay_tokens", "5", {}}}, path},
                        std::vector<std::string>{"TORUSMP_PROGRESS_SPIN=7us"});
    }
    const Settings rank = load_for_rank(schema(), {}, export_environment(settings));
    CHECK(rank == settings);
    CHECK(rank.file() == settings.file());
    CHECK_THAT(rank.origin(core::setting::tokens).where, Contains("odd name @%=:\xc3\xa9.toml:2"));
}

TEST_CASE(
    "A rank's own environment has priority over the launcher's file, but not over its flags") {
    const TemporaryFolder folder;
    const std::string path = folder.write("g.toml", "[transport]\ntokens = 3\nrelay_tokens = 4\n");
    const Settings launcher = load(schema(), {{{"transport.relay_tokens", "5", {}}}, path}, {});
    std::vector<std::string> environment = export_environment(launcher);
    environment.push_back("TORUSMP_TRANSPORT_TOKENS=6");
    environment.push_back("TORUSMP_TRANSPORT_RELAY_TOKENS=7");
    const Settings rank = load_for_rank(schema(), {}, environment);
    CHECK(rank[core::setting::tokens] == 6);
    CHECK(rank.origin(core::setting::tokens).kind == Origin::Kind::environment);
    CHECK(rank[core::setting::relay_tokens] == 5);
    CHECK(rank.origin(core::setting::relay_tokens).kind == Origin::Kind::flag);
    const Settings own =
        load_for_rank(schema(), {{{"transport.relay_tokens", "8", {}}}, {}}, environment);
    CHECK(own[core::setting::relay_tokens] == 8);
}

TEST_CASE("A launcher inside a job does not use the settings of that job") {
    const Settings outer = load(schema(), {{{"transport.tokens", "5", {}}}, {}}, {});
    CHECK(load(schema(), {}, export_environment(outer))[core::setting::tokens] == 64);
    CHECK(load_for_rank(schema(), {}, export_environment(outer))[core::setting::tokens] == 5);
}

TEST_CASE("A rank without our launcher loads its settings like any program") {
    const std::vector<std::string> environment{"TORUSMP_TRANSPORT_TOKENS=9"};
    CHECK(load_for_rank(schema(), {}, environment) == load(schema(), {}, environment));
    CHECK(load_for_rank(schema(), {}, {}) == Settings(schema()));
}

TEST_CASE("A handover too long for one variable is split and joined again") {
    std::string hosts;
    for (int i = 0; i < 4096; ++i)
        hosts += (i ? "," : "") + std::string("a-rather-long-name-of-a-host-") + std::to_string(i);
    const Settings settings =
        load(schema(), {{{"torus.dims", "16x16x16", {}}, {"nodes.hosts", hosts, {}}}, {}}, {});
    const std::vector<std::string> handover = export_environment(settings);
    REQUIRE(handover.size() > 1);
    for (const std::string& string : handover) CHECK(string.size() < 128 * 1024);
    CHECK(load_for_rank(schema(), {}, handover) == settings);
    const std::vector<std::string> part{handover[0]};
    CHECK_THROWS_WITH(load_for_rank(schema(), {}, part),
                      Contains("cannot parse TORUSMP_SETTINGS_1"));
}

TEST_CASE("A rank of a job on a part of the machine knows the whole machine") {
    const Settings whole = load(schema(),
                                {{{"torus.dims", "2x2", {}},
                                  {"nodes.hosts", "a,b,c,d", {}},
                                  {"nodes.spares", "d", {}},
                                  {"transport.tokens", "5", {}}},
                                 {}},
                                {});
    Settings part = whole;
    Demand demand;
    demand.hosts = {"a", "b"};
    demand.hosts_option = "-host a,b";
    part.set(setting::spares, Spares(), Origin());
    fit(part, demand);
    REQUIRE(host_names(part).size() == 2);
    part.set_whole(std::make_shared<const Settings>(whole));
    std::vector<std::string> environment = export_environment(part);
    const Settings rank = load_for_rank(schema(), {}, environment);
    CHECK(rank == part);
    CHECK(rank.whole() == whole);
    CHECK(rank.whole()[setting::periodic].empty());
    CHECK(load_for_rank(schema(), {}, export_environment(whole)).whole() == whole);
    // The environment of a rank also sets values for the whole machine.
    environment.push_back("TORUSMP_TRANSPORT_RELAY_TOKENS=7");
    CHECK(load_for_rank(schema(), {}, environment).whole()[core::setting::relay_tokens] == 7);
}

TEST_CASE("A damaged handover is refused and never misread") {
    const Settings settings =
        load(schema(), {{{"transport.tokens", "5", {}}, {"torus.dims", "2x2", "--torus"}}, {}},
             std::vector<std::string>{"TORUSMP_LAUNCH_BIND=numa"});
    const std::string whole = export_environment(settings).at(0);
    for (const char* bad : {"2 1", "1", "1 x", "1 0", "1 99999", "1 -1", " ", "1 1 x", "1 1 a=b",
                            "1 1 transport.tokens=5@sky:x", "1 1 transport.tokens=999@flag:x",
                            "1 1 transport.tokens=%zz@flag:x", "1 1 nothing=5@flag:x", "1 1 whole.nothing=5@flag:x", "1 1 whole.torus.dims=0@flag:x",
                            "1 1 transport.tokens=5%@flag:x", "1 1 @=:"}) {
        CAPTURE(bad);
        CHECK_THROWS_AS(
            load_for_rank(schema(), {},
                          std::vector<std::string>{std::string("TORUSMP_SETTINGS=") + bad}),
            ConfigError);
    }
    // Any other damage may change a value, but only to one that is legal.
    std::mt19937 random(1);
    const std::size_t start = whole.find('=') + 1;
    for (int i = 0; i < 5000; ++i) {
        std::string text = whole;
        const std::size_t at = start + random() % (text.size() - start);
        if (i % 2)
            text[at] = char(1 + random() % 255);
        else
            text.resize(at);
        try {
            const Settings rank = load_for_rank(schema(), {}, std::vector<std::string>{text});
            CHECK((rank[core::setting::tokens] >= 2 && rank[core::setting::tokens] <= 120));
        } catch (const ConfigError& error) {
            CHECK(std::string(error.what()).find('\n') == std::string::npos);
        }
    }
}
