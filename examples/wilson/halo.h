// SPDX-License-Identifier: BSD-3-Clause
// Communication of the ranks that share a lattice: the exchange of faces with the neighbouring
// ranks, and sums over all ranks.
//
// A HaloExchange owns the memory and the declared channels of one kind of face; one over QMP must
// be destroyed before QMP_finalize_msg_passing. One thread only: the one that initialised the
// library.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include <qmp.h>

#include "lattice.h"

namespace wilson {

// Sums the time of the calls made through it.
class Stopwatch {
  public:
    template <class Call>
    void time(Call&& call) {
        const auto begin = std::chrono::steady_clock::now();
        call();
        seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    double seconds() const { return seconds_; }

  private:
    double seconds_ = 0;
};

// Global sums in place, over QMP; their time is added to the stopwatch.
void global_sum(std::span<double> values, Stopwatch& communication);

// The channels that carry faces of one parity to the neighbours.
//
// They are declared once and started repeatedly, so the library can prepare all facts about both
// ends. Dimensions that are not split among ranks have no messages; there the neighbour tables wrap
// around.
class HaloExchange {
  public:
    HaloExchange() = default;
    HaloExchange(const HaloExchange&) = delete;
    HaloExchange& operator=(const HaloExchange&) = delete;
    virtual ~HaloExchange() = default;

    // The data for the neighbour in `direction`: one entry for each site of lattice.face(parity,
    // direction).
    template <class T>
    T* outgoing(int direction) {
        return static_cast<T*>(out_[direction]);
    }
    // The data from the neighbour in `direction`: entry ~n of Lattice::neighbours.
    template <class T>
    const T* incoming(int direction) const {
        return static_cast<const T*>(in_[direction]);
    }

    virtual void start() = 0;
    virtual void wait() = 0;
    std::size_t bytes_sent() const { return bytes_sent_; }  // each time

  protected:
    std::array<void*, 8> out_{}, in_{};  // null where there are no messages
    std::size_t bytes_sent_ = 0;
};

// Sites of `parity` send `bytes` each, in every direction of `send_directions`; data received from
// the other side belongs to sites of the other parity.
using MakeHalo = std::function<std::unique_ptr<HaloExchange>(
    const Lattice& lattice, int parity, std::size_t bytes, std::span<const int> send_directions)>;
std::unique_ptr<HaloExchange> make_qmp_halo(const Lattice& lattice, int parity, std::size_t bytes,
                                            std::span<const int> send_directions);

// Rank 0 found `trouble`, or nothing if it is empty. All ranks receive it and throw the same
// InputError, so that the job ends on all ranks and none waits for a rank that has given up.
// Collective, over QMP.
void agree(const std::string& trouble);

// Throws std::runtime_error with the library's error text if a QMP call failed.
void check(QMP_status_t status, const char* call);

}  // namespace wilson
