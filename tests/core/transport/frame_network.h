// SPDX-License-Identifier: BSD-3-Clause
// Two sessions of the Ethernet transport and the network between them: a cable that loses, repeats,
// delays and damages frames according to a seed, a reliable connection, an attacker that sees every
// frame, and a simulated clock.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/transport/common/secret.h"
#include "core/transport/ethernet/session.h"

namespace torusmp::transport::testing {

struct CableFaults {
    double loss = 0, repeat = 0, delay = 0, damage = 0;
    double refusal = 0;  // the device takes no frame
    double attack = 0;   // frames of the attacker for each frame that is sent
};

class FrameNetwork {
  public:
    explicit FrameNetwork(std::uint64_t seed, CableFaults faults = {}, std::uint32_t mtu = 1500)
        : random_(seed), faults_(faults), a_(*this), b_(*this) {
        a_.peer = &b_;
        b_.peer = &a_;
        a_.greeting = greeting(11, mtu, random_());
        b_.greeting = greeting(22, mtu, random_());
        for (End* it : {&a_, &b_}) it->session.begin(secret(), it->greeting, it->peer->greeting);
    }

    struct End final : ethernet::Carrier {
        explicit End(FrameNetwork& in) : network(in) {}

        // ---- the program's part ----
        // The n-th packet has a length and bytes that follow from n.
        void send_next(std::size_t bytes, bool at_once = true) {
            PacketHeader header{};
            header.length = std::uint32_t(bytes);
            header.sequence = sent++;
            const auto payload = payload_of(header.sequence, bytes);
            if (session.send(header, {}, payload, at_once)) {
                ++in_frames;
                return;
            }
            Connected it;
            it.number = session.take_number();
            it.confirmed = session.tell_confirmed();
            it.is_packet = true;
            it.header = header;
            it.bytes = payload;
            peer->connection.push_back(std::move(it));
        }
        void grant(CreditWord credits) {
            granted += credits;
            if (!session.grant(credits, true)) peer->got_grants += credits;
        }
        void poll(std::size_t most = 64) {
            for (std::size_t i = 0; i < most && !connection.empty(); ++i) {
                const Connected it = std::move(connection.front());
                connection.pop_front();
                if (it.is_packet) {
                    session.take_confirmed(it.confirmed);
                    session.take_packet(it.number, it.header, it.bytes.data());
                } else {
                    session.take_records(it.number, it.grants, it.bytes);
                }
            }
            for (std::size_t i = 0; i < most && !ring.empty(); ++i) {
                const auto frame = std::move(ring.front());
                ring.pop_front();
                session.take_frame(frame.data(), frame.size());
            }
            if (session.should_confirm() || (ring.empty() && session.owes())) session.confirm();
            session.flush();
            session.tend(network.now_);
        }

        // ---- the session's surroundings ----
        bool send_frame(std::byte* frame, std::size_t bytes) override {
            return network.pass(*this, frame, bytes);
        }
        void send_records(std::uint64_t number, CreditWord grants, ConstBytes records) override {
            peer->connection.push_back(
                {number, grants, false, 0, {}, {records.begin(), records.end()}});
        }
        int on_record(const PacketHeader& header, const std::byte* payload) override {
            if (header.sequence != got) wrong = true;
            const auto expected = payload_of(header.sequence, header.length);
            if (!std::equal(expected.begin(), expected.end(), payload)) wrong = true;
            ++got;
            return 1;
        }
        void on_grants(CreditWord grants) override { got_grants += grants; }
        void on_fault(std::string_view why) override { fault = why; }

        struct Connected {
            std::uint64_t number = 0;
            CreditWord grants = 0;
            bool is_packet = false;
            std::uint64_t confirmed = 0;
            PacketHeader header{};
            std::vector<std::byte> bytes;
        };

        FrameNetwork& network;
        End* peer = nullptr;
        ethernet::Greeting greeting{};
        ethernet::Session session{*this};
        std::deque<std::vector<std::byte>> ring;  // frames that have come
        std::deque<Connected> connection;         // what has come over the connection
        std::size_t deepest_ring = 0;
        std::uint32_t sent = 0, got = 0, in_frames = 0;
        CreditWord granted = 0, got_grants = 0;
        bool wrong = false;
        std::string fault;
    };

    End& a() { return a_; }
    End& b() { return b_; }
    CableFaults& faults() { return faults_; }
    Clock::time_point now() const { return now_; }

