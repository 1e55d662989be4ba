// SPDX-License-Identifier: BSD-3-Clause
// One cable between two verbs interfaces, and the time limits of tests for its events.
#pragma once

#include <chrono>
#include <functional>
#include <initializer_list>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "recorder.h"
#include "verbs_pair.h"

namespace torusmp::transport::testing {

inline constexpr std::size_t slot_bytes = 16384;
inline constexpr auto patience = std::chrono::seconds(30);

inline PortOptions port(std::uint32_t number, int credits = 8) {
    PortOptions options{number, 1, {}, slot_bytes};
    options.credits[0] = std::uint8_t(credits);
    return options;
}

// Polls all of them until done() or, if a test fails, until patience runs out.
template <class Done>
bool pump(std::initializer_list<std::pair<verbs::VerbsInterface*, Recorder*>> all, Done&& done) {
    const auto end = Clock::now() + patience;
    while (!done()) {
        if (Clock::now() > end) return false;
        for (const auto& [interface, recorder] : all) interface->poll(*recorder);
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    return true;
}

// One cable, port 0 of a to port 1 of b.
struct Cable {
    explicit Cable(std::size_t cache = 1u << 30, std::function<void(std::string_view)> log = {})
        : a(std::vector{port(0)}, options("a", verbs_devices().first, cache, log)),
          b(std::vector{port(1)}, options("b", verbs_devices().second, cache, log)),
          to_b(a.connect(b.address(), {0, 1, true})),
          to_a(b.connect(a.address(), {1, 0, true})) {}

    static verbs::InterfaceOptions options(const char* host, const std::string& device,
                                           std::size_t cache,
                                           std::function<void(std::string_view)> log) {
        auto made = verbs_options(host, device, {port(0), port(1)});
        made.cache = cache;
        made.log = std::move(log);
        return made;
    }
    template <class Done>
    bool turn_until(Done&& done) {
        return pump({{&a, &at_a}, {&b, &at_b}}, std::forward<Done>(done));
    }
    // Writes `data` into b's memory and waits until it is there.
    bool write(Bytes into, const std::vector<std::byte>& data) {
        const RemoteMemory remote = b.register_memory(into, &to_a);
        const std::size_t notices = at_b.notices.size();
        const std::size_t transfers = at_a.transfers.size();
        const bool sent =
            testing::write(to_b, remote, 0, data, 5, 6) == Transfer::pending && turn_until([&] {
                return at_b.notices.size() > notices && at_a.transfers.size() > transfers;
            });
        b.deregister_memory(remote);
        return sent;
    }

    verbs::VerbsInterface a;
    verbs::VerbsInterface b;
    Channel& to_b;
    Channel& to_a;
    Recorder at_a;
    Recorder at_b;
};

}  // namespace torusmp::transport::testing
