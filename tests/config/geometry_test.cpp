// SPDX-License-Identifier: BSD-3-Clause
// The geometry file: its values reach the settings, and each mistake is refused with file, line,
// the text found and the text expected.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "base/text.h"
#include "config/geometry.h"
#include "config/geometry_file.h"
#include "config/load.h"
#include "core/settings.h"
#include "core/transport/common/settings.h"
#include "core/transport/list.h"
#include "core/transport/shm/settings.h"
#include "core/transport/tcp/settings.h"
#include "core/transport/verbs/settings.h"
#include "job/settings.h"
#include "launch/settings.h"
#include "tests/config/geometry_texts.h"
#include "tests/config/temporary.h"

namespace geometry_test {

using namespace torusmp::config;
using namespace torusmp::config::testing;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using torusmp::job::schema;
using torusmp::test::TemporaryFolder;
namespace core = torusmp::core;
namespace launch = torusmp::launch;
namespace transport = torusmp::transport;

namespace {

constexpr const char* whole_file = R"(# the 256 nodes
[torus]
dims           = [4, 8, 8]
periodic       = [true, true, false]
ranks_per_node = [1, 1, 2]

[nodes]
hosts = "qcd{0}{1}{2}"

[links]
"0+" = "enp1s0f0"
"0-" = "enp1s0f1"
[links."qcd011"]
"0+" = "enp4s0f0"

[transport]
use           = "tcp"
local         = "links"
copy          = "pipeline"
eager_limit   = "8KiB"
tokens        = 32
relay_tokens  = 4
socket_buffer = 1048576
timeout       = "3s"
checksum      = true

[verbs]
gid_index   = 3
cache       = 0

[routing]
forward = "kernel"

[progress]
mode  = "thread"
spin  = "1.5ms"

[launch]
bind    = "numa"
agent   = "ssh -p 2222"
through = "torus"

[watchdog]
after = "2min"
)";

}  // namespace

TEST_CASE("A geometry file sets every key, each with file and line as its origin") {
    const Settings settings = read(whole_file);
    CHECK(settings[setting::dims] == std::vector<int>{4, 8, 8});
    CHECK(settings[setting::periodic] == std::vector<bool>{true, true, false});
    CHECK(settings[setting::ranks_per_node] == std::vector<int>{1, 1, 2});
    REQUIRE(host_names(settings).size() == 256);
    CHECK(host_names(settings).front() == "qcd000");
    CHECK(host_names(settings)[1] == "qcd001");
    CHECK(host_names(settings).back() == "qcd377");
    CHECK(settings[setting::links].at("0-") == "enp1s0f1");
    CHECK(settings[setting::host_links].at("qcd011").at("0+") == "enp4s0f0");
    CHECK(settings[transport::setting::use] == "tcp");
    CHECK(settings[core::setting::local] == core::LocalPaths::links);
    CHECK(settings[transport::shm::setting::copy] == transport::shm::CopyMode::packets);
    CHECK(settings[core::setting::eager_limit] == 8192);
    CHECK(settings[core::setting::tokens] == 32);
    CHECK(settings[core::setting::relay_tokens] == 4);
    CHECK(settings[transport::verbs::setting::gid_index] == 3);
    CHECK(settings[transport::verbs::setting::cache] == 0);
    CHECK(settings[transport::tcp::setting::socket_buffer] == 1048576);
    CHECK(settings[setting::forward] == Forward::kernel);
    CHECK(settings[core::setting::progress] == core::ProgressMode::thread);
    CHECK(settings[core::setting::spin] == std::chrono::microseconds(1500));
    CHECK(settings[launch::setting::bind] == Bind::numa);
    CHECK(settings[transport::setting::timeout] == std::chrono::seconds(3));
    CHECK(settings[transport::setting::checksum]);
    CHECK(settings[launch::setting::agent] == "ssh -p 2222");
    CHECK(settings[launch::setting::through] == launch::Through::torus);
    CHECK(settings[core::setting::watchdog] == std::chrono::minutes(2));
    CHECK(settings.origin(core::setting::tokens).kind == Origin::Kind::file);
    CHECK_THAT(settings.origin(setting::dims).where, Catch::Matchers::EndsWith("geometry.toml:3"));
    CHECK_THAT(settings.origin(core::setting::tokens).where,
               Catch::Matchers::EndsWith("geometry.toml:21"));
    CHECK_THAT(settings.origin(core::setting::watchdog).where,
               Catch::Matchers::EndsWith("geometry.toml:44"));
    CHECK_THAT(settings.file(), Catch::Matchers::EndsWith("geometry.toml"));
}

