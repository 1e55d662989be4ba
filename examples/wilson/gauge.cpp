// SPDX-License-Identifier: BSD-3-Clause
#include "gauge.h"

#include "random.h"

namespace wilson {

GaugeField::GaugeField(const Lattice& lattice) {
    Site unit;
    unit.fill(identity());
    for (int parity : {0, 1}) links[parity].assign(lattice.sites(parity), unit);
}

void randomise(GaugeField& field, const Lattice& lattice, std::uint64_t seed) {
    for (int parity : {0, 1})
        for (int site = 0; site < lattice.sites(parity); ++site)
            for (int mu = 0; mu < 4; ++mu) {
                // Two Gaussian rows point anywhere alike, so the matrix they span is uniform on the
                // group.
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

double plaquette(const GaugeField& field, const Lattice& lattice) {
    using Site = GaugeField::Site;
    // A plaquette needs all links at x + mu. Where x + mu is on the next rank, that rank sends them
    // back to us.
    const std::array<int, 4> to_behind{backward(0), backward(1), backward(2), backward(3)};
    std::array<HaloExchange, 2> ahead{HaloExchange(lattice, 1, sizeof(Site), to_behind),
                                      HaloExchange(lattice, 0, sizeof(Site), to_behind)};
    for (int parity : {0, 1}) {
        for (const int direction : to_behind) {
            Site* out = ahead[parity].outgoing<Site>(direction);
            for (const int site : lattice.face(1 - parity, direction))
                *out++ = field.links[1 - parity][site];
        }
        ahead[parity].start();
        ahead[parity].wait();
    }

    double sum = 0;
    for (int parity : {0, 1})
        for (int site = 0; site < lattice.sites(parity); ++site) {
            const auto& neighbours = lattice.neighbours(parity, site);
            const auto next = [&](int mu) -> const Site& {
                const int n = neighbours[forward(mu)];
                return n >= 0 ? field.links[1 - parity][n]
                              : ahead[parity].incoming<Site>(forward(mu))[~n];
            };
            const Site& here = field.links[parity][site];
            for (int mu = 0; mu < 4; ++mu)
                for (int nu = mu + 1; nu < 4; ++nu)
                    sum += real_trace(here[mu] * next(mu)[nu] * adjoint(here[nu] * next(nu)[mu]));
        }
    Stopwatch not_reported;
    global_sum({&sum, 1}, not_reported);
    return sum / (3.0 * 6.0 * static_cast<double>(lattice.volume()));
}

double link_trace(const GaugeField& field, const Lattice& lattice) {
    double sum = 0;
    for (int parity : {0, 1})
        for (const auto& site : field.links[parity])
            for (const Su3& u : site) sum += real_trace(u);
    Stopwatch not_reported;
    global_sum({&sum, 1}, not_reported);
    return sum / (3.0 * 4.0 * static_cast<double>(lattice.volume()));
}

}  // namespace wilson
