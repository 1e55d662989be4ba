// SPDX-License-Identifier: BSD-3-Clause
#include "options.h"

#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <charconv>

#include "command_line.h"

namespace wilson {

namespace {

// The whole text must be a number inside the bounds. The standard parser accepts -1 as a large
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

constexpr const char* examples = R"(
Examples:
  torus-run -np 8 torus-wilson --lattice 8x8x8x16 --grid 2x2x2x1 --kappa 0.12
  torus-run -np 16 torus-wilson --config szin-4444.nersc --grid 2x2x2x2 --tolerance 1e-10
  torus-run -np 4 torus-wilson --lattice 16x16x16x16 --tolerance 0 --iterations 100    (timing only)
  torus-run -np 8 torus-wilson --config field.lime --kappa 0.135 --antiperiodic --pion

Ends with 0 if the solution is good, 1 if it is not, 2 if the input is wrong.
)";

}  // namespace

Options parse_options(int argc, char** argv, std::string& help) {
    namespace po = boost::program_options;
    po::options_description description(
        "torus-wilson: even-odd preconditioned Wilson operator and CG on all ranks\n\nOptions");
    std::string lattice, grid, kappa, tolerance, iterations, seed, start;
    Options o;
    auto add = description.add_options();
    add("help,h", "this text");
    add("version", "print the version");
    add("lattice", po::value(&lattice), "extent of the lattice, 8x8x8x16 unless --config is given");
    add("grid", po::value(&grid), "ranks in each dimension (default: least surface)");
    add("config", po::value(&o.config),
        "gauge configuration: a file in the NERSC archive format or in ILDG format (LIME)");
    add("start", po::value(&start)->default_value("hot"),
        "links without --config: hot (random) or cold (all 1)");
    add("seed", po::value(&seed)->default_value("1"), "of random links and of the source");
    add("kappa", po::value(&kappa)->default_value("0.12"), "hopping parameter");
    add("antiperiodic", "fermions antiperiodic in time (default: periodic)");
    add("tolerance", po::value(&tolerance)->default_value("1e-8"),
        "solve until |b - M x| / |b| is at most this; 0 does all iterations, for timing");
    add("iterations", po::value(&iterations)->default_value("1000"),
        "iterations at most, for each source");
    add("pion", "print the pion correlator of a point source at the origin (12 solutions)");

    const po::variables_map given = read_command_line(argc, argv, description, examples, help);
    o.help = given.count("help") > 0;
    o.antiperiodic = given.count("antiperiodic") > 0;
    o.pion = given.count("pion") > 0;
    if (given.count("lattice")) o.lattice = parse_coord("lattice", lattice);
    if (given.count("grid")) o.grid = parse_coord("grid", grid);
    if (start != "hot" && start != "cold")
        throw InputError(fmt::format("--start: found '{}', expected hot or cold", start));
    o.cold = start == "cold";
    o.kappa = parse("kappa", kappa, -1.0, 1.0);
    o.tolerance = parse("tolerance", tolerance, 0.0, 1.0);
    o.iterations = parse("iterations", iterations, 1, 1'000'000'000);
    if (o.pion && o.tolerance == 0)
        throw InputError(
            "--pion: found --tolerance 0, expected a tolerance above 0: a correlator needs "
            "solutions");
    o.seed = parse("seed", seed, std::uint64_t{0}, ~std::uint64_t{0});
    return o;
}

}  // namespace wilson
