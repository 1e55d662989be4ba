// SPDX-License-Identifier: BSD-3-Clause
// wilson: solves M x = b for the Wilson operator on a lattice spread over all ranks, and says how
// long it took.
#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>
#include <span>
#include <sstream>

#include "cg.h"
#include "dslash.h"
#include "gauge.h"
#include "lattice.h"
#include "nersc.h"
#include "random.h"

using namespace wilson;

namespace {

constexpr int exit_not_converged = 1;
constexpr int exit_bad_input = 2;

struct Options {
    bool help = false, antiperiodic = false, cold = false;
    std::optional<Coord> lattice, grid;
    std::string config;
    double kappa = 0, tolerance = 0;
    int iterations = 0;
    std::uint64_t seed = 0;
};

// The whole text must be a number inside the bounds. The library's own parser takes -1 for a large
// unsigned number.
template <class Number>
Number parse(const char* option, const std::string& text, Number low, Number high) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() ||
        !(value >= low && value <= high))
        throw InputError(fmt::format("--{}: found '{}', expected a number from {} to {}", option,
                                     text, low, high));
    return value;
}

Coord parse_coord(const char* option, const std::string& text) {
    Coord c{};
    const char* at = text.data();
    const char* const end = text.data() + text.size();
    for (int mu = 0; mu < 4; ++mu) {
        const auto [next, error] = std::from_chars(at, end, c[mu]);
        const bool good = error == std::errc{} && c[mu] > 0 &&
                          (mu < 3 ? next != end && *next == 'x' : next == end);
        if (!good)
            throw InputError(fmt::format(
                "--{}: found '{}', expected four positive numbers such as 8x8x8x16", option, text));
        at = next + 1;
    }
    return c;
}

constexpr const char* examples = R"(
Examples:
  torus-run -np 8 wilson --lattice 8x8x8x16 --grid 2x2x2x1 --kappa 0.12
  torus-run -np 16 wilson --config szin-4444.nersc --grid 2x2x2x2 --tolerance 1e-10
  torus-run -np 4 wilson --lattice 16x16x16x16 --tolerance 0 --iterations 100    (timing only)

Ends with 0 if the solution is good, 1 if it is not, 2 if the input is wrong.
)";

Options parse_options(int argc, char** argv, std::string& help) {
    namespace po = boost::program_options;
    po::options_description description(
        "wilson: even-odd preconditioned Wilson operator and CG on all ranks\n\nOptions");
    std::string lattice, grid, kappa, tolerance, iterations, seed, start;
    Options o;
    auto add = description.add_options();
    add("help,h", "this text");
    add("lattice", po::value(&lattice), "extent of the lattice, 8x8x8x16 unless --config is given");
    add("grid", po::value(&grid), "ranks in each dimension (default: least surface)");
    add("config", po::value(&o.config), "gauge configuration, a NERSC archive file");
    add("start", po::value(&start)->default_value("hot"),
        "links without --config: hot (random) or cold (all 1)");
    add("seed", po::value(&seed)->default_value("1"), "of random links and of the source");
    add("kappa", po::value(&kappa)->default_value("0.12"), "hopping parameter");
    add("antiperiodic", "fermions antiperiodic in time (default: periodic)");
    add("tolerance", po::value(&tolerance)->default_value("1e-8"),
        "of |b - M x| / |b|; 0 does all iterations, for timing");
    add("iterations", po::value(&iterations)->default_value("1000"), "at most so many");

    po::variables_map given;
    // No guessing: a shortened option may mean something else in the next version.
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    po::positional_options_description none;
    try {
        po::store(po::command_line_parser(argc, argv)
                      .options(description)
                      .positional(none)
                      .style(style)
                      .run(),
                  given);
        po::notify(given);
    } catch (const po::error& error) {
        throw InputError(fmt::format("{}; --help lists the options", error.what()));
    }
    std::ostringstream text;
    text << description << examples;
    help = text.str();
    o.help = given.count("help") > 0;
    o.antiperiodic = given.count("antiperiodic") > 0;
    if (given.count("lattice")) o.lattice = parse_coord("lattice", lattice);
    if (given.count("grid")) o.grid = parse_coord("grid", grid);
    if (start != "hot" && start != "cold")
        throw InputError(fmt::format("--start: found '{}', expected hot or cold", start));
    o.cold = start == "cold";
    o.kappa = parse("kappa", kappa, -1.0, 1.0);
    o.tolerance = parse("tolerance", tolerance, 0.0, 1.0);
    o.iterations = parse("iterations", iterations, 1, 1'000'000'000);
    o.seed = parse("seed", seed, std::uint64_t{0}, ~std::uint64_t{0});
    return o;
}

bool is_root() {
    return QMP_get_node_number() == 0;
}

template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
    if (!is_root()) return;
    fmt::print(format, std::forward<Args>(args)...);
    std::fflush(stdout);
}

