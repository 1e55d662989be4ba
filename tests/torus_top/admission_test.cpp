// SPDX-License-Identifier: BSD-3-Clause
// The users that may ask torus-top's server, and the text that a record may put on a terminal.
#include "programs/torus_top/admission.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "programs/torus_run/monitor/records.h"

namespace torusmp::torus_top::admission_test {

using Catch::Matchers::Contains;

TEST_CASE("Only names of this host on the loopback network are taken for it") {
    for (const char* host : {"127.0.0.1", "127.0.0.1:8080", "127.1.2.3:1", "localhost",
                             "LocalHost:8080", "[::1]", "[::1]:8080"})
        CHECK(names_this_host(host, "127.0.0.1"));
    for (const char* host : {"",
                             "127.attacker.example",
                             "127.attacker.example:8080",
                             "127.0.0.1.attacker.example",
                             "127.0.0.1:8080.attacker.example",
                             "localhost.attacker.example",
                             "localhost:",
                             "127.1",
                             "127.0.0.1:",
                             "127.0.0.1:x",
                             "127.0.0.1:123456",
                             "127.0.0.1 ",
                             "0127.0.0.1",
                             "128.0.0.1",
                             "::1",
                             "[::1",
                             "[::1]x",
                             "[::1]:",
                             "[127.0.0.2]",
                             "[attacker.example]",
                             "attacker.example"})
        CHECK_FALSE(names_this_host(host, "127.0.0.1"));
    CHECK_FALSE(names_this_host(std::string_view("127.0.0.1\0.example", 18), "127.0.0.1"));
    CHECK(names_this_host("[::1%1]:80", "::1%1"));
}

TEST_CASE("Secrets are equal if every byte is equal") {
    CHECK(same_secret("abcd", "abcd"));
    CHECK_FALSE(same_secret("abcd", "abce"));
    CHECK_FALSE(same_secret("abcd", "bbcd"));
    CHECK_FALSE(same_secret("abcd", "abc"));
    CHECK(random_token().size() == 32);
    CHECK(random_token() != random_token());
}

TEST_CASE("A token is kept in a file that others may not read") {
    char name[] = "/tmp/torusmp-token-test.XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    const std::string folder = name, file = folder + "/token";
    const std::string token = token_in(file);
    struct stat info {};
    REQUIRE(stat(file.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
    CHECK(token.size() == 32);
    CHECK(token_in(file) == token);
    chmod(file.c_str(), 0644);
    CHECK_THROWS_WITH(token_in(file), Contains("every user may read it (chmod o= "));
    chmod(file.c_str(), 0640);
    CHECK(token_in(file) == token);
    for (const char* wrong : {"", "short\n", "0123456789abcdef 0123456789abcdef\n"}) {
        std::ofstream(file) << wrong;
        CHECK_THROWS_WITH(token_in(file), Contains("found no token there"));
    }
    CHECK_THROWS_WITH(token_in(folder + "/no/such"), Contains("No such file"));
    std::filesystem::remove_all(folder);
}

TEST_CASE("Streams of events are bounded, per client and in total, and counted down") {
    Streams streams;
    std::vector<std::shared_ptr<Streams::Ticket>> open;
    for (int i = 0; i < Streams::most_of_one_client; ++i) {
        open.push_back(streams.open("10.0.0.1"));
        CHECK(open.back());
    }
    CHECK_FALSE(streams.open("10.0.0.1"));
    for (int i = Streams::most_of_one_client; i < Streams::most; ++i) {
        open.push_back(streams.open("10.0.1." + std::to_string(i)));
        CHECK(open.back());
    }
    CHECK_FALSE(streams.open("10.0.0.2"));
    open.erase(open.begin());
    CHECK(streams.open("10.0.0.1"));
}

template <std::size_t Size>
void put(std::array<char, Size>& text, std::string_view value) {
    text.fill(0);
    value.copy(text.data(), Size);
}

TEST_CASE("No text of a job or a sample controls a terminal") {
    torus_run::JobDescription job;
    job.program = "./a.out \x1b]0;owned\x07";
    job.host =
        "a\x9b"
        "2J";
    job.size = 1;
    job.dims = {1};
    job.periodic = {0};
    job.hosts = {"n0\x1b[2J\n", "caf\u00e9\u009b"};
    job.node_of = {0};
    const torus_run::JobDescription read = torus_run::decode_job(torus_run::encode(job));
    CHECK(read.program == "./a.out \\x1b]0;owned\\x07");
    CHECK(read.host == "a\\x9b2J");
    CHECK(read.hosts == std::vector<std::string>{"n0\\x1b[2J\\x0a", "caf\u00e9\\xc2\\x9b"});

    torus_run::Sample sample;
    sample.ranks.resize(1);
    put(sample.ranks[0].call, "MPI_\x1b[31mSend");
    put(sample.ranks[0].detail, std::string(1000, '\x1b'));
    sample.ways.resize(1);
    put(sample.ways[0].counts.transport, "t\x1b");
    sample.devices.resize(1);
    put(sample.devices[0].name, "eth\x7f");
    const torus_run::Sample decoded = torus_run::decode_sample(torus_run::encode(sample));
    CHECK(std::string(decoded.ranks[0].call.data()) == "MPI_\\x1b[31mSend");
    CHECK(std::string(decoded.ranks[0].detail.data()).find('\x1b') == std::string::npos);
    CHECK(std::string(decoded.ways[0].counts.transport.data()) == "t\\x1b");
    CHECK(std::string(decoded.devices[0].name.data()) == "eth\\x7f");
}

}  // namespace torusmp::torus_top::admission_test
