// SPDX-License-Identifier: BSD-3-Clause
// The gauge field, where it comes from when there is no file, and what is measured on it.
//
// A GaugeField is a plain array owned by the caller. The functions that measure are collective:
// every rank calls them, from the thread that uses QMP, and all get the same result.
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

// Every link uniform on SU(3), the same for a seed whatever the number of ranks.
void randomise(GaugeField& field, const Lattice& lattice, std::uint64_t seed);

// Fermions antiperiodic in time: the links that leave the last time slice change sign.
// For the Dirac operator only; measure the plaquette before.
void make_antiperiodic(GaugeField& field, const Lattice& lattice);

// The mean of Re tr U_mu(x) U_nu(x+mu) U_mu(x+nu)^+ U_nu(x)^+ / 3 over sites and the six planes.
double plaquette(const GaugeField& field, const Lattice& lattice);

// The mean of Re tr U_mu(x) / 3 over sites and directions.
double link_trace(const GaugeField& field, const Lattice& lattice);

}  // namespace wilson