Lattice lay_out(const Options& o, const std::optional<NerscHeader>& header) {
    Coord extent = o.lattice.value_or(Coord{8, 8, 8, 16});
    if (header) {
        if (o.lattice && *o.lattice != header->extent)
            throw InputError(fmt::format("{}:{}: the configuration is {}, but --lattice says {}",
                                         o.config, header->line.extent, to_string(header->extent),
                                         to_string(*o.lattice)));
        extent = header->extent;
    }
    const int ranks = QMP_get_number_of_nodes();
    const Coord grid = o.grid ? *o.grid : best_grid(extent, ranks);
    check_layout(extent, grid, ranks);
    check(QMP_declare_logical_topology(grid.data(), 4), "QMP_declare_logical_topology");
    const int* here = QMP_get_logical_coordinates();
    Lattice lattice(extent, grid, {here[0], here[1], here[2], here[3]});
    say("lattice            {} on a grid of {} ranks, {} sites each\n", to_string(extent),
        to_string(grid), to_string(lattice.local()));
    return lattice;
}

GaugeField make_links(const Options& o, const std::optional<NerscHeader>& header,
                      const Lattice& lattice) {
    GaugeField gauge(lattice);
    if (header)
        read_nersc_links(o.config, *header, lattice, gauge);
    else if (!o.cold)
        randomise(gauge, lattice, o.seed);

    const double mean_plaquette = plaquette(gauge, lattice);
    const double mean_trace = link_trace(gauge, lattice);
    if (header) {
        check_nersc(o.config, *header, mean_plaquette, mean_trace);
        say("links              {}, checksum {:08x}\n", o.config, header->checksum);
        say("plaquette          {:.10f} (header {:.10f})\n", mean_plaquette, header->plaquette);
        say("link trace         {:.10f} (header {:.10f})\n", mean_trace, header->link_trace);
    } else {
        if (o.cold)
            say("links              cold, all 1\n");
        else
            say("links              hot, seed {}\n", o.seed);
        say("plaquette          {:.10f}\n", mean_plaquette);
        say("link trace         {:.10f}\n", mean_trace);
    }
    if (o.antiperiodic) make_antiperiodic(gauge, lattice);
    return gauge;
}

std::vector<Spinor> make_source(const Lattice& lattice, std::uint64_t seed) {
    std::vector<Spinor> source;
    for (const int parity : {0, 1})
        for (int site = 0; site < lattice.sites(parity); ++site) {
            // The links use the streams from 0 to 4 volume - 1.
            CounterRandom random(seed, 4 * lattice.volume() + lattice.global_index(parity, site));
            Spinor s;
            for (int spin = 0; spin < 4; ++spin)
                for (int colour = 0; colour < 3; ++colour)
                    set_component(s, spin, colour, random.gaussian());
            source.push_back(s);
        }
    return source;
}

