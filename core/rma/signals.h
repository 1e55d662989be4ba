// SPDX-License-Identifier: BSD-3-Clause
// The steps of epochs that the members of one host signal to each other: counts in memory that all
// of them have mapped. So a signal needs no packet, and a rank that sleeps is woken only by the
// last signal that it waits for.
//
// Any thread of any process may call, but for what only the owner calls.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace torusmp::core::rma {

// Of one member, the owner. `places` counts follow the object for each kind, one for each member of
// the host.
class alignas(64) Signals {
  public:
    enum class Kind : std::uint8_t { post, complete };

    explicit Signals(std::size_t places) : places_(places) {}
    // Bytes of an object with so many places. Those beyond the object itself must be 0.
    static std::size_t bytes(std::size_t places) {
        const std::size_t beyond = kinds * places * sizeof(std::atomic<std::uint32_t>);
        return sizeof(Signals) +
               (beyond + alignof(Signals) - 1) / alignof(Signals) * alignof(Signals);
    }

    // The member at `place` signals. Returns whether the owner must be woken.
    bool raise(Kind kind, std::size_t place) {
        count(kind, place).fetch_add(1);
        std::atomic<std::int32_t>& missing = missing_[std::size_t(kind)];
        return missing.load() > 0 && missing.fetch_sub(1) == 1;
    }
    std::uint32_t raised(Kind kind, std::size_t place) const {
        return const_cast<Signals*>(this)->count(kind, place).load();
    }
    // The owner sleeps until so many more signals have come; 0: it is awake. It counts again what
    // is missing afterwards, and corrects the number if a signal came in between.
    void sleep_for(Kind kind, std::int32_t missing) { missing_[std::size_t(kind)].store(missing); }

  private:
    static constexpr std::size_t kinds = 2;

    std::atomic<std::uint32_t>& count(Kind kind, std::size_t place) {
        return reinterpret_cast<std::atomic<std::uint32_t>*>(
            this + 1)[std::size_t(kind) * places_ + place];
    }

    std::array<std::atomic<std::int32_t>, kinds> missing_{};
    const std::size_t places_;
};
static_assert(sizeof(Signals) == 64);

}  // namespace torusmp::core::rma
