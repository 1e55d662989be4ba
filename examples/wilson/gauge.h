// SPDX-License-Identifier: BSD-3-Clause
// The gauge field, its generation without a file, and its observables.
//
// A GaugeField is a plain array owned by the caller. The measuring functions are collective: every
// rank calls them, from the thread that uses QMP, and all get the same result.
#pragma once

#include <cstdint>
#include <vector>

#include "lattice.h"
#include "su3.h"

namespace wilson {

// links[parity][site][mu] is U_mu(x): it leads from x to x + mu.
struct GaugeField {
    using Site = std::array<Su3, 4>;
    std::array<std::vector<Site>, 2> links;

    explicit GaugeField(const Lattice& lattice);  // all links are the identity: the free field
};

// Every link is uniform on SU(3); the result depends on the seed only, not on the number of ranks.
void randomise(GaugeField& field, const Lattice& lattice, std::uint64_t seed);

// Makes fermions antiperiodic in time: the links that leave the last time slice change sign. For
// the Dirac operator only; measure the plaquette before.
void make_antiperiodic(GaugeField& field, const Lattice& lattice);

// Means of Re tr U_mu(x) U_nu(x+mu) U_mu(x+nu)^+ U_nu(x)^+ / 3 over sites and planes.
struct Plaquettes {
    double space = 0;  // planes xy, xz, yz
    double time = 0;   // planes xt, yt, zt
    double mean() const { return (space + time) / 2; }
};
Plaquettes plaquettes(const GaugeField& field, const Lattice& lattice);

// The mean of Re tr U_mu(x) / 3 over sites and directions.
double link_trace(const GaugeField& field, const Lattice& lattice);

}  // namespace wilson
