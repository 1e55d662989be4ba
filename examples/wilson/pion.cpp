// SPDX-License-Identifier: BSD-3-Clause
#include "pion.h"

#include <algorithm>
#include <cmath>

namespace wilson {

namespace {

double true_residual(WilsonOperator& m, std::span<const Spinor> x, std::span<const Spinor> b,
                     Stopwatch& communication) {
    std::vector<Spinor> r(b.size());
    m.apply(r, x, Dagger::no);
    for (std::size_t i = 0; i < r.size(); ++i)
        for (int c = 0; c < 3; ++c) {
            r[i].up[c] = b[i].up[c] - r[i].up[c];
            r[i].lo[c] = b[i].lo[c] - r[i].lo[c];
        }
    return std::sqrt(norm2(r, communication) / norm2(b, communication));
}

}  // namespace

TrueSolution solve_truly(WilsonOperator& m, std::span<const Spinor> b, const Accuracy& accuracy,
                         SolverTime& time, Stopwatch& communication) {
    const Lattice& lattice = m.lattice();
    TrueSolution solution;
    solution.x.resize(b.size());
    const auto even = std::span(solution.x).first(lattice.sites(0));
    std::vector<Spinor> even_source(lattice.sites(0));
    m.prepare(even_source, b);
    // With x_o reconstructed, b - M x is zero on odd sites and the residual of the even system on
    // even ones: only the norm that it is compared with differs.
    const double even_norm = std::sqrt(norm2(even_source, communication));
    const double to_even = even_norm > 0 ? std::sqrt(norm2(b, communication)) / even_norm : 0;
    const Operator schur = [&](auto out, auto in, Dagger dagger) { m.apply_schur(out, in, dagger); };

    // All ranks start together; otherwise the first wait would count uneven set-up as
    // communication.
    check(QMP_barrier(), "QMP_barrier");
    double goal = accuracy.tolerance * to_even;
    for (;;) {
        const double before = solution.residual;
        const double so_far = communication.seconds();
        time.total.time([&] {
            const int left = accuracy.iterations - solution.iterations;
            solution.iterations +=
                solve(schur, even, even_source, goal, left, communication).iterations;
        });
        time.communication += communication.seconds() - so_far;
        m.reconstruct(solution.x, b);
        solution.residual = true_residual(m, solution.x, b, communication);
        solution.converged = solution.residual <= accuracy.tolerance;
        const bool helps = solution.restarts == 0 || solution.residual < 0.5 * before;
        if (solution.converged || accuracy.tolerance == 0 || !helps ||
            solution.iterations >= accuracy.iterations)
            return solution;
        // The next recursion starts from the true residual of x. It must end below this goal.
        goal *= std::min(0.5, accuracy.tolerance / solution.residual);
        ++solution.restarts;
    }
}

PionCorrelator pion_correlator(WilsonOperator& m, const Accuracy& accuracy, SolverTime& time,
                               Stopwatch& communication) {
    const Lattice& lattice = m.lattice();
    PionCorrelator pion;
    pion.c.resize(static_cast<std::size_t>(lattice.extent()[3]));
    for (int spin = 0; spin < 4; ++spin)
        for (int colour = 0; colour < 3; ++colour) {
            std::vector<Spinor> b(static_cast<std::size_t>(lattice.local_sites()));
            // The origin is even, and its rank holds it as the first even site.
            if (lattice.sites(0) > 0 && lattice.global(0, 0) == Coord{0, 0, 0, 0})
                set_component(b[0], spin, colour, 1);
            const TrueSolution s = solve_truly(m, b, accuracy, time, communication);
            pion.iterations += s.iterations;
            pion.most_iterations = std::max(pion.most_iterations, s.iterations);
            pion.worst_residual = std::max(pion.worst_residual, s.residual);
            pion.converged = pion.converged && s.converged;
            std::size_t at = 0;
            for (const int parity : {0, 1})
                for (int site = 0; site < lattice.sites(parity); ++site, ++at)
                    for (int i = 0; i < 4; ++i)
                        for (int k = 0; k < 3; ++k)
                            pion.c[static_cast<std::size_t>(lattice.global(parity, site)[3])] +=
                                std::norm(component(s.x[at], i, k));
        }
    global_sum(pion.c, communication);
    return pion;
}

}  // namespace wilson