    // Time passes, and delayed frames arrive.
    void step(std::chrono::microseconds time = std::chrono::microseconds(10)) {
        now_ += time;
        for (std::size_t i = 0; i < late_.size();) {
            if (late_[i].at > now_) {
                ++i;
                continue;
            }
            arrive(*late_[i].to, std::move(late_[i].frame));
            late_[i] = std::move(late_.back());
            late_.pop_back();
        }
    }
    void turn(std::chrono::microseconds time = std::chrono::microseconds(10)) {
        a_.poll();
        b_.poll();
        step(time);
    }
    template <class Done>
    bool turn_until(Done&& done, int most = 200'000) {
        for (int i = 0; i < most && !done(); ++i) turn();
        return done();
    }
    bool meet() {
        return turn_until([&] { return a_.session.in_frames() && b_.session.in_frames(); });
    }
    // Puts a frame into an end's ring.
    void inject(End& to, std::vector<std::byte> frame) { arrive(to, std::move(frame)); }
    std::uint64_t attacks() const { return attacks_; }

    static Secret secret() { return derive_secret(std::as_bytes(std::span("the job's", 9))); }

  private:
    struct Late {
        Clock::time_point at;
        End* to;
        std::vector<std::byte> frame;
    };

    static ethernet::Greeting greeting(std::uint32_t session, std::uint32_t mtu,
                                       std::uint64_t nonce) {
        ethernet::Greeting it{};
        it.version = ethernet::frame_version;
        it.session = session;
        it.mtu = mtu;
        std::memcpy(it.nonce.data(), &nonce, sizeof nonce);
        return it;
    }
    static std::vector<std::byte> payload_of(std::uint32_t number, std::size_t bytes) {
        std::vector<std::byte> payload(bytes);
        std::uint32_t state = number * 2654435761u + 1;
        for (std::byte& it : payload) {
            state = state * 1664525u + 1013904223u;
            it = std::byte(state >> 24);
        }
        return payload;
    }
    bool happens(double chance) {
        return chance > 0 && std::uniform_real_distribution<double>(0, 1)(random_) < chance;
    }
    std::size_t below(std::size_t limit) { return std::size_t(random_() % limit); }

    bool pass(End& from, const std::byte* frame, std::size_t bytes) {
        if (happens(faults_.refusal)) return false;
        End& to = *from.peer;
        std::vector<std::byte> whole(frame, frame + bytes);
        if (happens(faults_.attack)) attack(to, whole);
        if (happens(faults_.loss)) return true;
        if (happens(faults_.repeat)) arrive(to, whole);
        if (happens(faults_.damage)) whole[below(whole.size())] ^= std::byte(1u << below(8));
        if (happens(faults_.delay))
            late_.push_back({now_ + std::chrono::microseconds(below(300)), &to, std::move(whole)});
        else
            arrive(to, std::move(whole));
        return true;
    }
    void arrive(End& to, std::vector<std::byte> frame) {
        to.ring.push_back(std::move(frame));
        to.deepest_ring = std::max(to.deepest_ring, to.ring.size());
    }
    // The attacker has seen every frame, and does not know the secret.
    void attack(End& to, const std::vector<std::byte>& seen) {
        ++attacks_;
        if (tape_.size() < 64)
            tape_.push_back(seen);
        else
            tape_[below(tape_.size())] = seen;
        auto frame = tape_[below(tape_.size())];
        switch (below(6)) {
            case 0:  // replayed
                break;
            case 1:  // with a number that is wanted, and the right checksum, but no tag
            {
                ethernet::FrameHeader header;
                std::memcpy(&header, frame.data(), sizeof header);
                header.number = below(1 << 20);
                header.confirmed = below(1 << 20);
                std::memcpy(frame.data(), &header, sizeof header);
                stranger_.close(frame.data());
                break;
            }
            case 2:
                frame.resize(below(frame.size()));
                break;
            case 3:  // longer than any
                frame.resize(frame.size() + 1 + below(4000), std::byte{0x5a});
                break;
            case 4:
                for (std::byte& it : frame) it = std::byte(random_());
                break;
            case 5:  // a length that leads out of the frame
            {
                const auto length = std::uint16_t(0xfff8 - 8 * below(100));
                std::memcpy(frame.data() + offsetof(ethernet::FrameHeader, length), &length,
                            sizeof length);
                break;
            }
        }
        arrive(to, std::move(frame));
    }

    std::mt19937_64 random_;
    CableFaults faults_;
    Clock::time_point now_{std::chrono::hours(1)};
    std::vector<Late> late_;
    std::vector<std::vector<std::byte>> tape_;
    ethernet::Seal stranger_;  // keyed with nothing
    std::uint64_t attacks_ = 0;
    End a_;
    End b_;
};

}  // namespace torusmp::transport::testing
