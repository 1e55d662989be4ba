// SPDX-License-Identifier: BSD-3-Clause
// The links of a gauge field in a file, read and written by all ranks together with MPI-IO.
//
// The box of sites of a rank is a subarray of the lattice in the file, so the calls move the sites
// in the order of the file, whatever the grid of ranks. A rank holds its sites once more, as bytes.
#pragma once

#include <mpi.h>

#include <string>
#include <string_view>

#include "gauge_file.h"

namespace gauge_file {

// Reads the links; the contract of wilson::read_links. Every rank must reach the file.
void read_links(const std::string& path, const wilson::GaugeData& data,
                const wilson::Lattice& lattice, wilson::GaugeField& field,
                const wilson::SiteVisitor& visit);

// A file that all ranks write. All calls are collective; an error becomes the same InputError on
// all ranks.
class LinkWriter {
  public:
    // Creates the file, or empties it.
    explicit LinkWriter(std::string path);
    ~LinkWriter();
    LinkWriter(const LinkWriter&) = delete;
    LinkWriter& operator=(const LinkWriter&) = delete;

    // Writes `text` from byte `offset`; rank 0's counts.
    void text(std::uint64_t offset, std::string_view text);
    // Writes the links from byte data.data_offset.
    void links(const wilson::GaugeData& data, const wilson::Lattice& lattice,
               const wilson::GaugeField& field);
    void close();

  private:
    const std::string path_;
    MPI_File file_ = MPI_FILE_NULL;
};

}  // namespace gauge_file
