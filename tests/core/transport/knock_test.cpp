// SPDX-License-Identifier: BSD-3-Clause
// The question whether a kernel answers, for transports whose own packets only processes answer.
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "core/transport/common/knock.h"

using namespace torusmp;
using namespace torusmp::transport;

namespace knock_test {
namespace {

Pair over_loopback(std::uint8_t last) {
    Pair pair;
    pair.own.bytes = {127, 0, 0, 1};
    pair.peer.bytes = {127, 0, 0, last};
    return pair;
}

bool answered_in_the_end(Knock& knock, const Pair& pair, const char* device) {
    for (int n = 0; n < 50; ++n) {
        if (knock.answered(pair, device)) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
}

}  // namespace

TEST_CASE("a kernel answers although no socket listens, and only over the device of the question",
          "[knock]") {
    Knock knock;
    CHECK(answered_in_the_end(knock, over_loopback(2), "lo"));
    Knock elsewhere;
    CHECK_FALSE(answered_in_the_end(elsewhere, over_loopback(2), "nothing0"));
    Pair unused_address = over_loopback(2);
    unused_address.peer.bytes = {192, 0, 2, 1};  // for documentation: no host has it
    CHECK_FALSE(answered_in_the_end(elsewhere, unused_address, "lo"));
}

}  // namespace knock_test
