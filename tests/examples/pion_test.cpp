// SPDX-License-Identifier: BSD-3-Clause
// Solutions with a given true residual, and the pion correlator against its formula for free
// quarks.
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

#include "fixtures.h"
#include "pion.h"

using namespace wilson;
using namespace wilson::test;

namespace {

// With all links 1 the propagator is known for each momentum:
//     S(p) = (a - i sum b_mu gamma_mu) / (a^2 + sum b_mu^2),
//     a = 1 - 2 kappa sum cos p_mu,    b_mu = 2 kappa sin p_mu.
// Summed over space, |S|^2 is a sum over momenta of space alone (Parseval), and the trace leaves
// 4 (|a|^2 + sum |b_mu|^2) of the spins and 3 of the colours.
std::vector<double> free_pion(const Coord& extent, double kappa, bool antiperiodic) {
    const int nt = extent[3];
    const double space = double(extent[0]) * extent[1] * extent[2];
    std::vector<double> c(static_cast<std::size_t>(nt));
    for (int x = 0; x < extent[0]; ++x)
        for (int y = 0; y < extent[1]; ++y)
            for (int z = 0; z < extent[2]; ++z)
                for (int t = 0; t < nt; ++t) {
                    Complex parts[5] = {};
                    for (int k = 0; k < nt; ++k) {
                        const double p[4] = {2 * std::numbers::pi * x / extent[0],
                                             2 * std::numbers::pi * y / extent[1],
                                             2 * std::numbers::pi * z / extent[2],
                                             2 * std::numbers::pi * (k + 0.5 * antiperiodic) / nt};
                        double a = 1, squares = 0, b[4];
                        for (int mu = 0; mu < 4; ++mu) {
                            a -= 2 * kappa * std::cos(p[mu]);
                            b[mu] = 2 * kappa * std::sin(p[mu]);
                            squares += b[mu] * b[mu];
                        }
                        const Complex wave = std::polar(1.0 / (nt * (a * a + squares)), p[3] * t);
                        parts[4] += a * wave;
                        for (int mu = 0; mu < 4; ++mu) parts[mu] += b[mu] * wave;
                    }
                    for (const Complex& part : parts)
                        c[static_cast<std::size_t>(t)] += 12 * std::norm(part) / space;
                }
    return c;
}

}  // namespace

TEST_CASE("wilson: the pion correlator of free quarks follows the formula") {
    const Coord extent{4, 2, 6, 8};
    const Lattice lattice = whole(extent);
    for (const bool antiperiodic : {false, true}) {
        GaugeField links(lattice);
        if (antiperiodic) make_antiperiodic(links, lattice);
        Stopwatch communication;
        SolverTime time;
        WilsonOperator m(lattice, links, 0.11, communication);
        const PionCorrelator pion = pion_correlator(m, {1e-12, 1000}, time, communication);
        REQUIRE(pion.converged);
        CHECK(pion.worst_residual <= 1e-12);
        const std::vector<double> expected = free_pion(extent, 0.11, antiperiodic);
        REQUIRE(pion.c.size() == expected.size());
        for (std::size_t t = 0; t < expected.size(); ++t)
            CHECK(pion.c[t] == Approx(expected[t]).epsilon(1e-9));
    }
}

TEST_CASE(
    "wilson: the solution has the reported residual, and the solver stops at the requested "
    "tolerance") {
    const Lattice lattice = whole({4, 2, 6, 4});
    const GaugeField links = random_links(lattice, 8);
    Stopwatch communication;
    WilsonOperator m(lattice, links, 0.15, communication);
    // Even sites only, then odd sites only: the even system and b have different norms.
    for (const int parity : {0, 1}) {
        std::vector<Spinor> b = random_field(lattice.local_sites(), 4);
        for (std::size_t i = 0; i < b.size(); ++i)
            if ((i < static_cast<std::size_t>(lattice.sites(0))) == (parity == 1)) b[i] = Spinor{};
        SolverTime time;
        const TrueSolution s = solve_truly(m, b, {1e-6, 1000}, time, communication);
        std::vector<Spinor> r(b.size());
        m.apply(r, s.x, Dagger::no);
        for (std::size_t i = 0; i < r.size(); ++i) r[i] = combine(b[i], -1, r[i]);
        const double found = std::sqrt(norm2(r, communication) / norm2(b, communication));
        CHECK(s.residual == Approx(found).epsilon(1e-6));
        CHECK(s.converged);
        CHECK(found <= 1e-6);
        // One iteration less is not enough: it did not go on beyond the tolerance.
        const TrueSolution less = solve_truly(m, b, {1e-6, s.iterations - 1}, time, communication);
        CHECK_FALSE(less.converged);
        CHECK(less.residual > 1e-6);
    }
}

TEST_CASE("wilson: a residual of the recursion below double precision is not a solution") {
    const Lattice lattice = whole({4, 4, 4, 4});
    const GaugeField links = random_links(lattice, 1);
    Stopwatch communication;
    SolverTime time;
    WilsonOperator m(lattice, links, 0.15, communication);
    const std::vector<Spinor> b = random_field(lattice.local_sites(), 4);
    const TrueSolution s = solve_truly(m, b, {1e-18, 100000}, time, communication);
    CHECK_FALSE(s.converged);
    CHECK(s.residual > 1e-18);
    CHECK(s.residual < 1e-14);
    CHECK(s.iterations < 5000);  // it gives up where restarts do not help
}
