// SPDX-License-Identifier: BSD-3-Clause
// Writes NERSC archive files, for the tests of the reader. One process, which holds the whole
// lattice.
#pragma once

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>

#include "gauge.h"

namespace wilson::test {

struct NerscFormat {
    int rows = 2;
    int word_bytes = 4;
    bool big_endian = true;
    std::string name() const {
        return fmt::format("IEEE{}{}", 8 * word_bytes, big_endian ? "BIG" : "LITTLE");
    }
};

template <class Word>
void append_word(std::string& data, Word word, bool big_endian) {
    for (std::size_t i = 0; i < sizeof word; ++i) {
        const std::size_t shift = 8 * (big_endian ? sizeof word - 1 - i : i);
        data += static_cast<char>(word >> shift & 0xff);
    }
}

// The links as bytes of the file, in the file's order.
inline std::string nersc_data(const GaugeField& field, const Lattice& lattice,
                              const NerscFormat& format, std::uint32_t& checksum) {
    std::string data;
    checksum = 0;
    const auto append = [&](double number) {
        if (format.word_bytes == 4) {
            const auto word = std::bit_cast<std::uint32_t>(static_cast<float>(number));
            checksum += word;
            append_word(data, word, format.big_endian);
        } else {
            const auto word = std::bit_cast<std::uint64_t>(number);
            checksum += static_cast<std::uint32_t>(word) + static_cast<std::uint32_t>(word >> 32);
            append_word(data, word, format.big_endian);
        }
    };
    const Coord& extent = lattice.extent();
    for (int t = 0; t < extent[3]; ++t)
        for (int z = 0; z < extent[2]; ++z)
            for (int y = 0; y < extent[1]; ++y)
                for (int x = 0; x < extent[0]; ++x) {
                    const auto [parity, site] = lattice.place({x, y, z, t});
                    for (const Su3& u : field.links[parity][site])
                        for (int row = 0; row < format.rows; ++row)
                            for (const Complex& element : u.e[row]) {
                                append(element.real());
                                append(element.imag());
                            }
                }
    return data;
}

// A whole file. Collective over QMP, because plaquette and link trace are.
inline std::string nersc_file(const GaugeField& field, const Lattice& lattice,
                              const NerscFormat& format) {
    std::uint32_t checksum;
    const std::string data = nersc_data(field, lattice, format, checksum);
    std::string header = "BEGIN_HEADER\nHDR_VERSION = 1.0\n";
    header += fmt::format("DATATYPE = 4D_SU3_GAUGE{}\n", format.rows == 3 ? "_3x3" : "");
    for (int mu = 0; mu < 4; ++mu)
        header += fmt::format("DIMENSION_{} = {}\n", mu + 1, lattice.extent()[mu]);
    for (int mu = 0; mu < 4; ++mu) header += fmt::format("BOUNDARY_{} = PERIODIC\n", mu + 1);
    header += fmt::format("CHECKSUM = {:08x}\n", checksum);
    header += fmt::format("LINK_TRACE = {:.10f}\n", link_trace(field, lattice));
    header += fmt::format("PLAQUETTE = {:.10f}\n", plaquettes(field, lattice).mean());
    header += fmt::format("CREATOR = A=B, to see that only the first sign divides\n");
    header += fmt::format("FLOATING_POINT = {}\nEND_HEADER\n", format.name());
    return header + data;
}

inline void write_file(const std::string& path, const std::string& bytes) {
    std::ofstream file(path, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace wilson::test
