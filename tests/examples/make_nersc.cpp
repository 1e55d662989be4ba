// SPDX-License-Identifier: BSD-3-Clause
// Writes configurations for the scripts. FORMAT: IEEE32BIG ... of NERSC files, or ILDG32, ILDG64.
//   make_nersc FILE FORMAT ROWS X Y Z T SEED    what `wilson --seed SEED` makes
//   make_nersc FILE FORMAT CONFIGURATION        the links of another file
#include <cstdlib>

#include "configuration.h"
#include "ildg_writer.h"

namespace {

using namespace wilson;

std::string file_of(const GaugeField& field, const Lattice& lattice, const std::string& name,
                    int rows) {
    if (name == "ILDG32" || name == "ILDG64")
        return test::ildg_file(field, lattice, name == "ILDG32" ? 32 : 64);
    return test::nersc_file(field, lattice,
                            {rows, name.starts_with("IEEE64") ? 8 : 4, name.ends_with("BIG")});
}

}  // namespace

int main(int argc, char** argv) {
    QMP_thread_level_t level;
    if (QMP_init_msg_passing(&argc, &argv, QMP_THREAD_SINGLE, &level) != QMP_SUCCESS) return 1;
    if (argc == 4) {
        const Coord alone{1, 1, 1, 1};
        check(QMP_declare_logical_topology(alone.data(), 4), "QMP_declare_logical_topology");
        const Configuration from(argv[3]);
        const Lattice lattice(from.extent(), {1, 1, 1, 1}, {0, 0, 0, 0});
        test::write_file(argv[1], file_of(from.read(lattice), lattice, argv[2], 3));
    } else if (argc == 9) {
        Coord extent;
        for (int mu = 0; mu < 4; ++mu) extent[mu] = std::atoi(argv[4 + mu]);
        const Lattice lattice(extent, {1, 1, 1, 1}, {0, 0, 0, 0});
        GaugeField field(lattice);
        randomise(field, lattice, std::strtoull(argv[8], nullptr, 10));
        test::write_file(argv[1], file_of(field, lattice, argv[2], std::atoi(argv[3])));
    } else {
        return 2;
    }
    QMP_finalize_msg_passing();
}
