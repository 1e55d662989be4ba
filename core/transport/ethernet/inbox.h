// SPDX-License-Identifier: BSD-3-Clause
// The packets that one end of a session has received: the next number, and those that came early.
//
// Owned by a Session and used under the Runtime's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/transport/api/memory.h"
#include "core/transport/api/packet.h"

namespace torusmp::transport::ethernet {

class Inbox {
  public:
    // More numbers than can be in flight: each packet and each return of credits needs a credit.
    static constexpr std::uint64_t span = 4096;

    enum class Place { next, early, repeated, beyond };
    Place place_of(std::uint64_t number) const;

    std::uint64_t next() const { return next_; }
    void advance() { ++next_; }
    // Returns a mask in which bit i is set if next() + 1 + i has arrived.
    std::uint64_t early() const;
    bool has_early() const { return kept_ != 0; }

    // Keeps records that came early.
    void keep(std::uint64_t number, CreditWord grants, ConstBytes front, ConstBytes rest);
    // Takes the next number if it was kept; returns false otherwise. The caller calls advance().
    bool take_next(CreditWord& grants, std::vector<std::byte>& records);

  private:
    struct Kept {
        bool there = false;
        CreditWord grants = 0;
        std::vector<std::byte> records;
    };
    bool has(std::uint64_t number) const { return kept_ != 0 && all_[number % span].there; }

    std::uint64_t next_ = 0;
    std::vector<Kept> all_;  // by number; empty until something arrives early
    std::size_t kept_ = 0;
};

}  // namespace torusmp::transport::ethernet
