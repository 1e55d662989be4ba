// SPDX-License-Identifier: BSD-3-Clause
// The long run of the protocol of Ethernet frames: ethernet_soak FRAMES [SEED]. Both ends send over
// a cable that loses 1 %, repeats 1 %, delays 1 %, damages 0.1 %, with one frame of an attacker in
// each hundred. Exit code 0: all packets arrived once, in order and unchanged.
#include <cstdio>
#include <cstdlib>

#include "frame_network.h"

using namespace torusmp::transport;
using namespace torusmp::transport::testing;

int main(int count, char** words) {
    if (count < 2) {
        std::fputs("usage: ethernet_soak FRAMES [SEED]\n", stderr);
        return 2;
    }
    const auto frames = std::strtoull(words[1], nullptr, 10);
    const auto seed = count > 2 ? std::strtoull(words[2], nullptr, 10) : 1;
    FrameNetwork network(
        seed, {.loss = 0.01, .repeat = 0.01, .delay = 0.01, .damage = 0.001, .attack = 0.01});
    const auto sent = [&] {
        return network.a().session.counters().sent + network.b().session.counters().sent;
    };
    std::mt19937_64 random(seed);
    while (sent() < frames) {
        for (FrameNetwork::End* it : {&network.a(), &network.b()})
            for (auto n = random() % 8; n > 0; --n) it->send_next(random() % 64);
        network.turn();
    }
    const bool all = network.turn_until(
        [&] { return network.a().got == network.b().sent && network.b().got == network.a().sent; });
    auto counted = network.a().session.counters();
    counted += network.b().session.counters();
    std::printf(
        "%llu frames, %llu sent again, %llu handed over, %llu came twice, %llu damaged, "
        "%llu forged, %llu attacks\n",
        (unsigned long long)counted.sent, (unsigned long long)counted.resent,
        (unsigned long long)counted.handed_over, (unsigned long long)counted.repeated,
        (unsigned long long)counted.damaged, (unsigned long long)counted.forged,
        (unsigned long long)network.attacks());
    const bool right = all && !network.a().wrong && !network.b().wrong &&
                       network.a().fault.empty() && network.b().fault.empty();
    if (!right) std::printf("WRONG: seed %llu\n", (unsigned long long)seed);
    return right ? 0 : 1;
}
