// SPDX-License-Identifier: BSD-3-Clause
// The check that the lists, hosts and links of a geometry file fit its torus.
#include <catch2/catch.hpp>

#include "tests/config/geometry_texts.h"

namespace geometry_fit_test {

using namespace torusmp::config;
using namespace torusmp::config::testing;

TEST_CASE("Lists that do not fit the dimensions are refused") {
    check_refused({
        {"[torus]\ndims = [2, 2]\nperiodic = [true]\n",
         "geometry.toml:3: ",
         {"torus.periodic has 1 value: expected 2", "torus.dims = 2x2"}},
        {"[torus]\ndims = [2, 2]\nranks_per_node = [1, 1, 2]\n",
         "geometry.toml:3: ",
         {"torus.ranks_per_node has 3 values: expected 2"}},
        {"[torus]\nperiodic = [true]\n", "geometry.toml:2: ", {"expected 3", "balanced torus"}},
        {"[torus]\nranks_per_node = [1, 1, 2]\n", "geometry.toml:2: ", {"needs torus.dims"}},
        {"[nodes]\nhosts = [\"a\", \"b\"]\n", "geometry.toml:2: ", {"needs torus.dims"}},
        {"[links]\n\"0+\" = \"eth0\"\n", "geometry.toml:1: ", {"needs torus.dims"}},
        {"[links.\"a\"]\n\"0+\" = \"eth0\"\n", "geometry.toml:1: ", {"needs torus.dims"}},
    });
}

TEST_CASE("Hosts that do not fit the torus are refused") {
    const std::string torus = "[torus]\ndims = [2, 2]\n[nodes]\n";
    check_refused({
        {torus + "hosts = [\"a\", \"b\", \"c\"]\n",
         "geometry.toml:4: ",
         {"lists 3 hosts", "torus.dims = 2x2", "geometry.toml:2", "4 nodes", "expected 4 names"}},
        {torus + "hosts = [\"a\", \"b\",\n\"c\",\n\"b\"]\n",
         "geometry.toml:6: ",
         {"names \"b\" twice, for nodes 1 and 3"}},
        {torus + "hosts = []\n", "geometry.toml:4: ", {"the list is empty"}},
        {torus + "hosts = \"\"\n", "geometry.toml:4: ", {"cannot be the name of a host"}},
        {torus + "hosts = \"qcd\"\n",
         "geometry.toml:4: ",
         {"names 1 host, \"qcd\"", "a pattern that uses the coordinates"}},
        {torus + "hosts = \"qcd{0}\"\n",
         "geometry.toml:4: ",
         {"does not use the coordinate of dimension 1", "Add {1}"}},
        {torus + "hosts = \"qcd{0}{1}{2}\"\n", "geometry.toml:4: ", {"dimension 2 does not exist"}},
        {torus + "hosts = \"qcd{0}{x}\"\n", "geometry.toml:4: ", {"{x} is not a coordinate"}},
        {torus + "hosts = \"qcd{0}{1:2}\"\n", "geometry.toml:4: ", {"{1:2} is not a coordinate"}},
        {torus + "hosts = \"qcd{0}{1\"\n", "geometry.toml:4: ", {"a { without }"}},
        {torus + "hosts = \"qcd{0}1}\"\n", "geometry.toml:4: ", {"a } without {"}},
        {torus + "hosts = [\"a\", \"b\", \"..\", \"d\"]\n",
         "geometry.toml:4: ",
         {"\"..\" cannot be the name of a host"}},
        {torus + "hosts = \"-{0}{1}\"\n", "geometry.toml:4: ", {"\"-00\" cannot be the name"}},
        {torus + "hosts = [\"a\", \"b\", \"-oProxyCommand=x\", \"d\"]\n",
         "geometry.toml:4: ",
         {"cannot be the name of a host"}},
        {torus + "hosts = [\"a\", \"b c\", \"d\", \"e\"]\n",
         "geometry.toml:4: ",
         {"\"b c\" cannot be the name of a host"}},
        {"[torus]\ndims = [2, 12]\n[nodes]\nhosts = \"q{1}{0}\"\n", "", {}},
        {"[torus]\ndims = [12, 12]\n[nodes]\nhosts = \"q{0}{1}\"\n",
         "geometry.toml:4: ",
         {"names \"q110\" twice, for nodes 22 and 132", "a \"-\" between the coordinates"}},
    });
}

TEST_CASE("Links that the torus does not have, or that share a device, are refused") {
    const std::string torus =
        "[torus]\ndims = [4, 1]\nperiodic = [false, true]\n"
        "[nodes]\nhosts = \"q{0}\"\n[links]\n";
    check_refused({
        {torus + "\"2+\" = \"eth0\"\n",
         "geometry.toml:7: ",
         {"[links] gives \"2+\" the device eth0", "torus.dims = 4x1", "dimensions 0 to 1"}},
        {torus + "\"0+\" = \"eth0\"\n\"1+\" = \"eth1\"\n",
         "geometry.toml:8: ",
         {"has size 1 and no links in dimension 1"}},
        {torus + "\"0+\" = \"eth0\"\n\"0-\" = \"eth0\"\n",
         "geometry.toml:8: ",
         {"links \"0+\" and \"0-\" of [links] both have the device eth0", "one device per link"}},
        {torus + "up = \"eth0\"\n", "geometry.toml:7: ", {"\"up\" is not a direction"}},
        {torus + "\"0+\" = \"\"\n", "geometry.toml:7: ", {"cannot be the name of a device"}},
        {torus + "\"0+\" = \"eth 0\"\n", "geometry.toml:7: ", {"cannot be the name of a device"}},
        {torus + "\"0+\" = \"../../x\"\n",
         "geometry.toml:7: ",
         {"\"../../x\" cannot be the name of a device", "1 to 15 letters, digits"}},
        {torus + "\"0+\" = \"a/b\"\n", "geometry.toml:7: ", {"\"a/b\" cannot be the name"}},
        {torus + "\"0+\" = \"..\"\n", "geometry.toml:7: ", {"\"..\" cannot be the name"}},
        {torus + "\"0+\" = \"$(id)\"\n", "geometry.toml:7: ", {"\"$(id)\" cannot be the name"}},
        {torus + "\"0+\" = \"-batch\"\n", "geometry.toml:7: ", {"\"-batch\" cannot be the name"}},
        {torus + "\"0+\" = \"enp193s0f0np0.100\"\n",
         "geometry.toml:7: ",
         {"\"enp193s0f0np0.100\" cannot be the name of a device", "1 to 15 letters, digits"}},
        {torus + "[links.q1]\n\"0+\" = \"../x\"\n",
         "geometry.toml:8: ",
         {"\"../x\" cannot be the name of a device"}},
        {torus + "\"0+\" = \"a\"\n\"0-\" = \"b\"\n[links.q1]\n\"0+\" = \"b\"\n",
         "geometry.toml:10: ",
         {"of [links.\"q1\"] both have the device b"}},
        {torus + "\"0+\" = \"a\"\n[links.q7]\n\"0+\" = \"b\"\n",
         "geometry.toml:8: ",
         {"[links.\"q7\"]: this host is not in nodes.hosts"}},
        {torus + "\"0+\" = \"a\"\n[links.q3]\n\"0+\" = \"b\"\n",
         "geometry.toml:9: ",
         {"the host is at (3, 0), the edge of the open dimension 0"}},
        {torus + "[links.q1]\n\"1-\" = \"b\"\n",
         "geometry.toml:8: ",
         {"has size 1 and no links in dimension 1"}},
        {torus + "[links.q1]\n", "geometry.toml:7: ", {"q1 has no links"}},
        {torus + "[links.q1]\n\"0+\" = [\"b\"]\n", "geometry.toml:8: ", {"\"0+\" is [\"b\"]"}},
    });
}

TEST_CASE("Two nodes on one open cable may use one device for both ends") {
    const std::string text =
        "[torus]\ndims = [2]\nperiodic = [false]\n[nodes]\nhosts = \"q{0}\"\n"
        "[links]\n\"0+\" = \"eth0\"\n\"0-\" = \"eth0\"\n";
    CHECK(refusal(text).empty());
}

TEST_CASE("An edge host may reuse the device of a link that it does not have") {
    const std::string torus =
        "[torus]\ndims = [4]\nperiodic = [false]\n[nodes]\nhosts = \"q{0}\"\n"
        "[links]\n\"0+\" = \"a\"\n\"0-\" = \"b\"\n";
    CHECK(refusal(torus + "[links.q0]\n\"0+\" = \"b\"\n").empty());
    CHECK_FALSE(refusal(torus + "[links.q1]\n\"0+\" = \"b\"\n").empty());
}

}  // namespace geometry_fit_test
