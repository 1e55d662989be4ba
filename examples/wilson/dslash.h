// SPDX-License-Identifier: BSD-3-Clause
// The Wilson operator, whole and even-odd preconditioned.
//
//     M = 1 - kappa D,
//     (D psi)(x) = sum over mu of (1 - gamma_mu) U_mu(x)      psi(x + mu)
//                               + (1 + gamma_mu) U_mu(x-mu)^+ psi(x - mu)
//
// D joins even sites with odd ones only. So M x = b is solved on the even sites with the Schur
// complement
//     S = 1 - kappa^2 D_eo D_oe,     S x_e = b_e + kappa D_eo b_o,     x_o = b_o + kappa D_oe x_e.
// M^+ = gamma_5 M gamma_5, and the same for S; for D^+ it is enough to flip the sign in front of
// every gamma.
//
// Communication: each face is projected to half spinors before it is sent (12 numbers per site
// instead of 24). Forward data is multiplied with the link on this rank, which stores the link;
// backward data is multiplied on the neighbour. While the messages are in flight, all hops inside
// the rank are computed, including those of border sites; the rest is added at the end.
//
// The operator owns its channels and refers to the gauge field and the lattice, which must outlive
// it. Calls are collective, one at a time, from the thread that communicates.
#pragma once

#include <span>

#include "gauge.h"
#include "halo.h"
#include "lattice.h"
#include "spinor.h"

namespace wilson {

enum class Dagger { no, yes };

class WilsonOperator {
  public:
    WilsonOperator(const Lattice& lattice, const GaugeField& gauge, double kappa,
                   Stopwatch& communication, const MakeHalo& make_halo = make_qmp_halo);

    // out = base + factor D in. `in` is on the sites of one parity, `out` and `base` on the other;
    // base may be empty. out must not overlap in; it may be base.
    void hop(std::span<Spinor> out, std::span<const Spinor> in, int parity_of_in,
             std::span<const Spinor> base, double factor, Dagger dagger);

    // Sets out = M in on all sites, first the even ones, then the odd ones.
    void apply(std::span<Spinor> out, std::span<const Spinor> in, Dagger dagger);

    // out = S in, on even sites.
    void apply_schur(std::span<Spinor> out, std::span<const Spinor> in, Dagger dagger);

    // The even right-hand side of the preconditioned system, and the odd part of the solution.
    void prepare(std::span<Spinor> even, std::span<const Spinor> source);
    void reconstruct(std::span<Spinor> solution, std::span<const Spinor> source);

    // Floating-point operations of the whole lattice; 1320 for D at a site is the usual convention.
    double schur_flops() const;
    // Bytes of half spinors that this rank sends in one application of S.
    std::size_t schur_halo_bytes() const { return halo_[0]->bytes_sent() + halo_[1]->bytes_sent(); }

    const Lattice& lattice() const { return lattice_; }

  private:
    template <int S>
    void hop_with_sign(std::span<Spinor> out, std::span<const Spinor> in, int from,
                       std::span<const Spinor> base, double factor);
    template <int S>
    void pack(std::span<const Spinor> in, int from);

    // A field on all sites, split in two by parity.
    template <class T>
    std::span<T> part(std::span<T> whole, int parity) const {
        const auto even = static_cast<std::size_t>(lattice_.sites(0));
        return parity == 0 ? whole.first(even) : whole.subspan(even);
    }

    const Lattice& lattice_;
    const GaugeField& gauge_;
    double kappa_;
    Stopwatch& communication_;
    std::array<std::unique_ptr<HaloExchange>, 2> halo_;  // by the parity of the sender
    std::vector<Spinor> odd_;                            // D_oe applied to the input of apply_schur
};

}  // namespace wilson
