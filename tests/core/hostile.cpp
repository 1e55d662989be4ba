// SPDX-License-Identifier: BSD-3-Clause
#include "hostile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>

#include "core/packets.h"
#include "job.h"

namespace torusmp::core::testing {

using transport::PacketHeader;

namespace {

constexpr Rank us = 0;
constexpr Rank enemy = 1;
constexpr Rank friendly = 3;
constexpr std::uint32_t enemy_port = 0;  // the way 0+ leads to the enemy
constexpr std::size_t limit = 256;
constexpr std::size_t most_packets = 64;

struct Sending {
    std::vector<std::byte> bytes;
    SendRequest request;
};
// Exactly the length of the receive, so that sanitizers detect a byte too many.
struct Receiving {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0;
    ReceiveRequest request;
};

// A neighbour is believed when it says that a link is dead; that it could say so of the link
// between us and the friend is known, and not tested here.
bool names_our_link(const PacketHeader& header, transport::ConstBytes payload) {
    LinkBody body{};
    if (PacketKind(header.kind) != PacketKind::link_dead || payload.size() < sizeof body)
        return false;
    std::memcpy(&body, payload.data(), sizeof body);
    return (body.rank == std::uint32_t(us) && body.direction == 1) ||
           (body.rank == std::uint32_t(friendly) && body.direction == 0);
}

class Scene {
  public:
    explicit Scene(std::uint8_t setup) : job_(options((setup & 128) != 0)) {
        send(enemy, 40, 1, SendMode::standard);
        if ((setup & 1) != 0) send(enemy, 1000, 1, SendMode::standard);
        if ((setup & 2) != 0) send(enemy, 10, 1, SendMode::synchronous);
        if ((setup & 4) != 0) receive(enemy, 1000, 1);
        if ((setup & 8) != 0) receive(enemy, 50, 2);
        if ((setup & 16) != 0) {
            ReceiveFlow& flow = job_[us].flows().open_receive(enemy, 0, 0);
            for (int i = 0; i < 3; ++i) {
                receives_.emplace_back();
                prepare(receives_.back(), 1000);
                job_[us].flows().start(flow, receives_.back().request, buffer(receives_.back()));
            }
        }
        if ((setup & 32) != 0) {
            SendFlow& flow = job_[us].flows().open_send(enemy, 0, 0);
            sends_.emplace_back();
            sends_.back().bytes.resize(1000);
            job_[us].flows().start(flow, sends_.back().request, buffer(sends_.back()));
        }
        if ((setup & 64) != 0) receive(enemy, 700, any_tag);
        job_.settle();
        job_.capture(enemy);
    }

    void inject(const PacketHeader& header, transport::ConstBytes payload) {
        if (names_our_link(header, payload)) return;
        try {
            job_.world().inject(job_.interface(us, enemy_port), enemy_port, header, payload);
        } catch (const std::invalid_argument&) {
            return;  // the link is gone
        }
    }

    // A message each way between us and the friend, of every kind in turn.
    void exchange_with_friend() {
        const std::size_t bytes = exchanged_ % 3 == 0 ? 3 * limit : 20 + exchanged_;
        for (const Rank from : {us, friendly}) {
            const Rank to = from == us ? friendly : us;
            friendly_sends_.emplace_back();
            friendly_sends_.back().bytes.resize(bytes);
            fill(friendly_sends_.back().bytes.data(), bytes, exchanged_ * 2 + std::uint64_t(from));
            friendly_receives_.emplace_back();
            prepare(friendly_receives_.back(), bytes);
            job_[to].receive(friendly_receives_.back().request, buffer(friendly_receives_.back()),
                             from, 1, 5);
            job_[from].send(friendly_sends_.back().request, buffer(friendly_sends_.back()), to, 1,
                            5);
        }
        // And to oneself.
        friendly_sends_.emplace_back();
        friendly_sends_.back().bytes.resize(30);
        fill(friendly_sends_.back().bytes.data(), 30, exchanged_);
        friendly_receives_.emplace_back();
        prepare(friendly_receives_.back(), 30);
        job_[us].receive(friendly_receives_.back().request, buffer(friendly_receives_.back()), us,
                         1, 6);
        job_[us].send(friendly_sends_.back().request, buffer(friendly_sends_.back()), us, 1, 6);
        ++exchanged_;
    }

