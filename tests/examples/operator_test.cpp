// SPDX-License-Identifier: BSD-3-Clause
// The Wilson operator and the solver on one rank, against formulas and a slow reference.
#include <catch2/catch.hpp>
#include <numbers>

#include "fixtures.h"

using namespace wilson;
using namespace wilson::test;

namespace {

// Everything that a test of the operator needs, on one rank. Not movable: the operator refers to
// the others.
struct World {
    Lattice lattice;
    GaugeField gauge;
    Stopwatch communication;
    WilsonOperator m;

    World(const Coord& extent, const GaugeField& links, double kappa)
        : lattice(whole(extent)), gauge(links), m(lattice, gauge, kappa, communication) {}
    World(const World&) = delete;

    std::vector<Spinor> apply(const std::vector<Spinor>& in, Dagger dagger = Dagger::no) {
        std::vector<Spinor> out(in.size());
        m.apply(out, in, dagger);
        return out;
    }
    std::vector<Spinor> apply_schur(const std::vector<Spinor>& in, Dagger dagger = Dagger::no) {
        std::vector<Spinor> out(in.size());
        m.apply_schur(out, in, dagger);
        return out;
    }
    std::vector<Spinor> random(std::uint64_t seed) const {
        return random_field(lattice.local_sites(), seed);
    }
    std::vector<Spinor> random_even(std::uint64_t seed) const {
        return random_field(lattice.sites(0), seed);
    }
    // Where a site stands in a field of both parities.
    int index(const Coord& x) const {
        const auto [parity, site] = lattice.place(x);
        return site + (parity == 1 ? lattice.sites(0) : 0);
    }
};

const Coord small{4, 2, 6, 4};

std::vector<Spinor> times_gamma5(std::vector<Spinor> field) {
    for (Spinor& s : field) s = gamma(4) * s;
    return field;
}

// M by its definition, with 4x4 and 3x3 matrices.
std::vector<Spinor> slow_wilson(const World& w, const std::vector<Spinor>& in, double kappa) {
    std::vector<Spinor> out(in.size());
    for (int parity : {0, 1})
        for (int site = 0; site < w.lattice.sites(parity); ++site) {
            const Coord& x = w.lattice.global(parity, site);
            Spinor sum{};
            for (int mu = 0; mu < 4; ++mu) {
                Coord ahead = x, behind = x;
                const int n = w.lattice.extent()[mu];
                ahead[mu] = (x[mu] + 1) % n;
                behind[mu] = (x[mu] + n - 1) % n;
                const auto at_behind = w.lattice.place(behind);
                const Spinor from_ahead = w.gauge.links[parity][site][mu] * in[w.index(ahead)];
                const Spinor from_behind =
                    adjoint(w.gauge.links[at_behind.parity][at_behind.site][mu]) *
                    in[w.index(behind)];
                sum = combine(sum, 1, combine(from_ahead, -1, gamma(mu) * from_ahead));
                sum = combine(sum, 1, combine(from_behind, +1, gamma(mu) * from_behind));
            }
            out[w.index(x)] = combine(in[w.index(x)], -kappa, sum);
        }
    return out;
}

// Plane waves are eigenvectors of the free operator up to spin:
//     M(p) = 1 - 2 kappa sum cos p_mu + 2 i kappa sum gamma_mu sin p_mu.
void check_plane_wave(bool antiperiodic, const Coord& n) {
    const double kappa = 0.11;
    const Lattice lattice = whole(small);
    GaugeField links(lattice);
    if (antiperiodic) make_antiperiodic(links, lattice);
    World w(small, links, kappa);
    double p[4];
    for (int mu = 0; mu < 4; ++mu) {
        const double shift = antiperiodic && mu == 3 ? 0.5 : 0.0;
        p[mu] = 2 * std::numbers::pi * (n[mu] + shift) / small[mu];
    }
    CounterRandom random(9, 0);
    const Spinor amplitude = random_spinor(random);
    Spinor expected = amplitude;
    for (int mu = 0; mu < 4; ++mu) {
        expected = combine(expected, -2 * kappa * std::cos(p[mu]), amplitude);
        expected =
            combine(expected, Complex(0, 2 * kappa * std::sin(p[mu])), gamma(mu) * amplitude);
    }
    const auto wave = [&](const Spinor& s) {
        std::vector<Spinor> field(lattice.local_sites());
        for (int parity : {0, 1})
            for (int site = 0; site < lattice.sites(parity); ++site) {
                const Coord& x = lattice.global(parity, site);
                double phase = 0;
                for (int mu = 0; mu < 4; ++mu) phase += p[mu] * x[mu];
                field[w.index(x)] = combine(Spinor{}, std::polar(1.0, phase), s);
            }
        return field;
    };
    CHECK(distance(w.apply(wave(amplitude)), wave(expected)) < 1e-13);
}

}  // namespace

