// SPDX-License-Identifier: BSD-3-Clause
#include "gauge_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>

namespace wilson {

namespace {

// The data that every step of reading the links needs.
struct Reading {
    const GaugeData& data;
    const Lattice& lattice;
    GaugeField& field;
    const SiteVisitor& visit;
};

template <class Word, class Float>
double number_at(const std::byte* bytes, bool big_endian) {
    const Word word = word_at<Word>(bytes, big_endian);
    return static_cast<double>(std::bit_cast<Float>(word));
}

template <class Word, class Float>
void put_number(double number, std::byte* bytes, bool big_endian) {
    const Word word = in_order(std::bit_cast<Word>(static_cast<Float>(number)), big_endian);
    std::memcpy(bytes, &word, sizeof word);
}

// A channel that brings one rank its part of a plane, declared once and used for all planes.
class Delivery {
  public:
    enum class Way { to, from };
    Delivery(Way way, int rank, std::size_t bytes) : buffer_(bytes) {
        memory_ = QMP_declare_msgmem(buffer_.data(), bytes);
        channel_ = way == Way::to ? QMP_declare_send_to(memory_, rank, 0)
                                  : QMP_declare_receive_from(memory_, rank, 0);
        if (!memory_ || !channel_)
            throw std::runtime_error(
                fmt::format("QMP could not declare a channel with rank {}", rank));
    }
    ~Delivery() {
        QMP_free_msghandle(channel_);
        QMP_free_msgmem(memory_);
    }
    Delivery(const Delivery&) = delete;
    Delivery& operator=(const Delivery&) = delete;

    std::byte* data() { return buffer_.data(); }
    void start() { check(QMP_start(channel_), "QMP_start"); }
    void wait() { check(QMP_wait(channel_), "QMP_wait"); }