    void move(int turns) {
        while (turns-- > 0) job_.turn();
    }

    Outcome end() {
        job_.settle();
        Outcome outcome;
        for (std::size_t i = 0; i < friendly_sends_.size(); ++i) {
            const SendRequest& send = friendly_sends_[i].request;
            const Receiving& in = friendly_receives_[i];
            if (!send.complete() || !in.request.complete())
                outcome.broken = "a message of others does not arrive";
            else if (send.status().error != Error::none || in.request.status().error != Error::none)
                outcome.broken = "a message of others ends in an error";
            else if (in.request.status().bytes != friendly_sends_[i].bytes.size() ||
                     std::memcmp(in.bytes.get(), friendly_sends_[i].bytes.data(), in.size) != 0)
                outcome.broken = "a message of others was changed";
        }
        try {
            job_.world().kill_link(job_.interface(us, enemy_port), enemy_port);
        } catch (const std::invalid_argument&) {
        }
        job_.settle();
        for (const Sending& send : sends_)
            if (!send.request.complete()) outcome.broken = "a send to the attacker never ends";
        for (const Receiving& receive : receives_)
            if (!receive.request.complete()) outcome.broken = "a receive never ends";
        for (const std::string& line : job_.log()) {
            outcome.log += line + "\n";
            if (line.rfind("0: ", 0) == 0 && line.find("is closed") != std::string::npos &&
                line.find("was cut") == std::string::npos)
                outcome.closed = true;
        }
        for (const Sending& send : sends_)
            if (send.request.status().error == Error::protocol && send.request.peer() == enemy &&
                job_[us].state().why_failed(Error::protocol, enemy).find("is closed: ") ==
                    std::string::npos)
                outcome.broken = "an error of a message does not name the action of the attacker";
        if (!outcome.broken.empty()) outcome.log += job_.report();
        return outcome;
    }

  private:
    static JobOptions options(bool tolerates_deaths) {
        JobOptions options;
        options.tolerates_deaths = tolerates_deaths;
        options.dims = {4};
        options.seed = 5;
        options.eager_limit = limit;
        options.credits = 4;
        options.relay_credits = 2;
        return options;
    }
    static void prepare(Receiving& receive, std::size_t bytes) {
        receive.bytes.reset(new std::byte[bytes]());
        receive.size = bytes;
    }
    static Buffer buffer(Receiving& receive) { return {receive.bytes.get(), receive.size}; }
    static Buffer buffer(Sending& send) {
        return {static_cast<void*>(send.bytes.data()), send.bytes.size()};
    }
    void send(Rank to, std::size_t bytes, Tag tag, SendMode mode) {
        sends_.emplace_back();
        sends_.back().bytes.resize(bytes);
        job_[us].send(sends_.back().request, buffer(sends_.back()), to, 0, tag, mode);
    }
    void receive(Rank from, std::size_t bytes, Tag tag) {
        receives_.emplace_back();
        prepare(receives_.back(), bytes);
        job_[us].receive(receives_.back().request, buffer(receives_.back()), from, 0, tag);
    }

