// SPDX-License-Identifier: BSD-3-Clause
// torus-gauge-file: writes a gauge field, from a file or random, in NERSC's or ILDG's format. All
// ranks read and write together with MPI-IO.
#include <fmt/format.h>
#include <mpi.h>

#include <boost/program_options.hpp>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "command_line.h"
#include "configuration.h"
#include "formats.h"
#include "mpi_links.h"

using namespace wilson;

namespace {

constexpr int exit_bad_input = 2;

constexpr const char* examples = R"(
Examples:
  torus-run -np 8 torus-gauge-file --from szin-4444.nersc --to field.lime --format ILDG64
  torus-run -np 4 torus-gauge-file --lattice 8x8x8x16 --seed 7 --to hot.nersc --format IEEE64BIG --rows 2

Every rank must reach the files. The bytes do not depend on the number of ranks and their grid.

Ends with 0 if the file is written, 2 if the input is wrong.
)";

struct Options {
    bool help = false;
    std::string from, to;
    std::optional<Coord> lattice, grid;
    std::uint64_t seed = 1;
    gauge_file::Format format{};
    int rows = 3;
};

Options parse_options(int argc, char** argv, std::string& help) {
    namespace po = boost::program_options;
    po::options_description description(
        "torus-gauge-file: writes a gauge field in NERSC's or ILDG's format on all ranks with "
        "MPI-IO\n\nOptions");
    std::string lattice, grid, format;
    Options o;
    auto add = description.add_options();
    add("help,h", "this text");
    add("version", "print the version");
    add("from", po::value(&o.from),
        "file to read: in the NERSC archive format or in ILDG format (LIME)");
    add("lattice", po::value(&lattice), "without --from: extent of a lattice with random links");
    add("seed", po::value(&o.seed)->default_value(1), "of random links");
    add("to", po::value(&o.to), "file to write");
    add("format", po::value(&format)->default_value("ILDG64"),
        "IEEE32BIG, IEEE32LITTLE, IEEE64BIG or IEEE64LITTLE (NERSC), ILDG32 or ILDG64");
    add("rows", po::value(&o.rows)->default_value(3), "of each link in NERSC's format: 2 or 3");
    add("grid", po::value(&grid), "ranks in each dimension (default: least surface)");
    const po::variables_map given = read_command_line(argc, argv, description, examples, help);
    o.help = given.count("help") > 0;
    if (o.help) return o;
    if (o.to.empty()) throw InputError("no file to write: give --to FILE");
    if (o.from.empty() == lattice.empty())
        throw InputError("expected either --from FILE or --lattice XxYxZxT");
    if (o.rows != 2 && o.rows != 3)
        throw InputError(fmt::format("--rows: found {}, expected 2 or 3", o.rows));
    if (!lattice.empty()) o.lattice = parse_coord("lattice", lattice);
    if (!grid.empty()) o.grid = parse_coord("grid", grid);
    o.format = gauge_file::parse_format(format);
    return o;
}

template <class... Args>
void report(fmt::format_string<Args...> format, Args&&... args) {
    if (QMP_get_node_number() != 0) return;
    fmt::print(format, std::forward<Args>(args)...);
    std::fflush(stdout);
}

Lattice lay_out(const Coord& extent, const std::optional<Coord>& wanted) {
    const int ranks = QMP_get_number_of_nodes();
    const Coord grid = wanted ? *wanted : best_grid(extent, ranks);
    check_layout(extent, grid, ranks);
    check(QMP_declare_logical_topology(grid.data(), 4), "QMP_declare_logical_topology");
    const int* const here = QMP_get_logical_coordinates();
    report("lattice            {} on a grid of {} ranks\n", to_string(extent), to_string(grid));
    return Lattice(extent, grid, {here[0], here[1], here[2], here[3]});
}

void run(const Options& o) {
    std::optional<Configuration> from;
    if (!o.from.empty()) from.emplace(o.from);
    const Lattice lattice = lay_out(from ? from->extent() : *o.lattice, o.grid);
    GaugeField field = from ? from->read(lattice, gauge_file::read_links) : GaugeField(lattice);
    if (from) {
        const double plaquette = plaquettes(field, lattice).mean();
        report("read               {}: {}\n", o.from,
               from->verify(plaquette, link_trace(field, lattice)));
    } else {
        randomise(field, lattice, o.seed);
    }
    const std::string properties = gauge_file::write_file(o.to, o.format, o.rows, lattice, field);
    report("written            {}: {}\n", o.to, properties);
}

int run_and_catch(int argc, char** argv) {
    try {
        std::string help;
        const Options o = parse_options(argc, argv, help);
        if (o.help)
            report("{}", help);
        else
            run(o);
        return 0;
    } catch (const InputError& error) {  // the same on all ranks: one prints it, all end
        if (QMP_get_node_number() == 0) fmt::print(stderr, "torus-gauge-file: {}\n", error.what());
        return exit_bad_input;
    } catch (const std::exception& error) {  // on this rank alone: the others may be waiting for it
        fmt::print(stderr, "torus-gauge-file: rank {}: {}\n", QMP_get_node_number(), error.what());
        QMP_abort(1);
        return 1;
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::string_view(argv[1]) == "--version") {
        fmt::print("torus-gauge-file (torusmp) {}\n", TORUSMP_VERSION);
        return 0;
    }
    QMP_thread_level_t level;
    if (QMP_init_msg_passing(&argc, &argv, QMP_THREAD_SINGLE, &level) != QMP_SUCCESS) return 1;
    MPI_Init(&argc, &argv);
    const int code = run_and_catch(argc, argv);
    MPI_Finalize();
    QMP_finalize_msg_passing();
    return code;
}
