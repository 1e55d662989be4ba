// SPDX-License-Identifier: BSD-3-Clause
#include "gauge.h"

#include "halo.h"
#include "random.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

namespace wilson {

namespace {

// A sum over the sites of all ranks, the same on every grid of ranks: in whole units of 2^-60,
// because floating-point sums depend on their order, and a file's header states the mean.
class SumOverSites {
  public:
    void add(double value) {
        if (!(std::abs(value) < 1e9)) {  // also true for a NaN
            beyond_ = 1;
            return;
        }
        value_ += static_cast<Wide>(static_cast<SignedWide>(std::ldexp(value, unit_bits)));
    }
    // A NaN if a value was not finite, or so large that it is not of SU(3). Collective.
    double over_ranks() const {
        std::uint64_t beyond = beyond_;
        check(QMP_sum_uint64_t(&beyond), "QMP_sum_uint64_t");
        Wide sum = 0;
        for (int shift = 0; shift < 128; shift += 32) {
            // Words of 32 bits: their sum fits in 64 on up to 2^32 ranks.
            std::uint64_t word = static_cast<std::uint32_t>(value_ >> shift);
            check(QMP_sum_uint64_t(&word), "QMP_sum_uint64_t");
            sum += static_cast<Wide>(word) << shift;
        }
        return beyond != 0
                   ? std::numeric_limits<double>::quiet_NaN()
                   : std::ldexp(static_cast<double>(static_cast<SignedWide>(sum)), -unit_bits);
    }

  private:
    __extension__ using Wide = unsigned __int128;
    __extension__ using SignedWide = __int128;
    static constexpr int unit_bits = 60;
    Wide value_ = 0;
    std::uint64_t beyond_ = 0;
};

}  // namespace

GaugeField::GaugeField(const Lattice& lattice) {
    Site unit;
    unit.fill(identity());
    for (int parity : {0, 1}) links[parity].assign(lattice.sites(parity), unit);
}

void randomise(GaugeField& field, const Lattice& lattice, std::uint64_t seed) {
    for (int parity : {0, 1})
        for (int site = 0; site < lattice.sites(parity); ++site)
            for (int mu = 0; mu < 4; ++mu) {
                // The direction of two Gaussian rows is uniform, so the matrix they span is uniform
                // on the group.
                CounterRandom random(seed, 4 * lattice.global_index(parity, site) + mu);
                Su3& u = field.links[parity][site][mu];
                for (int row : {0, 1})
                    for (Complex& z : u.e[row]) z = random.gaussian();
                make_special_unitary(u);
            }
}

void make_antiperiodic(GaugeField& field, const Lattice& lattice) {
    for (int parity : {0, 1})
        for (int site = 0; site < lattice.sites(parity); ++site)
            if (lattice.global(parity, site)[3] == lattice.extent()[3] - 1)
                for (auto& row : field.links[parity][site][3].e)
                    for (Complex& z : row) z = -z;
}

Plaquettes plaquettes(const GaugeField& field, const Lattice& lattice) {
    using Site = GaugeField::Site;
    // A plaquette needs all links at x + mu. If x + mu is on the next rank, that rank sends them
    // backward to this one.
    const std::array<int, 4> to_behind{backward(0), backward(1), backward(2), backward(3)};
    const std::array<std::unique_ptr<HaloExchange>, 2> ahead{
        make_qmp_halo(lattice, 1, sizeof(Site), to_behind),
        make_qmp_halo(lattice, 0, sizeof(Site), to_behind)};
    for (int parity : {0, 1}) {
        for (const int direction : to_behind) {
            Site* out = ahead[parity]->outgoing<Site>(direction);
            for (const int site : lattice.face(1 - parity, direction))
                *out++ = field.links[1 - parity][site];
        }
        ahead[parity]->start();
        ahead[parity]->wait();
    }

    std::array<SumOverSites, 2> sums;  // of space, of time
    for (int parity : {0, 1})
        for (int site = 0; site < lattice.sites(parity); ++site) {
            const auto& neighbours = lattice.neighbours(parity, site);
            const auto next = [&](int mu) -> const Site& {
                const int n = neighbours[forward(mu)];
                return n >= 0 ? field.links[1 - parity][n]
                              : ahead[parity]->incoming<Site>(forward(mu))[~n];
            };
            const Site& here = field.links[parity][site];
            for (int mu = 0; mu < 4; ++mu)
                for (int nu = mu + 1; nu < 4; ++nu)
                    sums[nu == 3].add(
                        real_trace(here[mu] * next(mu)[nu] * adjoint(here[nu] * next(nu)[mu])));
        }
    const double each = 3.0 * 3.0 * static_cast<double>(lattice.volume());
    return {sums[0].over_ranks() / each, sums[1].over_ranks() / each};
}

double link_trace(const GaugeField& field, const Lattice& lattice) {
    SumOverSites sum;
    for (int parity : {0, 1})
        for (const auto& site : field.links[parity])
            for (const Su3& u : site) sum.add(real_trace(u));
    return sum.over_ranks() / (3.0 * 4.0 * static_cast<double>(lattice.volume()));
}

}  // namespace wilson
