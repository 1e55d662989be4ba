// SPDX-License-Identifier: BSD-3-Clause
// The relay between processes, over the transport of the settings: ranks that do not share a cable
// communicate through others.
//
//   torus-run -np 8 --torus 2x2x2 --set transport.local=links --set transport.tokens=2
//       --set transport.relay_tokens=2 relay_soak_job [--messages N] [--seed S]
//       [--most BYTES]
//
// All ranks draw the same random messages from the seed: source, destination, size, contents. Each
// sends its own in order, a window at a time, and checks that the messages from each source are
// whole and in order. --most limits the sizes. Rank 0 prints the cost of a hop, and each rank the
// counters of its transports.
//
// Exit code: 0 success, 1 failure.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "core/api.h"
#include "job/process.h"

using namespace torusmp;

namespace {

constexpr std::size_t largest = 70'000;
constexpr std::size_t send_window = 16;
constexpr std::size_t receive_window = 4;  // of each source

std::uint64_t mixed(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

struct Message {
    std::uint64_t number;
    int source;
    int destination;
    std::size_t bytes;

    Message(std::uint64_t seed, std::uint64_t which, int ranks, std::size_t most) : number(which) {
        const std::uint64_t a = mixed(seed + 2 * which);
        const std::uint64_t b = mixed(seed + 2 * which + 1);
        source = int(a % std::uint64_t(ranks));
        destination = int((a >> 32) % std::uint64_t(ranks));
        // Mostly small, one in fifty up to the largest, which goes by remote write or in pieces.
        bytes = 8 + (b >> 8) % ((b & 0xff) < 5 ? largest - 8 : 2000);
        bytes = std::min(bytes, most);
    }
    std::byte filler() const { return std::byte(mixed(number) & 0xff); }
    void fill(std::byte* memory) const {
        std::memcpy(memory, &number, sizeof number);
        std::memset(memory + sizeof number, int(filler()), bytes - sizeof number);
    }
    bool is(const std::byte* memory) const {
        if (std::memcmp(memory, &number, sizeof number) != 0) return false;
        for (std::size_t i = sizeof number; i < bytes; ++i)
            if (memory[i] != filler()) return false;
        return true;
    }
};

struct Settings {
    std::uint64_t messages = 20'000;
    std::uint64_t seed = 1;
    std::size_t most = largest;  // bytes of a message
};

Settings parse(int argc, char** argv) {
    Settings settings;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string option = argv[i];
        if (option == "--messages")
            settings.messages = std::stoull(argv[i + 1]);
        else if (option == "--seed")
            settings.seed = std::stoull(argv[i + 1]);
        else if (option == "--most")
            settings.most = std::max(sizeof(std::uint64_t), std::size_t(std::stoull(argv[i + 1])));
        else
            throw std::invalid_argument("unknown option " + option);
    }
    return settings;
}

class Soak {
  public:
    Soak(core::Runtime& runtime, const Settings& settings)
        : runtime_(runtime), incoming_(std::size_t(runtime.size())) {
        for (std::uint64_t i = 0; i < settings.messages; ++i) {
            const Message m(settings.seed, i, runtime.size(), settings.most);
            if (m.source == runtime.rank()) outgoing_.push_back(m);
            if (m.destination != runtime.rank()) continue;
            incoming_[std::size_t(m.source)].messages.push_back(m);
        }
        for (std::size_t source = 0; source < incoming_.size(); ++source)
            for (std::size_t i = 0; i < receive_window; ++i) post(int(source), i);
    }

    // False while there is more to do.
    bool advance() {
        for (std::size_t i = 0; i < send_window; ++i) {
            Slot<core::SendRequest>& slot = sends_[i];
            if (!slot.request.complete() || sent_ == outgoing_.size()) continue;
            const Message& message = outgoing_[sent_++];
            message.fill(slot.memory.data());
            runtime_.send(slot.request, {slot.memory.data(), message.bytes}, message.destination, 1,
                          0);
        }
        bool all = sent_ == outgoing_.size();
        for (const auto& slot : sends_) all &= slot.request.complete();
        for (std::size_t source = 0; source < incoming_.size(); ++source) all &= take(int(source));
        return all;
    }
    bool right() const { return right_; }
    std::uint64_t hops() const {
        std::uint64_t total = 0;
        for (const Message& m : outgoing_)
            total += std::uint64_t(runtime_.torus().distance(m.source, m.destination));
        return total;
    }

