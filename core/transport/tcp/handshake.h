// SPDX-License-Identifier: BSD-3-Clause
// How two interfaces of one job verify each other before a connection carries anything.
//
//   caller                                  listener
//     Hello: its id, ports, a nonce   --->
//                                     <---  Challenge: a nonce, and proof over both nonces
//     Proof: over both nonces         --->
//                                     <---  Verdict
// A proof (secret.h) covers everything sent before and its sender, so a recording of another
// connection proves nothing.
//
// A Handshake does not own a socket: it provides the bytes to write and takes the bytes read. One
// thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/transport/common/address.h"
#include "core/transport/common/secret.h"

namespace torusmp::transport::tcp {

struct Introduction {
    Id caller{};
    Id listener{};  // the one that the caller wants to reach
    std::uint32_t from_port = 0;
    std::uint32_t to_port = 0;
};

class Handshake {
  public:
    // Draws the nonce. The caller sends `introduction`; a listener sends none.
    static Handshake call(const Secret& secret, const Introduction& introduction);
    static Handshake listen(const Secret& secret, const Id& own);

    // The bytes to write next; written() removes those that have been written from the front.
    std::span<const std::byte> to_write() const {
        return std::span(outgoing_).subspan(written_count_);
    }
    void written(std::size_t bytes) { written_count_ += bytes; }
    // The most bytes that may be read before the next step: what follows does not belong to the
    // handshake.
    std::size_t wants() const { return wanted_ - incoming_.size(); }
    // Takes the bytes read. Returns false if no peer of this job would send them; why() has the
    // reason.
    bool read(std::span<const std::byte> bytes);

    // The caller has named this listener's id, which only members of the job know.
    bool introduced() const { return step_ != Step::hello; }
    // The listener has seen a valid proof and waits for accept() or refuse().
    bool proven() const { return step_ == Step::proven; }
    void accept() { give_verdict(1); }
    void refuse() { give_verdict(2); }

    bool finished() const { return step_ == Step::done && to_write().empty(); }
    // The listener already has a connection on that port, or will have a better one.
    bool refused() const { return step_ == Step::refused; }
    const Introduction& introduction() const { return introduction_; }
    const std::string& why() const { return why_; }

  private:
    enum class Step { hello, challenge, proof, proven, verdict, done, refused };
    using Nonce = std::array<std::byte, 32>;
    struct Hello;
    struct Challenge;

    explicit Handshake(const Secret& secret) : secret_(secret) {}
    void say(std::span<const std::byte> bytes);
    void expect(Step step, std::size_t bytes);
    bool step();
    bool read_hello();
    bool read_challenge();
    bool read_proof();
    bool read_verdict();
    void give_verdict(std::uint8_t verdict);
    Proof proof_of(bool by_caller) const;
    bool fail(std::string why);

    Secret secret_;
    Step step_ = Step::hello;
    Introduction introduction_;
    Nonce caller_nonce_{};
    Nonce listener_nonce_{};
    std::vector<std::byte> outgoing_;
    std::size_t written_count_ = 0;
    std::vector<std::byte> incoming_;
    std::size_t wanted_ = 0;
    std::string why_;
};

}  // namespace torusmp::transport::tcp
