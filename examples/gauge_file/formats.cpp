// SPDX-License-Identifier: BSD-3-Clause
#include "formats.h"

#include <fmt/format.h>

#include <vector>

#include "ildg.h"
#include "mpi_links.h"
#include "nersc.h"

namespace gauge_file {

using namespace wilson;

namespace {

// Calls add(bytes, index) for each site of this rank.
template <class Add>
void for_each_encoded(const GaugeData& data, const Lattice& lattice, const GaugeField& field,
                      Add&& add) {
    std::vector<std::byte> bytes(data.site_bytes());
    for (const int parity : {0, 1})
        for (int site = 0; site < lattice.sites(parity); ++site) {
            encode_site(data, field.links[parity][site], bytes);
            add(bytes, lattice.global_index(parity, site));
        }
}

template <class Word>
void append_word(std::string& text, Word word) {
    word = in_order(word, true);
    text.append(reinterpret_cast<const char*>(&word), sizeof word);
}

// A record's header; its data follow.
std::string lime_header(const char* type, std::uint64_t bytes, bool begins, bool ends) {
    std::string text;
    append_word(text, lime_magic);
    append_word(text, std::uint16_t{1});  // version
    append_word(text, static_cast<std::uint16_t>(begins << 15 | ends << 14));
    append_word(text, bytes);
    text += type;
    text.resize(lime_header_bytes, '\0');
    return text;
}

std::string lime_record(const char* type, const std::string& data, bool begins, bool ends) {
    std::string text = lime_header(type, data.size(), begins, ends) + data;
    text.resize((text.size() + 7) / 8 * 8, '\0');
    return text;
}

std::string write_ildg(const std::string& path, GaugeData data, const Lattice& lattice,
                       const GaugeField& field) {
    const Coord& n = lattice.extent();
    const std::string head =
        lime_record("ildg-format",
                    fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
                                "<ildgFormat xmlns=\"http://www.lqcd.org/ildg\">"
                                "<version>1.0</version><field>su3gauge</field>"
                                "<precision>{}</precision>"
                                "<lx>{}</lx><ly>{}</ly><lz>{}</lz><lt>{}</lt></ildgFormat>",
                                8 * data.word_bytes, n[0], n[1], n[2], n[3]),
                    true, false) +
        lime_header("ildg-binary-data", data.data_bytes(), false, false);
    data.data_offset = head.size();
    SiteSums sums;
    for_each_encoded(
        data, lattice, field,
        [&](std::span<const std::byte> site, std::int64_t index) { sums.add(site, index); });
    sums.combine();
    const std::string tail =
        lime_record("scidac-checksum",
                    fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
                                "<scidacChecksum><version>1.0</version>"
                                "<suma>{:x}</suma><sumb>{:x}</sumb></scidacChecksum>",
                                sums.suma, sums.sumb),
                    false, true);
    LinkWriter file(path);
    file.text(0, head);
    file.links(data, lattice, field);
    // A site has a multiple of 8 bytes, so the record needs no padding.
    file.text(data.data_offset + data.data_bytes(), tail);
    file.close();
    return fmt::format("ILDG, {} bits, checksum {:08x} {:08x}", 8 * data.word_bytes, sums.suma,
                       sums.sumb);
}

std::string write_nersc(const std::string& path, GaugeData data, const Lattice& lattice,
                        const GaugeField& field) {
    std::uint32_t sum = 0;
    for_each_encoded(data, lattice, field, [&](std::span<const std::byte> site, std::int64_t) {
        sum += word_sum(site, data.big_endian);
    });
    sum = sum_over_ranks(sum);
    std::string head = "BEGIN_HEADER\nHDR_VERSION = 1.0\n";
    head += fmt::format("DATATYPE = 4D_SU3_GAUGE{}\n", data.rows == 3 ? "_3x3" : "");
    for (int mu = 0; mu < 4; ++mu)
        head += fmt::format("DIMENSION_{} = {}\n", mu + 1, lattice.extent()[mu]);
    for (int mu = 0; mu < 4; ++mu) head += fmt::format("BOUNDARY_{} = PERIODIC\n", mu + 1);
    head += fmt::format("LINK_TRACE = {:.10f}\nPLAQUETTE = {:.10f}\nCHECKSUM = {:08x}\n",
                        link_trace(field, lattice), plaquettes(field, lattice).mean(), sum);
    head += fmt::format("FLOATING_POINT = IEEE{}{}\nEND_HEADER\n", 8 * data.word_bytes,
                        data.big_endian ? "BIG" : "LITTLE");
    data.data_offset = head.size();
    LinkWriter file(path);
    file.text(0, head);
    file.links(data, lattice, field);
    file.close();
    return fmt::format("NERSC, {} rows of {}-bit numbers, checksum {:08x}", data.rows,
                       8 * data.word_bytes, sum);
}

}  // namespace

Format parse_format(const std::string& name) {
    for (const int bytes : {4, 8}) {
        for (const bool big : {true, false})
            if (name == fmt::format("IEEE{}{}", 8 * bytes, big ? "BIG" : "LITTLE"))
                return {false, bytes, big};
        if (name == fmt::format("ILDG{}", 8 * bytes)) return {true, bytes, true};
    }
    throw InputError(
        fmt::format("--format: found '{}', expected IEEE32BIG, IEEE32LITTLE, IEEE64BIG, "
                    "IEEE64LITTLE, ILDG32 or ILDG64",
                    name));
}

std::string write_file(const std::string& path, const Format& format, int rows,
                       const Lattice& lattice, const GaugeField& field) {
    const GaugeData data{lattice.extent(), format.ildg ? 3 : rows, format.word_bytes,
                         format.big_endian, 0};
    return (format.ildg ? write_ildg : write_nersc)(path, data, lattice, field);
}

}  // namespace gauge_file