  private:
    template <class Request>
    struct Slot {
        Request request;
        std::vector<std::byte> memory = std::vector<std::byte>(largest);
    };
    struct Source {
        std::vector<Message> messages;
        std::size_t posted = 0;
        std::size_t taken = 0;
        std::array<Slot<core::ReceiveRequest>, receive_window> slots;
    };

    void post(int source, std::size_t slot) {
        Source& from = incoming_[std::size_t(source)];
        if (from.posted == from.messages.size()) return;
        ++from.posted;
        runtime_.receive(from.slots[slot].request, {from.slots[slot].memory.data(), largest},
                         source, 1, 0);
    }

    // Checks what has come from one source, in order. True if that was everything.
    bool take(int source) {
        Source& from = incoming_[std::size_t(source)];
        while (from.taken < from.posted) {
            const std::size_t slot = from.taken % receive_window;
            const auto& receive = from.slots[slot];
            if (!receive.request.complete()) return false;
            const Message& expected = from.messages[from.taken++];
            if (receive.request.status().error != core::Error::none ||
                receive.request.status().bytes != expected.bytes ||
                !expected.is(receive.memory.data())) {
                fmt::print(stderr, "rank {}: message {} of rank {}: {} B, expected {} B: {}\n",
                           runtime_.rank(), expected.number, source, receive.request.status().bytes,
                           expected.bytes, core::describe(receive.request.status().error));
                right_ = false;
            }
            post(source, slot);
        }
        return true;
    }

    core::Runtime& runtime_;
    std::vector<Message> outgoing_;
    std::size_t sent_ = 0;
    std::array<Slot<core::SendRequest>, send_window> sends_;
    std::vector<Source> incoming_;
    bool right_ = true;
};

// Prints the counters of the transports, which are lines of the report.
void print_counts(core::Runtime& runtime) {
    std::istringstream report(runtime.state().report());
    for (std::string line; std::getline(report, line);)
        if (line.find("verbs: ") != std::string::npos ||
            line.find("shortcuts: ") != std::string::npos ||
            line.find("ethernet: ") != std::string::npos)
            fmt::print("rank {}: {}\n", runtime.rank(), line);
}

int run(const Settings& settings) {
    const auto process = job::Process::acquire(false);
    core::Runtime& runtime = process->runtime();

    Soak soak(runtime, settings);
    const auto begin = std::chrono::steady_clock::now();
    runtime.wait_until([&] { return soak.advance(); }, "soak");
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;

    // All stay until all have everything, and relay meanwhile.
    const std::uint64_t done[2] = {soak.hops(), soak.right() ? 1u : 0u};
    std::vector<std::array<std::uint64_t, 2>> all(std::size_t(runtime.size()));
    std::vector<core::SendRequest> sends(std::size_t(runtime.size()));
    std::vector<core::ReceiveRequest> receives(std::size_t(runtime.size()));
    for (int r = 0; r < runtime.size(); ++r)
        runtime.receive(receives[std::size_t(r)], {all[std::size_t(r)].data(), 16}, r, 2, 0);
    for (int r = 0; r < runtime.size(); ++r)
        runtime.send(sends[std::size_t(r)], {done, 16}, r, 2, 0);
    for (auto& receive : receives) runtime.wait(receive);
    runtime.wait_until([&] { return runtime.state().quiet(); }, "quiet");

    std::uint64_t hops = 0;
    bool right = true;
    for (const auto& one : all) {
        hops += one[0];
        right &= one[1] == 1;
    }
    if (runtime.rank() == 0)
        fmt::print(
            "{}: {} messages over {} links, {} credit(s) per virtual channel, {}: {:.2f} s, {:.2f} "
            "us a hop\n",
            runtime.torus().describe(), settings.messages, hops, runtime.options().credits,
            right ? "all right and in order" : "WRONG", seconds.count(),
            1e6 * seconds.count() / double(std::max<std::uint64_t>(hops, 1)));
    print_counts(runtime);
    process->leave();
    return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(parse(argc, argv));
    } catch (const std::exception& error) {
        fmt::print(stderr, "relay_soak_job: {}\n", error.what());
        return 2;
    }
}