TEST_CASE("A list of hosts, padded patterns and times of zero are understood") {
    CHECK(host_names(read("[torus]\ndims = [2]\n[nodes]\nhosts = [\"a\", \"b\"]")) ==
          std::vector<std::string>{"a", "b"});
    CHECK(host_names(read("[torus]\ndims = [1, 2]\n[nodes]\nhosts = \"n{1:03}.lab\"")) ==
          std::vector<std::string>{"n000.lab", "n001.lab"});
    CHECK(host_names(read("[torus]\ndims = [1]\n[nodes]\nhosts = \"lonely\"")) ==
          std::vector<std::string>{"lonely"});
    CHECK(read("[progress]\nspin = 0\n")[core::setting::spin].count() == 0);
    CHECK(read("[watchdog]\nafter = \"0\"\n")[core::setting::watchdog].count() == 0);
    CHECK(read("[torus]\ndims = \"4x2\"\n")[setting::dims] == std::vector<int>{4, 2});
}

TEST_CASE("An unknown key or table is refused, and the nearest known name is suggested") {
    check_refused({
        {"[transport]\n\ntokns = 8\n",
         "geometry.toml:3: ",
         {"unknown key 'transport.tokns'", "did you mean 'transport.tokens'?"}},
        {"[trasnport]\ntokens = 8\n",
         "geometry.toml:1: ",
         {"unknown table [trasnport]", "did you mean [transport]?"}},
        {"[torus]\ntokens = 8\n",
         "geometry.toml:2: ",
         {"unknown key 'torus.tokens'", "did you mean 'transport.tokens'?"}},
        {"dims = [2]\n", "geometry.toml:1: ", {"unknown key 'dims'", "did you mean 'torus.dims'?"}},
        {"[transport]\nbandwidth = 8\n",
         "geometry.toml:2: ",
         {"unknown key 'transport.bandwidth'", "expected one of transport.use, "}},
        {"[weather]\nrain = true\n",
         "geometry.toml:1: ",
         {"unknown table [weather]", "expected one of [torus], [nodes], [links], "}},
        {"[torus]\n\"di\\u001bms\" = [2]\n", "geometry.toml:2: ", {"torus.di\\x1bms"}},
    });
}

TEST_CASE("The first mistake of a file is the one that is reported") {
    check_refused(
        {{"[watchdog]\nafter = 5\n[launch]\nbind = 5\n", "geometry.toml:2: ", {"watchdog"}},
         {"[progress]\nspin = \"x\"\nmode = 1\n", "geometry.toml:2: ", {"spin"}}});
}

