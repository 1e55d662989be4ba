// SPDX-License-Identifier: BSD-3-Clause
// wilson: solves M x = b for the Wilson operator on a lattice spread over all ranks, and prints the
// time it took.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <optional>
#include <span>
#include <string_view>

#include "cg.h"
#include "configuration.h"
#include "dslash.h"
#include "gauge.h"
#include "halo.h"
#include "lattice.h"
#include "options.h"
#include "pion.h"
#include "random.h"

using namespace wilson;

namespace {

constexpr int exit_not_converged = 1;
constexpr int exit_bad_input = 2;

bool is_root() {
    return QMP_get_node_number() == 0;
}

template <class... Args>
void report(fmt::format_string<Args...> format, Args&&... args) {
    if (!is_root()) return;
    fmt::print(format, std::forward<Args>(args)...);
    std::fflush(stdout);
}

Lattice lay_out(const Options& o, const std::optional<Configuration>& configuration) {
    Coord extent = o.lattice.value_or(Coord{8, 8, 8, 16});
    if (configuration) {
        if (o.lattice && *o.lattice != configuration->extent())
            throw InputError(fmt::format("{}: the configuration is {}, but --lattice says {}",
                                         o.config, to_string(configuration->extent()),
                                         to_string(*o.lattice)));
        extent = configuration->extent();
    }
    const int ranks = QMP_get_number_of_nodes();
    const Coord grid = o.grid ? *o.grid : best_grid(extent, ranks);
    check_layout(extent, grid, ranks);
    check(QMP_declare_logical_topology(grid.data(), 4), "QMP_declare_logical_topology");
    const int* here = QMP_get_logical_coordinates();
    Lattice lattice(extent, grid, {here[0], here[1], here[2], here[3]});
    report("lattice            {} on a grid of {} ranks, {} sites each\n", to_string(extent),
           to_string(grid), to_string(lattice.local()));
    return lattice;
}

GaugeField make_links(const Options& o, const std::optional<Configuration>& configuration,
                      const Lattice& lattice) {
    GaugeField gauge = configuration ? configuration->read(lattice) : GaugeField(lattice);
    if (!configuration && !o.cold) randomise(gauge, lattice, o.seed);

    const Plaquettes mean = plaquettes(gauge, lattice);
    const double mean_trace = link_trace(gauge, lattice);
    if (configuration)
        report("links              {}: {}\n", o.config,
               configuration->verify(mean.mean(), mean_trace));
    else if (o.cold)
        report("links              cold, all 1\n");
    else
        report("links              hot, seed {}\n", o.seed);
    report("plaquette          {:.10f} (space {:.10f}, time {:.10f})\n", mean.mean(), mean.space,
           mean.time);
    report("link trace         {:.10f}\n", mean_trace);
    if (o.antiperiodic) make_antiperiodic(gauge, lattice);
    return gauge;
}

std::vector<Spinor> make_source(const Lattice& lattice, std::uint64_t seed) {
    std::vector<Spinor> source;
    for (const int parity : {0, 1})
        for (int site = 0; site < lattice.sites(parity); ++site) {
            // The links use the streams from 0 to 4 volume - 1.
            CounterRandom random(seed, 4 * lattice.volume() + lattice.global_index(parity, site));
            source.push_back(random_spinor(random));
        }
    return source;
}

// The time of the slowest rank, and the share of communication in the mean over ranks.
void report_speed(const WilsonOperator& m, const Lattice& lattice, int iterations,
                  const SolverTime& time) {
    if (iterations == 0) return;
    const int ranks = QMP_get_number_of_nodes();
    double slowest = time.total.seconds();
    check(QMP_max_double(&slowest), "QMP_max_double");
    double sums[] = {time.total.seconds(), time.communication};
    check(QMP_sum_double_array(sums, 2), "QMP_sum_double_array");
    const double flops =
        2 * m.schur_flops() + solver_flops_a_site * static_cast<double>(lattice.volume()) / 2;
    const double gigaflops = flops * iterations / slowest * 1e-9;
    report("halo               {} bytes sent by each rank in an iteration\n",
           2 * m.schur_halo_bytes());
    report("time               {:.3f} s, {:.2f} us an iteration, {:.1f} % of it in communication\n",
           slowest, slowest / iterations * 1e6, 100 * sums[1] / sums[0]);
    report("speed              {:.3f} Gflop/s, {:.3f} a rank\n", gigaflops, gigaflops / ranks);
}

// Returns the exit code.
int judge(const Options& o, bool converged, int iterations, double residual) {
    if (o.tolerance == 0 || converged) return 0;
    if (is_root())
        fmt::print(
            stderr,
            "torus-wilson: not solved after {} iterations: |b - M x| / |b| is {:.3e}, expected at "
            "most {:.1e}; {}\n",
            iterations, residual, o.tolerance,
            iterations < o.iterations
                ? "double precision reaches no further: choose a larger --tolerance"
                : "allow more --iterations or choose a smaller --kappa");
    return exit_not_converged;
}

std::string restarted(int restarts) {
    return restarts == 0 ? "" : fmt::format(", {} restart{}", restarts, restarts == 1 ? "" : "s");
}

int solve_random(const Options& o, const Lattice& lattice, WilsonOperator& m,
                 Stopwatch& communication) {
    const std::vector<Spinor> source = make_source(lattice, o.seed);
    SolverTime time;
    const TrueSolution solution =
        solve_truly(m, source, {o.tolerance, o.iterations}, time, communication);
    report("solver             CG on S^+ S, kappa {}, {} in time: {} iterations{}\n", o.kappa,
           o.antiperiodic ? "antiperiodic" : "periodic", solution.iterations,
           restarted(solution.restarts));
    report("true residual      {:.3e}\n", solution.residual);
    report("solution norm      {:.13e}\n", std::sqrt(norm2(solution.x, communication)));
    report_speed(m, lattice, solution.iterations, time);
    return judge(o, solution.converged, solution.iterations, solution.residual);
}

int solve_pion(const Options& o, const Lattice& lattice, WilsonOperator& m,
               Stopwatch& communication) {
    SolverTime time;
    const PionCorrelator pion =
        pion_correlator(m, {o.tolerance, o.iterations}, time, communication);
    report("solver             CG on S^+ S, kappa {}, {} in time: {} iterations for 12 sources\n",
           o.kappa, o.antiperiodic ? "antiperiodic" : "periodic", pion.iterations);
    report("true residual      {:.3e} at most\n", pion.worst_residual);
    for (std::size_t t = 0; t < pion.c.size(); ++t)
        report("pion t={:<3}         {:.10e}\n", t, pion.c[t]);
    report_speed(m, lattice, pion.iterations, time);
    return judge(o, pion.converged, pion.most_iterations, pion.worst_residual);
}

int run(const Options& o) {
    std::optional<Configuration> configuration;
    if (!o.config.empty()) configuration.emplace(o.config);
    const Lattice lattice = lay_out(o, configuration);
    const GaugeField gauge = make_links(o, configuration, lattice);
    report("precision          double, 64 bits: links, spinors and sums\n");
    Stopwatch communication;
    WilsonOperator m(lattice, gauge, o.kappa, communication);
    return (o.pion ? solve_pion : solve_random)(o, lattice, m, communication);
}

int run_and_catch(int argc, char** argv) {
    try {
        std::string help;
        const Options o = parse_options(argc, argv, help);
        if (o.help) {
            report("{}", help);
            return 0;
        }
        return run(o);
    } catch (const InputError& error) {  // the same on all ranks: one prints it, all end
        if (is_root()) fmt::print(stderr, "torus-wilson: {}\n", error.what());
        return exit_bad_input;
    } catch (const std::exception& error) {  // on this rank alone: the others may be waiting for it
        fmt::print(stderr, "torus-wilson: rank {}: {}\n", QMP_get_node_number(), error.what());
        QMP_abort(1);
        return 1;
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::string_view(argv[1]) == "--version") {
        fmt::print("torus-wilson (torusmp) {}\n", TORUSMP_VERSION);
        return 0;
    }
#if defined(__x86_64__) && defined(__AVX2__) && defined(__FMA__)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
        fmt::print(
            stderr,
            "torus-wilson: built for processors with AVX2 and FMA, and this one lacks them; build "
            "again with -DWILSON_ARCHITECTURE=x86-64\n");
        return exit_bad_input;
    }
#endif
    QMP_thread_level_t level;
    if (QMP_init_msg_passing(&argc, &argv, QMP_THREAD_SINGLE, &level) != QMP_SUCCESS) return 1;
    const int code = run_and_catch(argc, argv);
    QMP_finalize_msg_passing();
    return code;
}
