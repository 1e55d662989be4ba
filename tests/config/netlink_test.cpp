// SPDX-License-Identifier: BSD-3-Clause
// Requests to the kernel over netlink, and parts of answers, complete and truncated.
#include "base/netlink.h"

#include <net/if.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

namespace netlink_test {

using namespace torusmp::base;

namespace {

// A request for all devices, or a request of a type that does not exist.
struct Question {
    nlmsghdr head{};
    ifinfomsg body{};

    Question(unsigned type, unsigned flags) {
        head.nlmsg_len = sizeof *this;
        head.nlmsg_type = std::uint16_t(type);
        head.nlmsg_flags = std::uint16_t(NLM_F_REQUEST | flags);
    }
};

std::vector<std::string> names_in(const nlmsghdr& answer) {
    std::vector<std::string> names;
    attributes_of<ifinfomsg>(answer, [&](unsigned type, std::span<const std::byte> contents) {
        if (type == IFLA_IFNAME) names.emplace_back(reinterpret_cast<const char*>(contents.data()));
    });
    return names;
}

}  // namespace

TEST_CASE("The kernel's answer is read completely, up to an error or the acknowledgement") {
    Netlink kernel(NETLINK_ROUTE);
    for (int again = 0; again < 2; ++again) {
        std::vector<std::string> names;
        REQUIRE(kernel.ask(Question(RTM_GETLINK, NLM_F_DUMP).head, [&](const nlmsghdr& answer) {
            CHECK(answer.nlmsg_type == RTM_NEWLINK);
            for (const std::string& name : names_in(answer)) names.push_back(name);
        }) == 0);
        CHECK(std::count(names.begin(), names.end(), "lo") == 1);
    }
    Question one(RTM_GETLINK, NLM_F_ACK);
    one.body.ifi_index = int(if_nametoindex("lo"));
    int answers = 0;
    CHECK(kernel.ask(one.head, [&](const nlmsghdr& answer) {
        ++answers;
        CHECK(body_of<ifinfomsg>(answer).ifi_index == one.body.ifi_index);
    }) == 0);
    CHECK(answers == 1);
    one.body.ifi_index = 0x7ffffff;
    CHECK(kernel.ask(one.head) == ENODEV);
    CHECK(kernel.ask(Question(RTM_MAX, 0).head) == EOPNOTSUPP);
}

TEST_CASE("Truncated messages and attributes are ignored") {
    alignas(nlmsghdr) std::array<std::byte, 64> memory{};
    auto& head = *reinterpret_cast<nlmsghdr*>(memory.data());
    head.nlmsg_len = NLMSG_LENGTH(sizeof(ifinfomsg)) + RTA_LENGTH(4);
    auto* const attribute =
        reinterpret_cast<rtattr*>(memory.data() + NLMSG_LENGTH(sizeof(ifinfomsg)));
    *attribute = {std::uint16_t(RTA_LENGTH(4)), RTA_OIF | NLA_F_NESTED};
    const std::uint32_t number = 7;
    std::memcpy(RTA_DATA(attribute), &number, sizeof number);
    const auto look = [&](std::size_t bytes) {
        std::vector<std::uint32_t> found;
        messages_in(std::span(memory).first(bytes), [&](const nlmsghdr& message) {
            attributes_of<ifinfomsg>(message, [&](unsigned type, auto contents) {
                CHECK(type == RTA_OIF);
                found.push_back(number_in(contents));
            });
            return true;
        });
        return found;
    };
    CHECK(look(head.nlmsg_len) == std::vector{number});
    for (std::size_t bytes = 0; bytes < head.nlmsg_len; ++bytes) CHECK(look(bytes).empty());
    attribute->rta_len = std::uint16_t(RTA_LENGTH(8));  // longer than the message
    CHECK(look(head.nlmsg_len).empty());
    attribute->rta_len = 2;  // shorter than itself
    CHECK(look(head.nlmsg_len).empty());
    attribute->rta_len = std::uint16_t(RTA_LENGTH(2));
    CHECK(look(head.nlmsg_len) == std::vector{std::uint32_t(0)});
}

}  // namespace netlink_test
