// SPDX-License-Identifier: BSD-3-Clause
// torus-info as a user runs it: its output, its messages and its exit codes.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <iterator>

#include "config/load.h"
#include "job/settings.h"
#include "programs/torus_info/links.h"
#include "tests/config/temporary.h"

using namespace torusmp::config;
using namespace torusmp::torus_info;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using torusmp::job::schema;
using torusmp::test::TemporaryFolder;

namespace {

std::string text_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

struct Outcome {
    int code = -1;  // -1: it did not exit by itself
    std::string out, err;
};

// Runs the program with an environment of its own; both streams go to files, which cannot block it.
Outcome run(std::vector<std::string> words, std::vector<std::string> environment = {}) {
    const TemporaryFolder folder;
    const std::string out = folder.write("out", ""), err = folder.write("err", "");
    words.insert(words.begin(), "torus-info");
    for (const char* name : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "LD_LIBRARY_PATH"})
        if (const char* value = std::getenv(name))
            environment.push_back(std::string(name) + "=" + value);
    const auto pointers = [](std::vector<std::string>& strings) {
        std::vector<char*> all;
        for (std::string& string : strings) all.push_back(string.data());
        all.push_back(nullptr);
        return all;
    };
    posix_spawn_file_actions_t actions;
    REQUIRE(posix_spawn_file_actions_init(&actions) == 0);
    posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_TRUNC, 0);
    posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_TRUNC, 0);
    pid_t pid = -1;
    const int failed = ::posix_spawn(&pid, TORUS_INFO_PATH, &actions, nullptr,
                                     pointers(words).data(), pointers(environment).data());
    posix_spawn_file_actions_destroy(&actions);
    REQUIRE(failed == 0);
    int status = 0;
    REQUIRE(::waitpid(pid, &status, 0) == pid);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of(out), text_of(err)};
}

void check_usage_error(const Outcome& outcome, const std::string& piece) {
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, StartsWith("torus-info: ") && Contains(piece));
    // One message: a single newline, at its end.
    CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
}

}  // namespace

TEST_CASE(
    "torus-info lists every key with its value and origin, the torus, the host and a binding") {
    const TemporaryFolder folder;
    const std::string path = folder.write("g.toml", "[transport]\ntokens = 7\n");
    const Outcome outcome = run({"--config", path, "--torus", "2x2x2", "--set", "launch.bind=none"},
                                {"TORUSMP_PROGRESS_SPIN=3us"});
    CHECK(outcome.code == 0);
    CHECK(outcome.err.empty());
    for (const AnySetting* setting : schema().settings())
        CHECK_THAT(outcome.out, Contains("  " + std::string(setting->key()) + " "));
    const auto line = [&](const std::string& key) {
        const std::size_t start = outcome.out.find("  " + key + " ");
        return outcome.out.substr(start, outcome.out.find('\n', start) - start);
    };
    CHECK_THAT(line("transport.tokens"), Contains(" 7 ") && Contains(path + ":2"));
    CHECK_THAT(line("torus.dims"), Contains(" 2x2x2 ") && Contains("--torus"));
    CHECK_THAT(line("progress.spin"), Contains(" 3us ") && Contains("TORUSMP_PROGRESS_SPIN"));
    CHECK_THAT(line("launch.bind"), Contains(" none ") && Contains("--set launch.bind"));
    CHECK_THAT(line("watchdog.after"), Contains(" 60s ") && Contains("default"));
    CHECK_THAT(outcome.out, Contains("2x2x2: 8") && Contains("cables          24") &&
                                Contains(" in total, ") && Contains(" available") &&
                                Contains("locked memory") && Contains("Binding of 8 ranks") &&
                                Contains("not bound"));
}

TEST_CASE("torus-info shows the binding plan of a machine that is described to it") {
    const Outcome outcome =
        run({"--np", "6", "--set", "launch.bind=numa"}, {"HWLOC_SYNTHETIC=numa:2 core:4 pu:2"});
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.out, Contains("8 cores, 16 hardware threads") && Contains("NUMA node 1") &&
                                Contains("ranks 0-2  processors 0-7") &&
                                Contains("ranks 3-5  processors 8-15"));
}

TEST_CASE("Inside a job torus-info shows the settings of the ranks") {
    const Settings job = load(schema(), {{{"transport.tokens", "5", {}}}, {}}, {});
    const Outcome outcome = run({"--explain", "transport.tokens"}, export_environment(job));
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.out, Contains("5, from --set transport.tokens"));
}