TEST_CASE("A wrong type is refused with the type found and the type expected") {
    check_refused({
        {"[transport]\ntokens = \"8\"\n",
         "geometry.toml:2: ",
         {"transport.tokens is \"8\"", "expected a whole number from 2 to 120"}},
        {"[transport]\ntokens = 8.0\n", "geometry.toml:2: ", {"transport.tokens is 8"}},
        {"[transport]\ntokens = true\n", "geometry.toml:2: ", {"transport.tokens is true"}},
        {"[transport]\ntokens = [8]\n", "geometry.toml:2: ", {"transport.tokens is [8]"}},
        {"[transport]\ntokens = 2004-09-24\n", "geometry.toml:2: ", {"is a date or time"}},
        {"[transport.tokens]\nx = 1\n", "geometry.toml:1: ", {"transport.tokens is a table"}},
        {"[transport]\nuse = 5\n",
         "geometry.toml:2: ",
         {"transport.use is 5", alternatives(transport::transport_names())}},
        {"[transport]\neager_limit = true\n", "geometry.toml:2: ", {"expected a size from 64B"}},
        {"[transport]\neager_limit = 1.5\n", "geometry.toml:2: ", {"transport.eager_limit is 1.5"}},
        {"[progress]\nspin = 20\n",
         "geometry.toml:2: ",
         {"progress.spin is 20", "a number needs a unit", "like 200us"}},
        {"[torus]\ndims = 4\n", "geometry.toml:2: ", {"torus.dims is 4", "like [4, 8, 8]"}},
        {"[torus]\ndims = [4,\n 8,\n \"x\"]\n", "geometry.toml:4: ", {"dimension 2 is \"x\""}},
        {"[torus]\ndims = [2]\nperiodic = [1]\n", "geometry.toml:3: ", {"dimension 0 is 1"}},
        {"[torus]\ndims = [2]\nperiodic = true\n", "geometry.toml:3: ", {"torus.periodic is true"}},
        {"torus = 5\n", "geometry.toml:1: ", {"torus is 5", "expected a table [torus]"}},
        {"[[torus]]\ndims = [2]\n", "geometry.toml:1: ", {"expected a table [torus]"}},
        {"[nodes]\nhosts = 5\n", "geometry.toml:2: ", {"nodes.hosts is 5", "a pattern over"}},
        {"[torus]\ndims=[2]\n[nodes]\nhosts = [\"a\",\n7]\n",
         "geometry.toml:5: ",
         {"7 is not a name"}},
        {"[torus]\ndims=[2]\n[links]\n\"0+\" = 3\n", "geometry.toml:4: ", {"\"0+\" is 3"}},
    });
}

