// SPDX-License-Identifier: BSD-3-Clause
#include "configuration.h"

#include <fmt/format.h>

namespace wilson {

Configuration::Configuration(const std::string& path) : path_(path) {
    if (is_lime(path))
        header_ = read_ildg_header(path);
    else
        header_ = read_nersc_header(path);
}

const Coord& Configuration::extent() const {
    return std::visit([](const GaugeData& data) -> const Coord& { return data.extent; }, header_);
}

GaugeField Configuration::read(const Lattice& lattice, const LinkReader& read) const {
    GaugeField field(lattice);
    if (const auto* nersc = std::get_if<NerscHeader>(&header_))
        read_nersc_links(path_, *nersc, lattice, field, read);
    else
        read_ildg_links(path_, std::get<IldgHeader>(header_), lattice, field, read);
    return field;
}

std::string Configuration::verify(double plaquette, double link_trace) const {
    if (const auto* nersc = std::get_if<NerscHeader>(&header_)) {
        check_nersc(path_, *nersc, plaquette, link_trace);
        return fmt::format("NERSC, checksum {:08x}, plaquette and link trace as in the header",
                           nersc->checksum);
    }
    const auto& ildg = std::get<IldgHeader>(header_);
    return ildg.has_checksum
               ? fmt::format("ILDG, {} bits, checksum {:08x} {:08x}", 8 * ildg.word_bytes,
                             ildg.suma, ildg.sumb)
               : fmt::format("ILDG, {} bits, without a checksum", 8 * ildg.word_bytes);
}

}  // namespace wilson