TEST_CASE("torus-info shows the transport of each link of this host, with the reason") {
    char self[256] = {};
    REQUIRE(::gethostname(self, sizeof self - 1) == 0);
    const TemporaryFolder folder;
    const auto file = [&](const std::string& host) {
        return folder.write("g.toml", "[torus]\ndims = [2]\n[nodes]\nhosts = [\"other\", \"" +
                                          host +
                                          "\"]\n[links]\n\"0+\" = \"lo\"\n\"0-\" = \"none0\"\n");
    };
    const Outcome mine = run({"--config", file(self)});
    CHECK(mine.code == 0);
    CHECK_THAT(mine.out,
               Contains("Links of node 1") &&
                   Contains("tcp      lo of " + std::string(self) + " has no RDMA device") &&
                   Contains(std::string(self) + " has no device none0"));
    const Outcome asked =
        run({"--config", file(self), "--set", "transport.use=verbs", "--json", "-"});
    CHECK(asked.code == 0);
    CHECK_THAT(asked.out, Contains("\"node\": 1") && Contains("\"carrier\": null") &&
                              Contains("transport.use is verbs (--set transport.use), but lo of"));
    // This host and its ranks only where they are asked for.
    CHECK_THAT(mine.out, !Contains("Host " + std::string(self)) && !Contains("Binding of"));
    CHECK_THAT(run({"--config", file(self), "--here"}).out,
               StartsWith("Links of node 1") && Contains("Host " + std::string(self)) &&
                   Contains("Binding of 1 rank on this host"));
}

TEST_CASE("torus-info begins with the cables, also on a host that is not part of the machine") {
    const TemporaryFolder folder;
    const std::string path = folder.write(
        "g.toml",
        "[torus]\ndims = [3]\n[nodes]\nhosts = [\"a\", \"b\", \"c\"]\n[links]\n\"0+\" = "
        "\"eth0\"\n\"0-\" = \"eth1\"\n");
    const Outcome asked = run({"--config", path, "--set", "transport.use=tcp"});
    CHECK(asked.code == 0);
    CHECK(asked.err.empty());
    CHECK_THAT(asked.out, StartsWith("Links of the machine, seen from outside: ") &&
                              Contains("0+    c     eth0    a   eth1    tcp\n") &&
                              !Contains("decides") && !Contains("Host ") &&
                              Contains("torus-info --here"));
    // The last line does not sound like an error.
    CHECK(asked.out.find("is not in nodes.hosts") < asked.out.find("Torus\n"));
    const Outcome open = run({"--config", path});
    CHECK_THAT(open.out, Contains(" or tcp\n") && Contains("torus-check queries them"));
    CHECK_THAT(run({"--config", path, "--set", "transport.use=tcp", "--json", "-"}).out,
               Contains(R"({"direction": "0+", "from": "c", "device": "eth0", "to": "a", )"
                        R"("far_device": "eth1", "carriers": ["tcp"]})"));
}

TEST_CASE("torus-info sums up the cables of a large machine by direction") {
    const TemporaryFolder folder;
    std::string hosts;
    for (int i = 0; i < 36; ++i) hosts += "\"n" + std::to_string(i) + "\",";
    const std::string path = folder.write(
        "g.toml", "[torus]\ndims = [6, 6]\n[nodes]\nhosts = [" + hosts +
                      "]\n[links]\n\"0+\" = \"eth0\"\n\"0-\" = \"eth1\"\n\"1+\" = \"eth2\"\n"
                      "\"1-\" = \"eth3\"\n");
    const Outcome outcome = run({"--config", path, "--set", "transport.use=tcp"});
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.out, Contains("0+    36      eth0 to eth1  tcp\n") &&
                                Contains("1+    36      eth2 to eth3  tcp\n"));
}

TEST_CASE("torus-info shows once how links can get a better transport") {
    const std::string advice = "on a ranks may not send frames: run \"setcap\"";
    const std::vector<LinkReport> links{{{0, +1}, "eth0", "b", "tcp", "no frames", advice},
                                        {{0, -1}, "eth1", "c", "tcp", "no frames", advice},
                                        {{1, +1}, "eth2", "d", "verbs", "rxe_eth2", ""}};
    const std::string text = links_text(links);
    const auto at = text.find(advice);
    CHECK(at > text.find("eth2"));
    CHECK(text.find(advice, at + 1) == std::string::npos);
    CHECK(text.ends_with(advice + "\n"));
    CHECK_THAT(links_json(links),
               Contains(R"("advice": "on a ranks may not send frames: run \"setcap\"")") &&
                   Contains(R"("advice": "")"));
}

TEST_CASE("torus-info writes JSON to a file beside the text, or to standard output instead") {
    const TemporaryFolder folder;
    const std::string path = (folder.path() / "info.json").string();
    const Outcome outcome = run({"--torus", "2x1", "--json", path});
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.out, StartsWith("Torus") && Contains("\nSettings"));
    const std::string json = text_of(path);
    CHECK_THAT(json, StartsWith("{\n") &&
                         Contains("\"torus.dims\": {\"value\": \"2x1\", \"origin\": \"flag\", "
                                  "\"where\": \"--torus\"}") &&
                         Contains("\"dims\": [2, 1]") && Contains("\"binding\": [") &&
                         Contains("\"node\": null") && Contains("\"links\": ["));
    const Outcome bare = run({"--torus", "2x1", "--json", "-"});
    CHECK(bare.code == 0);
    CHECK_THAT(bare.out, StartsWith("{\n"));
    CHECK(std::count(bare.out.begin(), bare.out.end(), '{') ==
          std::count(bare.out.begin(), bare.out.end(), '}'));
}