TEST_CASE("A value out of range is refused: zero, negative, too large") {
    check_refused({
        {"[torus]\ndims = [4, 0, 8]\n",
         "geometry.toml:2: ",
         {"torus.dims is [4, 0, 8]", "dimension 1 is 0", "sizes of 1 or more"}},
        {"[torus]\ndims = [-4]\n", "geometry.toml:2: ", {"dimension 0 is -4"}},
        {"[torus]\ndims = []\n", "geometry.toml:2: ", {"it has 0 dimensions"}},
        {"[torus]\ndims = [1,1,1,1,1,1,1]\n", "geometry.toml:2: ", {"7 dimensions", "1 to 6"}},
        {"[torus]\ndims = [4294967296]\n", "geometry.toml:2: ", {"dimension 0 is 4294967296"}},
        {"[torus]\ndims = [65536, 65536]\n", "geometry.toml:2: ", {"product is more than 1048576"}},
        {"[torus]\ndims = [1048576]\nranks_per_node = [2]\n",
         "geometry.toml:3: ",
         {"ranks_per_node = 2", "more than 1048576 ranks"}},
        {"[torus]\ndims = [2]\nranks_per_node = [0]\n", "geometry.toml:3: ", {"dimension 0 is 0"}},
        {"[transport]\ntokens = 1\n",
         "geometry.toml:2: ",
         {"is 1: expected a whole number from 2"}},
        {"[transport]\ntokens = 121\n", "geometry.toml:2: ", {"is 121", "to 120"}},
        {"[transport]\nrelay_tokens = -2\n", "geometry.toml:2: ", {"relay_tokens is -2"}},
        {"[transport]\ntokens = 99999999999999999999\n", "geometry.toml:2: ", {"not valid TOML"}},
        {"[transport]\neager_limit = 0\n", "geometry.toml:2: ", {"eager_limit is 0", "from 64B"}},
        {"[transport]\neager_limit = -16\n", "geometry.toml:2: ", {"eager_limit is -16"}},
        {"[transport]\neager_limit = \"5MiB\"\n", "geometry.toml:2: ", {"to 4MiB"}},
        {"[transport]\nsocket_buffer = \"99999999999TiB\"\n", "geometry.toml:2: ", {"to 1GiB"}},
        {"[transport]\nsocket_buffer = \"4MB\"\n", "geometry.toml:2: ", {"\"4MB\"", "like 4MiB"}},
        {"[progress]\nspin = \"2s\"\n", "geometry.toml:2: ", {"\"2s\"", "from 0 to 1s"}},
        {"[progress]\nspin = \"-1us\"\n", "geometry.toml:2: ", {"\"-1us\""}},
        {"[transport]\ntimeout = \"50ms\"\n", "geometry.toml:2: ", {"100ms to 1h"}},
        {"[transport]\nchecksum = 1\n", "geometry.toml:2: ", {"true or false"}},
        {"[verbs]\ngid_index = -1\n",
         "geometry.toml:2: ",
         {"verbs.gid_index is -1", "auto, or a whole number from 0"}},
        {"[verbs]\ngid_index = 256\n", "geometry.toml:2: ", {"is 256"}},
        {"[verbs]\nretries = 6\n", "geometry.toml:2: ", {"unknown key 'verbs.retries'"}},
        {"[ethernet]\nframe = 1500\n", "geometry.toml:1: ", {"unknown table [ethernet]"}},
        {"[verbs]\ncache = \"2TiB\"\n", "geometry.toml:2: ", {"verbs.cache", "to 1TiB"}},
        {"[verbs]\ngid = 1\n", "geometry.toml:2: ", {"unknown key 'verbs.gid'"}},
        {"[collectives]\nbroadcast = \"bush\"\n",
         "geometry.toml:2: ",
         {"collectives.broadcast", "'bush' is not an algorithm", "lines, scatter, tree, disjoint"}},
        {"[collectives]\nallreduce = \"lines scatter\"\n",
         "geometry.toml:2: ",
         {"'lines' has no limit", "lines<16KiB"}},
        {"[collectives]\nscan = \"links: star<1KiB\"\n", "geometry.toml:2: ", {"has a limit"}},
        {"[collectives]\nscan = \"links: star<2KiB lines<1KiB doubling\"\n",
         "geometry.toml:2: ",
         {"'lines<1KiB' is not above"}},
        {"[collectives]\nscan = \"moon: star\"\n", "geometry.toml:2: ", {"'moon'", "crowded"}},
        {"[collectives]\nscan = \"star<x lines\"\n", "geometry.toml:2: ", {"'x' is not a size"}},
        {"[collectives]\nscan = \"\"\n", "geometry.toml:2: ", {"it is empty"}},
        {"[collectives]\nscatter = \"apart<1KiB optimal\"\n",
         "geometry.toml:2: ",
         {"only the root knows"}},
        {"[collectives]\nscan = 7\n", "geometry.toml:2: ", {"collectives.scan is 7", "algorithms"}},
        {"[launch]\nagent = \" \"\n", "geometry.toml:2: ", {"launch.agent", "ssh"}},
        {"[watchdog]\nafter = \"25h\"\n", "geometry.toml:2: ", {"to 24h"}},
    });
}

TEST_CASE("A wrong choice is refused with the list of valid choices") {
    check_refused({
        {"[transport]\nuse = \"smh\"\n",
         "geometry.toml:2: ",
         {"transport.use is \"smh\"", "did you mean \"shm\"?",
          "expected " + alternatives(transport::transport_names())}},
        {"[transport]\nlocal = \"all\"\n", "geometry.toml:2: ", {"expected direct or links"}},
        {"[transport]\ncopy = \"\"\n", "geometry.toml:2: ", {"expected auto, cma or pipeline"}},
        {"[routing]\nforward = \"Relay\"\n", "geometry.toml:2: ", {"did you mean \"relay\"?"}},
        {"[progress]\nmode = \"auto\"\n", "geometry.toml:2: ", {"expected polling or thread"}},
        {"[progress]\nmode = \"threads\"\n", "geometry.toml:2: ", {"did you mean \"thread\"?"}},
        {"[launch]\nbind = \"socket\"\n", "geometry.toml:2: ", {"auto, core, numa or none"}},
    });
}