  private:
    std::vector<std::byte> buffer_;
    QMP_msgmem_t memory_;
    QMP_msghandle_t channel_;
};

// One rank's part of a plane of x and y is its rows of x, one after the other.
void take_rows(std::byte* out, const std::vector<std::byte>& plane, const Lattice& lattice,
               const Coord& rank, std::size_t site_bytes) {
    const Coord& local = lattice.local();
    const std::size_t row_bytes = local[0] * site_bytes;
    for (int y = 0; y < local[1]; ++y) {
        const std::size_t first =
            std::size_t(rank[1] * local[1] + y) * lattice.extent()[0] + rank[0] * local[0];
        std::memcpy(out + y * row_bytes, plane.data() + first * site_bytes, row_bytes);
    }
}

// The part of a plane that belongs to this rank, as numbers.
void decode_plane(const Reading& reading, const std::byte* bytes, int z, int t) {
    const Lattice& lattice = reading.lattice;
    const std::size_t site_bytes = reading.data.site_bytes();
    for (int y = 0; y < lattice.local()[1]; ++y)
        for (int x = 0; x < lattice.local()[0]; ++x, bytes += site_bytes) {
            const auto [parity, site] = lattice.place({x, y, z, t});
            decode_site(reading.data, {bytes, site_bytes}, reading.field.links[parity][site]);
            reading.visit({bytes, site_bytes}, lattice.global_index(parity, site));
        }
}

// Rank 0: reads the planes in the order of the file. Returns an error text, or an empty one; the
// other ranks receive all their planes in any case, so that none waits for a message that is not
// sent.
std::string hand_out(const std::string& path, const Reading& reading) {
    const Lattice& lattice = reading.lattice;
    const Coord &extent = lattice.extent(), &grid = lattice.grid(), &local = lattice.local();
    const std::size_t site_bytes = reading.data.site_bytes();
    const std::size_t part_bytes = site_bytes * local[0] * local[1];
    std::vector<std::unique_ptr<Delivery>> deliveries(QMP_get_number_of_nodes());
    for (int rank = 0; rank < QMP_get_number_of_nodes(); ++rank)
        if (rank != QMP_get_node_number())
            deliveries[rank] = std::make_unique<Delivery>(Delivery::Way::to, rank, part_bytes);

    std::string trouble;
    std::ifstream file(path, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(reading.data.data_offset));
    std::vector<std::byte> plane(site_bytes * extent[0] * extent[1]), mine(part_bytes);
    for (int t = 0; t < extent[3]; ++t)
        for (int z = 0; z < extent[2]; ++z) {
            if (!file.read(reinterpret_cast<char*>(plane.data()),
                           static_cast<std::streamsize>(plane.size())) &&
                trouble.empty())
                trouble = fmt::format("{}: reading the links at z={}, t={} failed", path, z, t);
            Coord rank{0, 0, z / local[2], t / local[3]};
            for (rank[1] = 0; rank[1] < grid[1]; ++rank[1])
                for (rank[0] = 0; rank[0] < grid[0]; ++rank[0]) {
                    auto& delivery = deliveries[QMP_get_node_number_from(rank.data())];
                    if (delivery) {
                        delivery->wait();  // for the plane before; returns immediately the first
                                           // time
                        take_rows(delivery->data(), plane, lattice, rank, site_bytes);
                        delivery->start();
                    } else {
                        take_rows(mine.data(), plane, lattice, rank, site_bytes);
                        decode_plane(reading, mine.data(), z % local[2], t % local[3]);
                    }
                }
        }
    for (auto& delivery : deliveries)
        if (delivery) delivery->wait();
    return trouble;
}

void take_in(const Reading& reading) {
    const Coord& local = reading.lattice.local();
    Delivery delivery(Delivery::Way::from, 0, reading.data.site_bytes() * local[0] * local[1]);
    for (int t = 0; t < local[3]; ++t)
        for (int z = 0; z < local[2]; ++z) {
            delivery.start();
            delivery.wait();
            decode_plane(reading, delivery.data(), z, t);
        }
}

}  // namespace

std::string in_quotes(std::string_view text) {
    std::string out = "'";
    for (const char c : text.substr(0, 60)) {
        if (c >= 0x20 && c < 0x7f)
            out += c;
        else
            out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    return out + (text.size() > 60 ? "...'" : "'");
}

void decode_site(const GaugeData& data, std::span<const std::byte> bytes, GaugeField::Site& site) {
    const std::byte* at = bytes.data();
    const auto next = [&] {
        const double value = data.word_bytes == 4
                                 ? number_at<std::uint32_t, float>(at, data.big_endian)
                                 : number_at<std::uint64_t, double>(at, data.big_endian);
        at += data.word_bytes;
        return value;
    };
    for (Su3& u : site) {
        for (int row = 0; row < data.rows; ++row)
            for (Complex& z : u.e[row]) {
                const double re = next();
                z = {re, next()};
            }
        if (data.rows == 2) complete_third_row(u);
    }
}

void encode_site(const GaugeData& data, const GaugeField::Site& site, std::span<std::byte> bytes) {
    std::byte* at = bytes.data();
    const auto put = [&](double number) {
        if (data.word_bytes == 4)
            put_number<std::uint32_t, float>(number, at, data.big_endian);
        else
            put_number<std::uint64_t, double>(number, at, data.big_endian);
        at += data.word_bytes;
    };
    for (const Su3& u : site)
        for (int row = 0; row < data.rows; ++row)
            for (const Complex& z : u.e[row]) {
                put(z.real());
                put(z.imag());
            }
}

std::uint64_t GaugeData::data_bytes() const {
    std::uint64_t bytes = site_bytes();
    for (const int n : extent) bytes *= static_cast<std::uint64_t>(n);
    return bytes;
}

OpenedFile open_regular(const std::string& path) {
    namespace fs = std::filesystem;
    std::error_code error;
    const auto status = fs::status(path, error);
    if (error) throw InputError(fmt::format("{}: {}", path, error.message()));
    if (!fs::is_regular_file(status))
        throw InputError(fmt::format("{}: expected a regular file", path));
    OpenedFile file{std::ifstream(path, std::ios::binary), fs::file_size(path, error)};
    if (error || !file.stream)
        throw InputError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
    return file;
}

void read_links(const std::string& path, const GaugeData& data, const Lattice& lattice,
                GaugeField& field, const SiteVisitor& visit) {
    const Reading reading{data, lattice, field, visit};
    std::string trouble;
    if (QMP_get_node_number() == 0)
        trouble = hand_out(path, reading);
    else
        take_in(reading);
    agree(trouble);
}

}  // namespace wilson
