// SPDX-License-Identifier: BSD-3-Clause
// SU(3), the gamma matrices and the random numbers.
#include <catch2/catch.hpp>

#include "fixtures.h"

using namespace wilson;
using namespace wilson::test;

namespace {

template <int Mu, int S>
Spinor one_plus_gamma(const Spinor& psi) {
    HalfSpinor h;
    project<Mu, S>(h, psi);
    Spinor out{};
    accumulate<Mu, S>(out, h);
    return out;
}

template <int Mu>
void check_projectors() {
    CounterRandom random(7, Mu);
    for (int trial = 0; trial < 20; ++trial) {
        const Spinor psi = random_spinor(random);
        const Spinor gamma_psi = gamma(Mu) * psi;
        CHECK(distance(one_plus_gamma<Mu, +1>(psi), combine(psi, +1, gamma_psi)) < 1e-14);
        CHECK(distance(one_plus_gamma<Mu, -1>(psi), combine(psi, -1, gamma_psi)) < 1e-14);
    }
}

double distance_of(const SpinMatrix& a, const SpinMatrix& b) {
    double worst = 0;
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) worst = std::max(worst, std::abs(a[i][j] - b[i][j]));
    return worst;
}

}  // namespace

TEST_CASE("wilson: random links are special unitary") {
    CounterRandom random(1, 0);
    for (int trial = 0; trial < 100; ++trial) {
        const Su3 u = random_su3(random);
        CHECK(distance_from_unitary(u) < 1e-14);
        CHECK(std::abs(determinant(u) - 1.0) < 1e-14);
    }
}

TEST_CASE("wilson: the third row follows from the other two") {
    CounterRandom random(2, 0);
    const Su3 u = random_su3(random) * random_su3(random);  // its third row comes from the product
    Su3 two_rows = u;
    for (Complex& z : two_rows.e[2]) z = 99;
    complete_third_row(two_rows);
    CHECK(distance(u, two_rows) < 1e-14);
}

TEST_CASE("wilson: the product with the adjoint is the identity and the trace is cyclic") {
    CounterRandom random(3, 0);
    const Su3 a = random_su3(random), b = random_su3(random), c = random_su3(random);
    CHECK(distance(a * adjoint(a), identity()) < 1e-14);
    CHECK(real_trace(a * b * c) == Approx(real_trace(c * a * b)).margin(1e-14));
    CHECK(distance(adjoint(a * b), adjoint(b) * adjoint(a)) < 1e-14);
}

TEST_CASE("wilson: the vectorised product with a link agrees with the matrix product") {
    CounterRandom random(4, 0);
    for (int trial = 0; trial < 20; ++trial) {
        const Su3 u = random_su3(random);
        const Spinor psi = random_spinor(random);
        HalfSpinor h, uh, adjoint_uh;
        for (int c = 0; c < 3; ++c) h.c[c] = psi.up[c];
        multiply(uh, u, h);
        multiply_adjoint(adjoint_uh, u, h);
        Spinor found = u * psi, found_adjoint = adjoint(u) * psi;
        for (int c = 0; c < 3; ++c) {  // compare the upper halves
            found.up[c] -= uh.c[c];
            found_adjoint.up[c] -= adjoint_uh.c[c];
            found.lo[c] = found_adjoint.lo[c] = V4{};
        }
        CHECK(distance(found, Spinor{}) < 1e-14);
        CHECK(distance(found_adjoint, Spinor{}) < 1e-14);
    }
}

TEST_CASE("wilson: the written-out gamma matrices anticommute and multiply to gamma five") {
    for (int mu = 0; mu < 4; ++mu)
        for (int nu = 0; nu < 4; ++nu) {
            const SpinMatrix a = gamma(mu) * gamma(nu), b = gamma(nu) * gamma(mu);
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j)
                    CHECK(std::abs(a[i][j] + b[i][j] - (mu == nu && i == j ? 2.0 : 0.0)) < 1e-15);
        }
    CHECK(distance_of(gamma(0) * gamma(1) * gamma(2) * gamma(3), gamma(4)) < 1e-15);
}

TEST_CASE("wilson: project and accumulate are one plus or minus gamma in the stated basis") {
    check_projectors<0>();
    check_projectors<1>();
    check_projectors<2>();
    check_projectors<3>();
}

TEST_CASE("wilson: random numbers depend on seed and stream and are normal") {
    CHECK(CounterRandom(1, 5).bits() == CounterRandom(1, 5).bits());
    CHECK(CounterRandom(1, 5).bits() != CounterRandom(1, 6).bits());
    CHECK(CounterRandom(1, 5).bits() != CounterRandom(2, 5).bits());
    CHECK(CounterRandom(1, 5).bits() != CounterRandom(2, 4).bits());
    const int streams = 20000;
    Complex mean = 0, square = 0;
    double norm = 0;
    for (int i = 0; i < streams; ++i) {  // the first draw of each stream, as the lattice uses them
        const Complex z = CounterRandom(3, i).gaussian();
        mean += z / double(streams);
        square += z * z / double(streams);
        norm += std::norm(z) / streams;
    }
    // Five standard deviations of the mean of 20000.
    CHECK(std::abs(mean) < 0.036);
    CHECK(std::abs(square) < 0.05);
    CHECK(std::abs(norm - 1) < 0.036);
}