TEST_CASE("A file that is not TOML is refused with its line") {
    check_refused({
        {"[torus]\ndims = [4, 8\n", "geometry.toml:", {"not valid TOML"}},
        {"[torus]\ndims = [2]\n[transport]\nuse = \"sh", "geometry.toml:4: ", {"not valid TOML"}},
        {"[torus]\ndims = [2]\ndims = [3]\n", "geometry.toml:3: ", {"not valid TOML"}},
        {"[links]\n0+ = \"eth0\"\n", "geometry.toml:2: ", {"not valid TOML"}},
        {"[torus]\n[,]\n", "geometry.toml:2: ", {"not valid TOML"}},
        {"[torus]\n[.a]\n", "geometry.toml:2: ", {"not valid TOML"}},
        {"[torus]\n[a.]\n", "geometry.toml:2: ", {"not valid TOML"}},
        {"torus = { , }\n", "geometry.toml:1: ", {"not valid TOML"}},
        {"torus = { = }\n", "geometry.toml:1: ", {"not valid TOML"}},
        {"\x7f"
         "ELF\x02\x01\x01",
         "geometry.toml:1: ",
         {"not valid TOML"}},
        {"[torus]\n\xff\xfe\n", "geometry.toml:2: ", {"not a text file", "byte 8 (0xff)"}},
        {"[torus]\n#\xed\xa0\x80\n", "geometry.toml:2: ", {"byte 9 (0xed) is not valid UTF-8"}},
        {std::string("[torus]\n#\0\n", 11),
         "geometry.toml:2: ",
         {"not a text file", "byte 9 is zero"}},
        {"", "geometry.toml: ", {"it is empty", "expected a TOML file"}},
        {" \n\n", "geometry.toml: ", {"it is empty"}},
    });
}

TEST_CASE("Every cut of a whole file is either refused or a whole file itself") {
    const std::string text = whole_file;
    int refused = 0;
    for (std::size_t length = 0; length < text.size(); ++length) {
        Settings settings(schema());
        Locations locations;
        try {
            apply_geometry(text.substr(0, length), "cut.toml", settings, locations);
            complete(settings, locations);
        } catch (const ConfigError& error) {
            ++refused;
            CHECK_THAT(error.what(), StartsWith("cut.toml:"));
        }
    }
    CHECK(refused > 200);
}

TEST_CASE("A geometry file that is not a readable regular file is refused with its name") {
    const TemporaryFolder folder;
    const auto message = [](const std::string& path) {
        try {
            load(schema(), {{}, path}, {});
        } catch (const ConfigError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    const std::string missing = (folder.path() / "missing.toml").string();
    CHECK_THAT(message(missing), StartsWith(missing + ": ") && Contains("No such file"));
    CHECK_THAT(message(folder.path().string()), Contains("it is a directory"));
    const std::string pipe = (folder.path() / "pipe").string();
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK_THAT(message(pipe), Contains("expected a regular file"));
    CHECK_THAT(message("/dev/zero"), Contains("expected a regular file"));
    const std::string huge = folder.write("huge.toml", "#");
    std::filesystem::resize_file(huge, max_file_size + 1);
    CHECK_THAT(message(huge), Contains("expected at most 16777216"));
    const std::string shut = folder.write("shut.toml", "[torus]\ndims = [2]\n");
    std::filesystem::permissions(shut, std::filesystem::perms::none);
    if (::geteuid() != 0) CHECK_THAT(message(shut), Contains("Permission denied"));
}

TEST_CASE("The message about a file from the environment names the variable") {
    const std::vector<std::string> environment{"TORUSMP_CONFIG=/nonexistent/g.toml"};
    CHECK_THROWS_WITH(load(schema(), {}, environment),
                      StartsWith("/nonexistent/g.toml: ") && Contains("named by TORUSMP_CONFIG"));
}

}  // namespace geometry_test
