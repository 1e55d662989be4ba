// SPDX-License-Identifier: BSD-3-Clause
// make_nersc FILE FORMAT ROWS X Y Z T SEED: writes the configuration that `wilson --seed SEED`
// makes, for the scripts.
#include <cstdlib>

#include "nersc_writer.h"

int main(int argc, char** argv) {
    QMP_thread_level_t level;
    if (QMP_init_msg_passing(&argc, &argv, QMP_THREAD_SINGLE, &level) != QMP_SUCCESS) return 1;
    if (argc != 9) return 2;
    wilson::test::NerscFormat format;
    const std::string name = argv[2];
    format.word_bytes = name.starts_with("IEEE64") ? 8 : 4;
    format.big_endian = name.ends_with("BIG");
    format.rows = std::atoi(argv[3]);
    wilson::Coord extent;
    for (int mu = 0; mu < 4; ++mu) extent[mu] = std::atoi(argv[4 + mu]);
    const wilson::Lattice lattice(extent, {1, 1, 1, 1}, {0, 0, 0, 0});
    wilson::GaugeField field(lattice);
    wilson::randomise(field, lattice, std::strtoull(argv[8], nullptr, 10));
    wilson::test::write_file(argv[1], wilson::test::nersc_file(field, lattice, format));
    QMP_finalize_msg_passing();
}
