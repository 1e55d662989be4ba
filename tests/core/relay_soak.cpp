// SPDX-License-Identifier: BSD-3-Clause
// Random messages of random sizes between random pairs of a torus, over simulated links with two
// credits per virtual channel: all arrive, in order, without deadlock. Prints progress and the cost
// of a hop.
//
//   relay_soak [--torus 4x4x4] [--open 0,1,0] [--messages 1000000] [--credits 2] [--seed 1]
//   [--large] [--place] [--link-transports 0]
//
// Environment: RELAY_SOAK_MESSAGES is the default of --messages. Exit code: 0 all messages arrived,
// 1 not, 2 bad arguments.

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>

#include "soak.h"
#include "traffic.h"

using namespace torusmp;
using namespace torusmp::core::testing;

namespace {

struct Arguments {
    std::vector<int> dims{4, 4, 4};
    std::vector<bool> periodic;
    std::uint64_t messages = 1'000'000;
    int credits = 2;
    std::uint64_t seed = 1;
    bool large = false;
    bool place = false;
    int link_transports = 0;
};

constexpr const char* usage =
    "usage: relay_soak [--torus DIMS] [--open FLAGS] [--messages N] [--credits N] [--seed N] "
    "[--large] [--place] [--link-transports N]\n"
    "  --torus 3x5x2     dimensions of the torus\n"
    "  --open 0,1,0      1 for each dimension that does not wrap around\n"
    "  --messages N      how many messages; default RELAY_SOAK_MESSAGES or 1000000\n"
    "  --credits N        credits of each virtual channel of each link, 2 to 120\n"
    "  --large           a tenth of the messages larger than the eager limit\n"
    "  --place           the last hop of their packets writes into the receiver's memory\n"
    "  --link-transports N         transports that share the links; 0 to 3\n"
    "example: relay_soak --torus 3x5x2 --messages 20000\n";

Arguments parse(int argc, char** argv) {
    Arguments arguments;
    if (const char* messages = std::getenv("RELAY_SOAK_MESSAGES"))
        arguments.messages = whole_number("RELAY_SOAK_MESSAGES", messages);
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        if (name == "--large" || name == "--place") {
            (name == "--large" ? arguments.large : arguments.place) = true;
            continue;
        }
        if (name != "--torus" && name != "--open" && name != "--messages" && name != "--credits" &&
            name != "--seed" && name != "--link-transports")
            throw std::invalid_argument(fmt::format("unknown argument '{}'", name));
        if (i + 1 == argc) throw std::invalid_argument(name + ": its value is missing");
        const std::string value = argv[++i];
        if (name == "--torus")
            arguments.dims = routing::parse_dims(value);
        else if (name == "--open")
            for (const char c : value) {
                if (c != ',') arguments.periodic.push_back(c == '0');
            }
        else if (name == "--messages")
            arguments.messages = whole_number(name, value);
        else if (name == "--credits")
            arguments.credits = int(whole_number(name, value));
        else if (name == "--link-transports")
            arguments.link_transports = int(whole_number(name, value));
        else
            arguments.seed = whole_number(name, value);
    }
    return arguments;
}

std::size_t large_length(core::testing::sim::Random& random, std::size_t eager_limit) {
    return random.below(10) == 0 ? eager_limit + std::size_t(random.below(8 * eager_limit))
                                 : std::size_t(random.below(128));
}

int soak(const Arguments& arguments) {
    JobOptions job;
    job.dims = arguments.dims;
    job.periodic = arguments.periodic;
    job.seed = arguments.seed;
    job.credits = job.relay_credits = arguments.credits;
    job.world.places = arguments.place;
    job.link_transports = arguments.link_transports;
    TrafficOptions traffic_options;
    traffic_options.messages = arguments.messages;
    if (arguments.large) traffic_options.length = large_length;
    Traffic traffic(job, traffic_options);

    const bool terminal = isatty(STDERR_FILENO) != 0;
    const auto began = std::chrono::steady_clock::now();
    const auto seconds = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    };
    std::uint64_t shown = 0;
    const bool arrived = traffic.run([&](std::uint64_t count) {
        const std::uint64_t tenth = count * 10 / arguments.messages;
        if (tenth == shown && !terminal) return;
        shown = tenth;
        fmt::print(stderr, "{}{} of {} messages, {:.1f} s{}", terminal ? "\r" : "", count,
                   arguments.messages, seconds(), terminal ? "" : "\n");
    });
    if (terminal) fmt::print(stderr, "\n");
    if (!arrived) {
        fmt::print(stderr, "relay_soak: stopped, seed {}: {}\n", arguments.seed, traffic.stuck());
        return 1;
    }
    traffic.job().settle();
    const auto& counters = traffic.job().world().counters();
    // No rank dies here, so each payload that is put into memory finds it open.
    const bool home = traffic.job().credits_home() && traffic.job().quiet() &&
                      counters.misplaced == 0 && (counters.placed != 0) == arguments.place;
    const double time = seconds();
    const double busy = double(std::clock()) / CLOCKS_PER_SEC;  // others may share the machine
    fmt::print(
        "relay_soak {} credits={} seed={}: {} messages arrived in order over {} links in {:.1f} s "
        "({:.1f} s of CPU)\n"
        "  {} packets, {} held, {} placed, {} misplaced; CPU: {:.2f} us a message, {:.2f} us a "
        "hop, {:.2f} us a packet\n"
        "  virtual time {:.3f} ms, {:.0f} ns a message; credits {}\n",
        traffic.job().torus().describe(), arguments.credits, arguments.seed, traffic.arrived(),
        traffic.hops(), time, busy, counters.packets, counters.held, counters.placed,
        counters.misplaced, 1e6 * busy / double(traffic.arrived()),
        1e6 * busy / double(traffic.hops()), 1e6 * busy / double(counters.packets),
        double(traffic.job().world().now().count()) / 1e6,
        double(traffic.job().world().now().count()) / double(traffic.arrived()),
        home ? "all home" : "or places missing");
    if (!home) fmt::print(stderr, "relay_soak: {}\n", traffic.job().report());
    return home ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    std::optional<Arguments> arguments;
    try {
        arguments = parse(argc, argv);
        if (arguments->messages == 0) throw std::invalid_argument("--messages: found 0");
        return soak(*arguments);
    } catch (const std::invalid_argument& error) {
        fmt::print(stderr, "relay_soak: {}\n{}", error.what(), usage);
        return 2;
    } catch (const std::exception& error) {
        fmt::print(stderr, "relay_soak: {}\n", error.what());
        return 1;
    }
}
