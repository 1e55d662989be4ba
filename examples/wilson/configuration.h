// SPDX-License-Identifier: BSD-3-Clause
// A gauge configuration in a file of any supported format.
//
// Functions are collective: all ranks call them, and an error becomes the same InputError on all
// ranks.
#pragma once

#include <string>
#include <variant>

#include "ildg.h"
#include "nersc.h"

namespace wilson {

class Configuration {
  public:
    // Reads the header.
    explicit Configuration(const std::string& path);

    const Coord& extent() const;
    GaugeField read(const Lattice& lattice, const LinkReader& read = read_links) const;

    // Compares the measured values with those in the header; returns a line with the verified
    // properties.
    std::string verify(double plaquette, double link_trace) const;

  private:
    std::string path_;
    std::variant<NerscHeader, IldgHeader> header_;
};

}  // namespace wilson
