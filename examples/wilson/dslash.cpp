// SPDX-License-Identifier: BSD-3-Clause
#include "dslash.h"

namespace wilson {

namespace {

constexpr std::array<int, 8> all_directions{0, 1, 2, 3, 4, 5, 6, 7};

// A hop onto a site from ahead, with its own link, and from behind, with the link of the site
// behind.
template <int Mu, int S>
WILSON_INLINE void from_ahead(Spinor& sum, const Su3& u, const Spinor& psi) {
    HalfSpinor h, uh;
    project<Mu, -S>(h, psi);
    multiply(uh, u, h);
    accumulate<Mu, -S>(sum, uh);
}

template <int Mu, int S>
WILSON_INLINE void from_behind(Spinor& sum, const Su3& u, const Spinor& psi) {
    HalfSpinor h, uh;
    project<Mu, S>(h, psi);
    multiply_adjoint(uh, u, h);
    accumulate<Mu, S>(sum, uh);
}

// The data that one site needs to gather its hops. Pointers, because the compiler keeps them in
// registers.
struct Hopping {
    const Spinor* in;
    const GaugeField::Site* links;         // of the sites hopped to
    const GaugeField::Site* links_behind;  // of the sites hopped from
};

// Interior sites have all neighbours on this rank, so no direction is skipped and no test is
// needed.
template <int Mu, int S, bool Interior>
WILSON_INLINE void gather_mu(Spinor& sum, const Hopping& h, int site,
                             const Lattice::Neighbours& n) {
    const int ahead = n[forward(Mu)], behind = n[backward(Mu)];
    if (Interior || ahead >= 0) from_ahead<Mu, S>(sum, h.links[site][Mu], h.in[ahead]);
    if (Interior || behind >= 0) from_behind<Mu, S>(sum, h.links_behind[behind][Mu], h.in[behind]);
}

template <int S, bool Interior>
WILSON_INLINE void gather(Spinor& sum, const Hopping& h, int site, const Lattice::Neighbours& n) {
    sum = Spinor{};
    gather_mu<0, S, Interior>(sum, h, site, n);
    gather_mu<1, S, Interior>(sum, h, site, n);
    gather_mu<2, S, Interior>(sum, h, site, n);
    gather_mu<3, S, Interior>(sum, h, site, n);
}

// The hops onto a border site that arrived in messages.
template <int Mu, int S>
WILSON_INLINE void gather_halo_mu(Spinor& sum, const GaugeField::Site& links,
                                  const HaloExchange& halo, const Lattice::Neighbours& n) {
    const int ahead = n[forward(Mu)], behind = n[backward(Mu)];
    if (ahead < 0) {
        HalfSpinor uh;
        multiply(uh, links[Mu], halo.incoming<HalfSpinor>(forward(Mu))[~ahead]);
        accumulate<Mu, -S>(sum, uh);
    }
    if (behind < 0) accumulate<Mu, S>(sum, halo.incoming<HalfSpinor>(backward(Mu))[~behind]);
}

WILSON_INLINE void store(Spinor& out, const Spinor* base, double factor, const Spinor& sum) {
    for (int c = 0; c < 3; ++c) {
        out.up[c] = base ? base->up[c] + factor * sum.up[c] : factor * sum.up[c];
        out.lo[c] = base ? base->lo[c] + factor * sum.lo[c] : factor * sum.lo[c];
    }
}

template <int Mu, int S>
void pack_mu(HaloExchange& halo, const Lattice& lattice, int parity, const GaugeField& gauge,
             std::span<const Spinor> in) {
    auto* out = halo.outgoing<HalfSpinor>(backward(Mu));
    for (const int site : lattice.face(parity, backward(Mu))) project<Mu, -S>(*out++, in[site]);
    out = halo.outgoing<HalfSpinor>(forward(Mu));
    for (const int site : lattice.face(parity, forward(Mu))) {
        HalfSpinor h;
        project<Mu, S>(h, in[site]);
        multiply_adjoint(*out++, gauge.links[parity][site][Mu], h);
    }
}

}  // namespace

WilsonOperator::WilsonOperator(const Lattice& lattice, const GaugeField& gauge, double kappa,
                               Stopwatch& communication, const MakeHalo& make_halo)
    : lattice_(lattice),
      gauge_(gauge),
      kappa_(kappa),
      communication_(communication),
      halo_{make_halo(lattice, 0, sizeof(HalfSpinor), all_directions),
            make_halo(lattice, 1, sizeof(HalfSpinor), all_directions)},
      odd_(lattice.sites(1)) {}

template <int S>
void WilsonOperator::pack(std::span<const Spinor> in, int from) {
    pack_mu<0, S>(*halo_[from], lattice_, from, gauge_, in);
    pack_mu<1, S>(*halo_[from], lattice_, from, gauge_, in);
    pack_mu<2, S>(*halo_[from], lattice_, from, gauge_, in);
    pack_mu<3, S>(*halo_[from], lattice_, from, gauge_, in);
}

template <int S>
void WilsonOperator::hop_with_sign(std::span<Spinor> out, std::span<const Spinor> in, int from,
                                   std::span<const Spinor> base, double factor) {
    const int to = 1 - from;
    HaloExchange& halo = *halo_[from];
    pack<S>(in, from);
    communication_.time([&] { halo.start(); });

    const Hopping hopping{in.data(), gauge_.links[to].data(), gauge_.links[from].data()};
    const auto base_at = [&](int site) { return base.empty() ? nullptr : &base[site]; };
    for (const int site : lattice_.interior(to)) {
        Spinor sum;
        gather<S, true>(sum, hopping, site, lattice_.neighbours(to, site));
        store(out[site], base_at(site), factor, sum);
    }
    for (const int site : lattice_.boundary(to)) {
        Spinor sum;
        gather<S, false>(sum, hopping, site, lattice_.neighbours(to, site));
        store(out[site], base_at(site), factor, sum);
    }

    communication_.time([&] { halo.wait(); });
    for (const int site : lattice_.boundary(to)) {
        Spinor sum{};
        const auto& neighbours = lattice_.neighbours(to, site);
        const auto& links = gauge_.links[to][site];
        gather_halo_mu<0, S>(sum, links, halo, neighbours);
        gather_halo_mu<1, S>(sum, links, halo, neighbours);
        gather_halo_mu<2, S>(sum, links, halo, neighbours);
        gather_halo_mu<3, S>(sum, links, halo, neighbours);
        store(out[site], &out[site], factor, sum);
    }
}

void WilsonOperator::hop(std::span<Spinor> out, std::span<const Spinor> in, int parity_of_in,
                         std::span<const Spinor> base, double factor, Dagger dagger) {
    if (dagger == Dagger::no)
        hop_with_sign<+1>(out, in, parity_of_in, base, factor);
    else
        hop_with_sign<-1>(out, in, parity_of_in, base, factor);
}

void WilsonOperator::apply(std::span<Spinor> out, std::span<const Spinor> in, Dagger dagger) {
    for (const int parity : {0, 1})
        hop(part(out, 1 - parity), part(in, parity), parity, part(in, 1 - parity), -kappa_, dagger);
}

void WilsonOperator::apply_schur(std::span<Spinor> out, std::span<const Spinor> in, Dagger dagger) {
    hop(odd_, in, 0, {}, 1.0, dagger);
    hop(out, odd_, 1, in, -kappa_ * kappa_, dagger);
}

void WilsonOperator::prepare(std::span<Spinor> even, std::span<const Spinor> source) {
    hop(even, part(source, 1), 1, part(source, 0), kappa_, Dagger::no);
}

void WilsonOperator::reconstruct(std::span<Spinor> solution, std::span<const Spinor> source) {
    hop(part(solution, 1), part(solution, 0), 0, part(source, 1), kappa_, Dagger::no);
}

double WilsonOperator::schur_flops() const {
    const double half_volume = static_cast<double>(lattice_.volume()) / 2;
    return half_volume * (2 * 1320 + 2 * spinor_reals);
}

}  // namespace wilson
