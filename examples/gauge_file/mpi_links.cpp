// SPDX-License-Identifier: BSD-3-Clause
#include "mpi_links.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace gauge_file {

using namespace wilson;

namespace {

// Errors of files return: MPI_ERRORS_RETURN is their default handler. `error` may be one rank's.
void agree_on(int error, const std::string& path, const char* action) {
    // The lowest rank that failed speaks.
    int size = 0, rank = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int mine = error == MPI_SUCCESS ? size : rank, first = size;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == size) return;
    std::array<char, MPI_MAX_ERROR_STRING + 1> words{};
    int length = 0;
    if (rank == first) MPI_Error_string(error, words.data(), &length);
    MPI_Bcast(words.data(), static_cast<int>(words.size()), MPI_CHAR, first, MPI_COMM_WORLD);
    throw InputError(fmt::format("{}: {} failed: {}", path, action, words.data()));
}

// The sites of this rank in the file: its box of the lattice, x fastest.
class BoxOfSites {
  public:
    BoxOfSites(const GaugeData& data, const Lattice& lattice) {
        Coord first;
        const int* const place = QMP_get_logical_coordinates();
        for (int mu = 0; mu < 4; ++mu) first[mu] = place[mu] * lattice.local()[mu];
        MPI_Type_contiguous(static_cast<int>(data.site_bytes()), MPI_BYTE, &site_);
        MPI_Type_create_subarray(4, lattice.extent().data(), lattice.local().data(), first.data(),
                                 MPI_ORDER_FORTRAN, site_, &box_);
        MPI_Type_commit(&site_);
        MPI_Type_commit(&box_);
    }
    ~BoxOfSites() {
        MPI_Type_free(&box_);
        MPI_Type_free(&site_);
    }
    BoxOfSites(const BoxOfSites&) = delete;
    BoxOfSites& operator=(const BoxOfSites&) = delete;

    MPI_Datatype site() const { return site_; }
    int view(MPI_File file, const GaugeData& data) const {
        return MPI_File_set_view(file, static_cast<MPI_Offset>(data.data_offset), site_, box_,
                                 "native", MPI_INFO_NULL);
    }

  private:
    MPI_Datatype site_ = MPI_DATATYPE_NULL, box_ = MPI_DATATYPE_NULL;
};

// The sites of this rank in the order of the file: visit(parity, site).
template <class Visit>
void for_each_site(const Lattice& lattice, Visit&& visit) {
    const Coord& local = lattice.local();
    for (int t = 0; t < local[3]; ++t)
        for (int z = 0; z < local[2]; ++z)
            for (int y = 0; y < local[1]; ++y)
                for (int x = 0; x < local[0]; ++x) visit(lattice.place({x, y, z, t}));
}

}  // namespace

void read_links(const std::string& path, const GaugeData& data, const Lattice& lattice,
                GaugeField& field, const SiteVisitor& visit) {
    MPI_File file = MPI_FILE_NULL;
    agree_on(MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
             path, "opening it");
    const std::size_t site_bytes = data.site_bytes();
    std::vector<std::byte> bytes(site_bytes * static_cast<std::size_t>(lattice.local_sites()));
    MPI_Status status;
    int sites = 0;
    int error;
    {
        const BoxOfSites box(data, lattice);
        error = box.view(file, data);
        if (error == MPI_SUCCESS)
            error =
                MPI_File_read_all(file, bytes.data(), lattice.local_sites(), box.site(), &status);
        if (error == MPI_SUCCESS) MPI_Get_count(&status, box.site(), &sites);
    }
    MPI_File_close(&file);
    agree_on(error, path, "reading the links");
    int missing = lattice.local_sites() - sites, most = 0;
    MPI_Allreduce(&missing, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (most != 0) throw InputError(fmt::format("{}: the file ends within the links", path));
    std::span<const std::byte> rest = bytes;
    for_each_site(lattice, [&](const Lattice::Place& place) {
        decode_site(data, rest.first(site_bytes), field.links[place.parity][place.site]);
        visit(rest.first(site_bytes), lattice.global_index(place.parity, place.site));
        rest = rest.subspan(site_bytes);
    });
}

LinkWriter::LinkWriter(std::string path) : path_(std::move(path)) {
    agree_on(MPI_File_open(MPI_COMM_WORLD, path_.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY,
                           MPI_INFO_NULL, &file_),
             path_, "creating it");
    agree_on(MPI_File_set_size(file_, 0), path_, "emptying it");
}

LinkWriter::~LinkWriter() {
    if (file_ != MPI_FILE_NULL) MPI_File_close(&file_);
}

void LinkWriter::text(std::uint64_t offset, std::string_view text) {
    agree_on(MPI_File_set_view(file_, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), path_,
             "setting the view");
    agree_on(MPI_File_write_at_all(file_, static_cast<MPI_Offset>(offset), text.data(),
                                   QMP_get_node_number() == 0 ? static_cast<int>(text.size()) : 0,
                                   MPI_BYTE, MPI_STATUS_IGNORE),
             path_, "writing");
}

void LinkWriter::links(const GaugeData& data, const Lattice& lattice, const GaugeField& field) {
    const std::size_t site_bytes = data.site_bytes();
    std::vector<std::byte> bytes(site_bytes * static_cast<std::size_t>(lattice.local_sites()));
    std::span<std::byte> rest = bytes;
    for_each_site(lattice, [&](const Lattice::Place& place) {
        encode_site(data, field.links[place.parity][place.site], rest.first(site_bytes));
        rest = rest.subspan(site_bytes);
    });
    const BoxOfSites box(data, lattice);
    agree_on(box.view(file_, data), path_, "setting the view");
    agree_on(MPI_File_write_all(file_, bytes.data(), lattice.local_sites(), box.site(),
                                MPI_STATUS_IGNORE),
             path_, "writing the links");
}

void LinkWriter::close() {
    agree_on(MPI_File_close(&file_), path_, "closing it");
}

}  // namespace gauge_file