TEST_CASE("wilson: the operator equals its definition on random links") {
    const double kappa = 0.13;
    World w(small, random_links(whole(small), 5), kappa);
    const auto in = w.random(1);
    CHECK(distance(w.apply(in), slow_wilson(w, in, kappa)) < 1e-13);
}

TEST_CASE("wilson: a plane wave on unit links has the eigenvalue of the momentum-space formula") {
    for (const Coord& n : {Coord{0, 0, 0, 0}, Coord{1, 0, 2, 3}, Coord{3, 1, 5, 2}}) {
        check_plane_wave(false, n);
        check_plane_wave(true, n);
    }
}

TEST_CASE("wilson: the constant spinor shows the free quark mass") {
    World w(small, GaugeField(whole(small)), 0.1);
    const std::vector<Spinor> constant(w.lattice.local_sites(), random_field(1, 3)[0]);
    std::vector<Spinor> expected;
    for (const Spinor& s : constant) expected.push_back(combine(Spinor{}, 1 - 8 * 0.1, s));
    CHECK(distance(w.apply(constant), expected) < 1e-14);
}

TEST_CASE("wilson: the operator and its Schur complement are gamma5-hermitian") {
    World w(small, random_links(whole(small), 6), 0.14);
    const auto x = w.random(1), y = w.random(2);
    const Complex direct = local_inner_product(x, w.apply(y));
    const auto conjugated = times_gamma5(w.apply(times_gamma5(x)));
    CHECK(std::abs(direct - local_inner_product(conjugated, y)) < 1e-11);
    CHECK(distance(conjugated, w.apply(x, Dagger::yes)) < 1e-13);

    const auto xe = w.random_even(3), ye = w.random_even(4);
    const Complex schur = local_inner_product(xe, w.apply_schur(ye));
    const auto schur_conjugated = times_gamma5(w.apply_schur(times_gamma5(xe)));
    CHECK(std::abs(schur - local_inner_product(schur_conjugated, ye)) < 1e-11);
    CHECK(distance(schur_conjugated, w.apply_schur(xe, Dagger::yes)) < 1e-13);
    CHECK(std::abs(direct) > 1);  // the comparison is not one of zeros
}

TEST_CASE("wilson: the even-odd solution is the solution without preconditioning") {
    World w(small, random_links(whole(small), 7), 0.12);
    const auto source = w.random(1);
    const int most = 1000;

    std::vector<Spinor> direct(source.size());
    const Solution plain = solve([&](auto out, auto in, Dagger d) { w.m.apply(out, in, d); },
                                 direct, source, 1e-13, most, w.communication);
    REQUIRE(plain.converged);

    std::vector<Spinor> solution(source.size()), even_source(w.lattice.sites(0));
    w.m.prepare(even_source, source);
    const Solution schur = solve([&](auto out, auto in, Dagger d) { w.m.apply_schur(out, in, d); },
                                 std::span(solution).first(even_source.size()), even_source, 1e-13,
                                 most, w.communication);
    REQUIRE(schur.converged);
    w.m.reconstruct(solution, source);

    CHECK(distance(solution, direct) < 1e-11);
    CHECK(distance(w.apply(solution), source) < 1e-11);
    CHECK(schur.iterations < plain.iterations);  // what preconditioning is for
}