TEST_CASE("torus-info explains a key, prints its help with examples, and its version") {
    const Outcome key = run({"--explain", "transport.eager_limit"});
    CHECK(key.code == 0);
    CHECK_THAT(key.out,
               Contains("a size from 64B to 4MiB") && Contains("TORUSMP_TRANSPORT_EAGER_LIMIT=") &&
                   Contains("--set transport.eager_limit=") && Contains("16KiB, from default"));
    const Outcome help = run({"--help"});
    CHECK(help.code == 0);
    CHECK(help.err.empty());
    CHECK_THAT(help.out,
               Contains("Usage: torus-info") && Contains("Examples:") && Contains("--config"));
    const Outcome version = run({"--version"});
    CHECK(version.code == 0);
    CHECK_THAT(version.out, StartsWith("torus-info (torusmp) "));
}

TEST_CASE("torus-info shows the location that a file would have, with the reason") {
    const TemporaryFolder folder;
    const std::string at = folder.path().string(), path = at + "/x";
    const Outcome alone = run({"--path", path});
    CHECK(alone.code == 0);
    CHECK(alone.err.empty());
    CHECK_THAT(alone.out, StartsWith(path + "\n") && Contains("the folder  directly\n") &&
                              Contains("Why: all ranks are on one host.\n"));
    const std::string config =
        folder.write("g.toml", "[io.at]\n\"" + at + "\" = \"elsewhere\"\n\"/\" = \"all\"\n");
    const Outcome far = run({"--path", path, "--config", config});
    CHECK(far.code == 1);
    CHECK_THAT(far.out, Contains("not at all\n") &&
                            Contains("It cannot be opened: io.at has \"" + at +
                                     "\" = \"elsewhere\", but this job has no rank on that host"));
    CHECK_THAT(run({"--path", "/x", "--config", config}).out,
               Contains("Why: io.at has \"/\" = \"all\".\n"));
    check_usage_error(run({"--set", "io.at=home=head"}), "\"home\" is not an absolute path");
    const std::string bad = folder.write("bad.toml", "[io.at]\nhome = \"head\"\n");
    check_usage_error(run({"--config", bad}), bad + ":2: ");
}

TEST_CASE("The installed reference equals the output of torus-info with any settings") {
    const Outcome outcome = run({"--reference"}, {"TORUSMP_TRANSPORT_TOKENS=9"});
    CHECK(outcome.code == 0);
    CHECK(outcome.err.empty());
    CHECK(outcome.out == text_of(SETTINGS_PAGE));
}

TEST_CASE("torus-info refuses bad input with one message on standard error and exit code 2") {
    const TemporaryFolder folder;
    const std::string bad =
        folder.write("bad.toml", "[torus]\ndims = [2]\n[transport]\ntokns = 8\n");
    check_usage_error(run({"--config", bad}), bad + ":4: unknown key 'transport.tokns'");
    check_usage_error(run({}, {"TORUSMP_CONFIG=" + bad}), bad + ":4: ");
    check_usage_error(run({"--config", folder.path().string()}), "it is a directory");
    check_usage_error(run({"--config", "/nonexistent.toml"}), "No such file");
    check_usage_error(run({"--torus", "2x0"}), "--torus: torus.dims is \"2x0\"");
    check_usage_error(run({"--torus", "2x2", "--np", "5"}),
                      "makes 4 ranks, but 5 ranks are started");
    check_usage_error(run({"--np", "0"}), "--np is \"0\"");
    check_usage_error(run({"--np", "many"}), "--np is \"many\"");
    check_usage_error(run({"--set", "tokens"}), "expected a key and a value");
    check_usage_error(run({"--set", "transport.tokens=1"}), "--set transport.tokens: ");
    check_usage_error(run({"--confg", "x"}), "did you mean --config?");
    check_usage_error(run({"--conf", bad}), "unknown option '--conf'");
    check_usage_error(run({"--config"}), "--config");
    check_usage_error(run({"--config="}), "--config");
    check_usage_error(run({"stray"}), "stray");
    check_usage_error(run({"--explain", "tokens"}), "did you mean 'transport.tokens'?");
    check_usage_error(run({"--json"}), "--json");
    check_usage_error(run({}, {"TORUSMP_TRANSPORT_TOKEN=8"}),
                      "did you mean TORUSMP_TRANSPORT_TOKENS?");
}

TEST_CASE("torus-info exits with 1 if its output cannot be written") {
    const Outcome outcome = run({"--json", "/nonexistent/folder/info.json"});
    CHECK(outcome.code == 1);
    CHECK_THAT(outcome.err, StartsWith("torus-info: /nonexistent/folder/info.json: cannot write"));
    CHECK(run({"--json", "/dev/full"}).code == 1);
}