    std::deque<Sending> sends_;
    std::deque<Receiving> receives_;
    std::deque<Sending> friendly_sends_;
    std::deque<Receiving> friendly_receives_;
    std::uint64_t exchanged_ = 0;
    Job job_;  // last: gone before the requests
};

}  // namespace

Outcome attack(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return {};
    Scene scene(data[0]);
    std::size_t at = 1;
    std::size_t packets = 0;
    while (at + sizeof(PacketHeader) < size && packets < most_packets) {
        PacketHeader header;
        std::memcpy(&header, data + at, sizeof header);
        at += sizeof header;
        const std::size_t bytes = std::min<std::size_t>(8u * data[at], size - at - 1);
        ++at;
        scene.inject(header, std::as_bytes(std::span(data + at, bytes)));
        at += bytes;
        ++packets;
        scene.exchange_with_friend();
        scene.move(12);
    }
    Outcome outcome = scene.end();
    outcome.packets = packets;
    return outcome;
}

std::vector<std::uint8_t> attack_of(std::uint8_t scene, const std::vector<Forged>& packets) {
    std::vector<std::uint8_t> input{scene};
    for (const Forged& packet : packets) {
        const auto* header = reinterpret_cast<const std::uint8_t*>(&packet.header);
        input.insert(input.end(), header, header + sizeof packet.header);
        const std::size_t words = (packet.payload.size() + 7) / 8;
        input.push_back(std::uint8_t(words));
        for (std::size_t i = 0; i < 8 * words; ++i)
            input.push_back(i < packet.payload.size() ? std::uint8_t(packet.payload[i]) : 0);
    }
    return input;
}

std::vector<std::uint8_t> plausible_attack(transport::sim::Random& random) {
    // Ids as a Runtime gives them out, near to the first ones; now and then any number.
    const auto id = [&]() -> std::uint32_t {
        if (random.below(12) == 0) return std::uint32_t(random.next());
        return std::uint32_t(random.below(4)) | std::uint32_t(1 + random.below(2)) << 20;
    };
    const auto small = [&](std::uint64_t bound) -> std::uint32_t {
        return std::uint32_t(random.below(10) == 0 ? random.next() : random.below(bound));
    };
    std::uint32_t sequence = 0;
    std::vector<Forged> packets;
    const auto count = 1 + random.below(12);
    for (std::uint64_t n = 0; n < count; ++n) {
        Forged packet{};
        PacketHeader& header = packet.header;
        header.kind = std::uint8_t(small(std::uint64_t(PacketKind::last_kind) + 2));
        header.source = random.below(8) == 0 ? small(6) : std::uint32_t(enemy);
        header.destination = random.below(8) == 0 ? small(6) : std::uint32_t(us);
        header.virtual_channel = std::uint8_t(random.below(10) == 0 ? random.below(256) : 0);
        header.grants = random.below(12) == 0 ? random.next() : 0;
        header.transport_byte = std::uint8_t(random.below(8) == 0 ? random.next() : 0);
        header.hops = std::uint8_t(random.below(3));
        header.context = small(2);
        header.tag = std::int32_t(small(3));
        header.sequence = random.below(6) == 0 ? small(6) : sequence;
        if (is_sequenced(PacketKind(header.kind)) && header.sequence == sequence &&
            header.source == std::uint32_t(enemy))
            ++sequence;
        // Bodies are made of 32-bit words: ids, counts, lengths (with a high half of zero).
        const auto words = random.below(4) == 0 ? random.below(100) : 2 * random.below(13);
        for (std::uint64_t w = 0; w < words; ++w) {
            std::uint32_t word = 0;
            switch (random.below(5)) {
                case 0:
                    word = id();
                    break;
                case 1:
                    word = small(4);
                    break;
                case 2:
                    word = small(1200);
                    break;
                case 3:
                    word = 0;
                    break;
                default:
                    word = w % 2 == 0 ? id() : 0;
                    break;
            }
            const auto* bytes = reinterpret_cast<const std::byte*>(&word);
            packet.payload.insert(packet.payload.end(), bytes, bytes + sizeof word);
        }
        packets.push_back(std::move(packet));
    }
    std::vector<std::uint8_t> input = attack_of(std::uint8_t(random.next()), packets);
    if (random.below(6) == 0)
        for (auto flips = random.below(8); flips > 0; --flips)
            input[std::size_t(random.below(input.size()))] ^= std::uint8_t(1u << random.below(8));
    return input;
}

}  // namespace torusmp::core::testing