TEST_CASE("wilson: the solver reports the true residual of the solution, and when it gives up") {
    World w(small, random_links(whole(small), 8), 0.2);
    const auto source = w.random_even(1);
    std::vector<Spinor> x(source.size());
    const Operator schur = [&](auto out, auto in, Dagger d) { w.m.apply_schur(out, in, d); };
    const Solution few = solve(schur, x, source, 1e-10, 3, w.communication);
    CHECK(few.iterations == 3);
    CHECK_FALSE(few.converged);
    auto r = w.apply_schur(x);
    for (std::size_t i = 0; i < r.size(); ++i) r[i] = combine(source[i], -1, r[i]);
    const double found = std::sqrt(norm2(r, w.communication) / norm2(source, w.communication));
    CHECK(few.residual == Approx(found).epsilon(1e-10));

    // It goes on from where it was.
    const Solution rest = solve(schur, x, source, 1e-10, 1000, w.communication);
    CHECK(rest.converged);
    const Solution nothing_left = solve(schur, x, source, 1e-9, 1000, w.communication);
    CHECK(nothing_left.iterations == 0);
}

TEST_CASE("wilson: running on without a tolerance keeps the solution finite") {
    World w(small, random_links(whole(small), 8), 0.05);
    const auto source = w.random_even(1);
    std::vector<Spinor> x(source.size());
    const Operator schur = [&](auto out, auto in, Dagger d) { w.m.apply_schur(out, in, d); };
    solve(schur, x, source, 0, 5000, w.communication);
    CHECK(distance(w.apply_schur(x), source) < 1e-13);
}

TEST_CASE("wilson: plaquettes of space and of time are distinguished") {
    const Lattice lattice = whole(small);
    // Links in time with the phase theta x, all others 1: a plaquette in xt has the phase theta,
    // and -(nx - 1) theta where x wraps around; the others are 1.
    constexpr double theta = 0.3;
    GaugeField links(lattice);
    for (const int parity : {0, 1})
        for (int site = 0; site < lattice.sites(parity); ++site)
            for (int i = 0; i < 3; ++i)
                links.links[parity][site][3].e[i][i] =
                    std::polar(1.0, theta * lattice.global(parity, site)[0]);
    const Plaquettes found = plaquettes(links, lattice);
    CHECK(found.space == Approx(1).margin(1e-14));
    const double nx = small[0];
    const double xt = ((nx - 1) * std::cos(theta) + std::cos((nx - 1) * theta)) / nx;
    CHECK(found.time == Approx((xt + 2) / 3).margin(1e-14));
    CHECK(found.mean() == Approx((found.space + found.time) / 2).margin(1e-15));
}

TEST_CASE("wilson: the plaquette of unit links is one and does not change with the gauge") {
    const Lattice lattice = whole(small);
    CHECK(plaquettes(GaugeField(lattice), lattice).mean() == Approx(1).margin(1e-15));
    CHECK(link_trace(GaugeField(lattice), lattice) == Approx(1).margin(1e-15));

    GaugeField links = random_links(lattice, 11);
    const double before = plaquettes(links, lattice).mean();
    std::array<std::vector<Su3>, 2> g;
    CounterRandom random(12, 0);
    for (int parity : {0, 1})
        for (int site = 0; site < lattice.sites(parity); ++site)
            g[parity].push_back(random_su3(random));
    for (int parity : {0, 1})
        for (int site = 0; site < lattice.sites(parity); ++site)
            for (int mu = 0; mu < 4; ++mu) {
                const int ahead = lattice.neighbours(parity, site)[forward(mu)];
                Su3& u = links.links[parity][site][mu];
                u = g[parity][site] * u * adjoint(g[1 - parity][ahead]);
            }
    CHECK(plaquettes(links, lattice).mean() == Approx(before).margin(1e-13));
    CHECK(std::abs(before) > 1e-4);
}
