// SPDX-License-Identifier: BSD-3-Clause
// Shared by the tests of wilson: the gamma matrices written out, lattices and fields.
#pragma once

#include <array>
#include <vector>

#include "cg.h"
#include "dslash.h"
#include "gauge.h"
#include "lattice.h"
#include "random.h"

namespace wilson::test {

using SpinMatrix = std::array<std::array<Complex, 4>, 4>;

// The DeGrand-Rossi basis element by element: the tests must not take it from the code they test.
inline SpinMatrix gamma(int mu) {
    const Complex i{0, 1};
    switch (mu) {
        case 0:
            return {{{0, 0, 0, i}, {0, 0, i, 0}, {0, -i, 0, 0}, {-i, 0, 0, 0}}};
        case 1:
            return {{{0, 0, 0, -1}, {0, 0, 1, 0}, {0, 1, 0, 0}, {-1, 0, 0, 0}}};
        case 2:
            return {{{0, 0, i, 0}, {0, 0, 0, -i}, {-i, 0, 0, 0}, {0, i, 0, 0}}};
        case 3:
            return {{{0, 0, 1, 0}, {0, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, 0}}};
        default:  // gamma_5
            return {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, -1, 0}, {0, 0, 0, -1}}};
    }
}

inline SpinMatrix operator*(const SpinMatrix& a, const SpinMatrix& b) {
    SpinMatrix c{};
    for (int i = 0; i < 4; ++i)
        for (int k = 0; k < 4; ++k)
            for (int j = 0; j < 4; ++j) c[i][j] += a[i][k] * b[k][j];
    return c;
}

inline Spinor operator*(const SpinMatrix& m, const Spinor& psi) {
    Spinor out;
    for (int row = 0; row < 4; ++row)
        for (int colour = 0; colour < 3; ++colour) {
            Complex sum = 0;
            for (int spin = 0; spin < 4; ++spin) sum += m[row][spin] * component(psi, spin, colour);
            set_component(out, row, colour, sum);
        }
    return out;
}

inline Spinor operator*(const Su3& u, const Spinor& psi) {
    Spinor out;
    for (int spin = 0; spin < 4; ++spin)
        for (int row = 0; row < 3; ++row) {
            Complex sum = 0;
            for (int colour = 0; colour < 3; ++colour)
                sum += u.e[row][colour] * component(psi, spin, colour);
            set_component(out, spin, row, sum);
        }
    return out;
}

// a + factor b
inline Spinor combine(const Spinor& a, Complex factor, const Spinor& b) {
    Spinor out;
    for (int spin = 0; spin < 4; ++spin)
        for (int colour = 0; colour < 3; ++colour)
            set_component(out, spin, colour,
                          component(a, spin, colour) + factor * component(b, spin, colour));
    return out;
}

inline double distance(const Spinor& a, const Spinor& b) {
    double worst = 0;
    for (int spin = 0; spin < 4; ++spin)
        for (int colour = 0; colour < 3; ++colour)
            worst =
                std::max(worst, std::abs(component(a, spin, colour) - component(b, spin, colour)));
    return worst;
}

inline double distance(const std::vector<Spinor>& a, const std::vector<Spinor>& b) {
    double worst = 0;
    for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, distance(a[i], b[i]));
    return worst;
}

inline double distance(const Su3& a, const Su3& b) {
    double worst = 0;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) worst = std::max(worst, std::abs(a.e[i][j] - b.e[i][j]));
    return worst;
}

inline Su3 random_su3(CounterRandom& random) {
    Su3 u;
    for (int row : {0, 1})
        for (Complex& z : u.e[row]) z = random.gaussian();
    make_special_unitary(u);
    return u;
}

inline std::vector<Spinor> random_field(int sites, std::uint64_t seed) {
    CounterRandom random(seed, 0);
    std::vector<Spinor> field(sites);
    for (Spinor& s : field) s = random_spinor(random);
    return field;
}

// A lattice on one rank.
inline Lattice whole(const Coord& extent) {
    return {extent, {1, 1, 1, 1}, {0, 0, 0, 0}};
}

inline GaugeField random_links(const Lattice& lattice, std::uint64_t seed) {
    GaugeField field(lattice);
    randomise(field, lattice, seed);
    return field;
}

}  // namespace wilson::test