// The time of the slowest rank, and the share of communication in the mean over ranks.
void report_speed(const WilsonOperator& m, const Lattice& lattice, int iterations, double seconds,
                  double in_communication) {
    if (iterations == 0) return;
    const int ranks = QMP_get_number_of_nodes();
    double slowest = seconds;
    check(QMP_max_double(&slowest), "QMP_max_double");
    double sums[] = {seconds, in_communication};
    check(QMP_sum_double_array(sums, 2), "QMP_sum_double_array");
    const double flops =
        2 * m.schur_flops() + solver_flops_a_site * static_cast<double>(lattice.volume()) / 2;
    const double gigaflops = flops * iterations / slowest * 1e-9;
    say("time               {:.3f} s, {:.2f} us an iteration, {:.1f} % of it in communication\n",
        slowest, slowest / iterations * 1e6, 100 * sums[1] / sums[0]);
    say("speed              {:.3f} Gflop/s, {:.3f} a rank\n", gigaflops, gigaflops / ranks);
}

// |b - M x| / |b| on the whole lattice, from nothing but M, x and b.
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

int run(const Options& o) {
    std::optional<NerscHeader> header;
    if (!o.config.empty()) header = read_nersc_header(o.config);
    const Lattice lattice = lay_out(o, header);
    const GaugeField gauge = make_links(o, header, lattice);
    const std::vector<Spinor> source = make_source(lattice, o.seed);

    Stopwatch communication, total;
    WilsonOperator m(lattice, gauge, o.kappa, communication);
    std::vector<Spinor> solution(source.size());
    const auto even_solution = std::span(solution).first(lattice.sites(0));
    std::vector<Spinor> even_source(lattice.sites(0));
    m.prepare(even_source, source);

    // Everybody starts together, or the first wait would count as communication what was uneven
    // set-up.
    check(QMP_barrier(), "QMP_barrier");
    const double before = communication.seconds();
    Solution result;
    total.time([&] {
        result = solve([&](auto out, auto in, Dagger dagger) { m.apply_schur(out, in, dagger); },
                       even_solution, even_source, o.tolerance, o.iterations, communication);
    });
    const double in_communication = communication.seconds() - before;
    m.reconstruct(solution, source);

    const double residual = true_residual(m, solution, source, communication);
    const double norm = std::sqrt(norm2(solution, communication));
    say("solver             CG on S^+ S, kappa {}, {} in time: {} iterations, |r|/|b| {:.3e}\n",
        o.kappa, o.antiperiodic ? "antiperiodic" : "periodic", result.iterations, result.residual);
    say("true residual      {:.3e}\n", residual);
    say("solution norm      {:.13e}\n", norm);
    report_speed(m, lattice, result.iterations, total.seconds(), in_communication);
    if (o.tolerance == 0) return 0;
    // The source of the even system is not longer than a few times |b|, so the true residual is of
    // the same size.
    if (result.converged && residual <= 10 * o.tolerance) return 0;
    if (is_root())
        fmt::print(
            stderr,
            "wilson: not solved after {} iterations: residual {:.3e}, expected {:.1e}; allow "
            "more --iterations or choose a smaller --kappa\n",
            result.iterations, residual, o.tolerance);
    return exit_not_converged;
}

int run_and_catch(int argc, char** argv) {
    try {
        std::string help;
        const Options o = parse_options(argc, argv, help);
        if (o.help) {
            say("{}", help);
            return 0;
        }
        return run(o);
    } catch (const InputError& error) {  // the same on all ranks: one speaks, all end
        if (is_root()) fmt::print(stderr, "wilson: {}\n", error.what());
        return exit_bad_input;
    } catch (const std::exception& error) {  // on this rank alone: the others may wait for us
        fmt::print(stderr, "wilson: rank {}: {}\n", QMP_get_node_number(), error.what());
        QMP_abort(1);
        return 1;
    }
}

}  // namespace

int main(int argc, char** argv) {
#if defined(__x86_64__) && defined(__AVX2__) && defined(__FMA__)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
        fmt::print(stderr,
                   "wilson: built for processors with AVX2 and FMA, and this one lacks them; build "
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
