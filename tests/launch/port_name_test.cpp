// SPDX-License-Identifier: BSD-3-Clause
// Names of ports: any text may be given to MPI_Comm_connect.
#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "launch/port_name.h"

namespace port_name_test {

using torusmp::launch::PortName;

TEST_CASE("The name of a port is unchanged after writing and reading") {
    std::set<std::string> names;
    for (const char* host : {"", "n0", "a.b.c", "fe80::1"}) {
        const PortName port = PortName::random(host);
        const auto read = PortName::read(port.text());
        REQUIRE(read);
        CHECK(read->socket == port.socket);
        CHECK(read->secret == port.secret);
        CHECK(read->host == host);
        names.insert(port.secret);
    }
    CHECK(names.size() == 4);
}

TEST_CASE("Text that is not the name of a port is refused") {
    const std::string good = PortName::random("n0").text();
    const std::size_t shortest = good.size() - 3;
    CHECK(PortName::read(good.substr(0, shortest)));
    CHECK_FALSE(PortName::read(good.substr(0, shortest + 1)));  // a colon without a host
    CHECK_FALSE(PortName::read(""));
    for (std::size_t length = 0; length < shortest; ++length)
        CHECK_FALSE(PortName::read(good.substr(0, length)));
    std::mt19937 random(1);
    for (int i = 0; i < 2000; ++i) {
        std::string damaged = good;
        damaged[random() % shortest] = char(random() % 256);
        const auto read = PortName::read(damaged);
        if (read) CHECK(read->text() == damaged);
    }
    CHECK_FALSE(PortName::read(std::string(100'000, ':')));
}

}  // namespace port_name_test
