// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/tcp/handshake.h"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>
#include <utility>

#include "core/transport/api/packet.h"

namespace torusmp::transport::tcp {
namespace {

constexpr std::array<char, 8> greeting{'t', 'o', 'r', 'u', 's', 'm', 'p', '\0'};

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
    return std::as_bytes(std::span(&value, 1));
}

}  // namespace

struct Handshake::Hello {
    std::array<char, 8> greeting;
    std::uint32_t version;
    std::uint32_t from_port;
    std::uint32_t to_port;
    std::uint32_t unused;
    Id caller;
    Id listener;
    Nonce nonce;
};

struct Handshake::Challenge {
    Nonce nonce;
    Proof proof;
};

Handshake Handshake::call(const Secret& secret, const Introduction& introduction) {
    static_assert(sizeof(Hello) == 88 && sizeof(Challenge) == 64);
    Handshake handshake(secret);
    handshake.introduction_ = introduction;
    draw(handshake.caller_nonce_);
    const Hello hello{
        greeting, wire_version,        introduction.from_port, introduction.to_port,
        0,        introduction.caller, introduction.listener,  handshake.caller_nonce_};
    handshake.say(bytes_of(hello));
    handshake.expect(Step::challenge, sizeof(Challenge));
    return handshake;
}

Handshake Handshake::listen(const Secret& secret, const Id& own) {
    Handshake handshake(secret);
    handshake.introduction_.listener = own;
    draw(handshake.listener_nonce_);
    handshake.expect(Step::hello, sizeof(Hello));
    return handshake;
}

void Handshake::say(std::span<const std::byte> bytes) {
    outgoing_.erase(outgoing_.begin(), outgoing_.begin() + std::ptrdiff_t(written_count_));
    written_count_ = 0;
    outgoing_.insert(outgoing_.end(), bytes.begin(), bytes.end());
}

void Handshake::expect(Step step, std::size_t bytes) {
    step_ = step;
    wanted_ = bytes;
    incoming_.clear();
}

bool Handshake::fail(std::string why) {
    why_ = std::move(why);
    return false;
}

bool Handshake::read(std::span<const std::byte> bytes) {
    incoming_.insert(incoming_.end(), bytes.begin(), bytes.end());
    return wants() != 0 || step();
}

bool Handshake::step() {
    switch (step_) {
        case Step::hello:
            return read_hello();
        case Step::challenge:
            return read_challenge();
        case Step::proof:
            return read_proof();
        case Step::verdict:
            return read_verdict();
        default:
            return true;
    }
}

bool Handshake::read_hello() {
    Hello hello;
    std::memcpy(&hello, incoming_.data(), sizeof hello);
    if (hello.greeting != greeting) return fail("it does not speak torusmp");
    if (hello.version != wire_version)
        return fail(fmt::format("it speaks version {} of the wire format, expected {}",
                                hello.version, wire_version));
    if (hello.listener != introduction_.listener) return fail("it expects another rank");
    introduction_.caller = hello.caller;
    introduction_.from_port = hello.from_port;
    introduction_.to_port = hello.to_port;
    caller_nonce_ = hello.nonce;
    say(bytes_of(Challenge{listener_nonce_, proof_of(false)}));
    expect(Step::proof, sizeof(Proof));
    return true;
}

bool Handshake::read_challenge() {
    Challenge challenge;
    std::memcpy(&challenge, incoming_.data(), sizeof challenge);
    listener_nonce_ = challenge.nonce;
    if (!same(challenge.proof, proof_of(false))) return fail("it does not know the job's secret");
    say(bytes_of(proof_of(true)));
    expect(Step::verdict, 1);
    return true;
}

bool Handshake::read_proof() {
    Proof proof;
    std::memcpy(proof.data(), incoming_.data(), sizeof proof);
    if (!same(proof, proof_of(true))) return fail("it does not know the job's secret");
    expect(Step::proven, 0);
    return true;
}

bool Handshake::read_verdict() {
    const auto verdict = std::to_integer<int>(incoming_[0]);
    if (verdict != 1 && verdict != 2) return fail("it sent an invalid end of the handshake");
    expect(verdict == 1 ? Step::done : Step::refused, 0);
    return true;
}

void Handshake::give_verdict(std::uint8_t verdict) {
    say(bytes_of(verdict));
    expect(verdict == 1 ? Step::done : Step::refused, 0);
}

Proof Handshake::proof_of(bool by_caller) const {
    struct {
        std::array<char, 8> greeting;
        std::uint32_t version;
        std::uint32_t by_caller;
        Introduction introduction;
        Nonce caller;
        Nonce listener;
    } said{greeting,      wire_version,  by_caller ? 1u : 0u,
           introduction_, caller_nonce_, listener_nonce_};
    static_assert(sizeof said == 120);
    return prove(secret_, bytes_of(said));
}

}  // namespace torusmp::transport::tcp
