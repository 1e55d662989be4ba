// SPDX-License-Identifier: BSD-3-Clause
#include "nersc.h"

#include <fmt/format.h>

#include <bit>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <type_traits>

namespace wilson {

namespace {

// Real headers have some 25 lines. A file without END_HEADER in this much text is something else.
constexpr std::size_t longest_header = 64 * 1024;

[[noreturn]] void refuse(const std::string& path, int line, const std::string& what) {
    throw InputError(fmt::format("{}:{}: {}", path, line, what));
}

// Quotes what a file said: bytes that are no text are made visible, and long lines cut.
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

std::string_view trimmed(std::string_view s) {
    const auto first = s.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return {};
    return s.substr(first, s.find_last_not_of(" \t\r") - first + 1);
}

struct Entry {
    std::string value;
    int line;
};

// The keys of a header with their lines, and where it ends.
struct Keys {
    std::string path;
    std::map<std::string, Entry, std::less<>> entries;
    std::uint64_t bytes = 0;
    int last_line = 0;

    const Entry& get(std::string_view key) const {
        const auto found = entries.find(key);
        if (found == entries.end())
            refuse(path, last_line, fmt::format("the header ends without {}", key));
        return found->second;
    }

    // Base 16 for the checksum.
    template <class Number>
    Number number(std::string_view key, const char* expected, int base = 10) const {
        const auto& [text, line] = get(key);
        Number value{};
        std::from_chars_result result{};
        const char* const end = text.data() + text.size();
        if constexpr (std::is_floating_point_v<Number>)
            result = std::from_chars(text.data(), end, value);
        else
            result = std::from_chars(text.data(), end, value, base);
        bool good = result.ec == std::errc{} && result.ptr == end;
        if constexpr (std::is_floating_point_v<Number>) good = good && std::isfinite(value);
        if (!good)
            refuse(path, line,
                   fmt::format("{} is {}, expected {}", key, in_quotes(text), expected));
        return value;
    }
};

Keys split_header(std::string_view text, const std::string& path) {
    Keys keys;
    keys.path = path;
    std::size_t at = 0;
    for (int line = 1;; ++line) {
        const std::size_t newline = text.substr(0, longest_header).find('\n', at);
        if (line == 1 &&
            trimmed(text.substr(0, std::min(newline, std::size_t{80}))) != "BEGIN_HEADER")
            refuse(path, 1,
                   fmt::format("found {}, expected BEGIN_HEADER: this is no NERSC configuration",
                               in_quotes(text.substr(0, std::min(newline, std::size_t{80})))));
        if (newline == std::string_view::npos)
            refuse(path, line,
                   fmt::format("the header has no END_HEADER in its first {} bytes",
                               std::min(text.size(), longest_header)));
        const std::string_view words = trimmed(text.substr(at, newline - at));
        at = newline + 1;
        if (line == 1) continue;
        keys.last_line = line;
        keys.bytes = at;
        if (words == "END_HEADER") return keys;
        const auto equals = words.find('=');
        const std::string_view key = trimmed(words.substr(0, equals));
        if (equals == std::string_view::npos || key.empty())
            refuse(path, line, fmt::format("found {}, expected KEY = VALUE", in_quotes(words)));
        const Entry entry{std::string(trimmed(words.substr(equals + 1))), line};
        const auto [existing, is_new] = keys.entries.emplace(key, entry);
        if (!is_new)
            refuse(path, line,
                   fmt::format("{} again; line {} has it already", in_quotes(key),
                               existing->second.line));
    }
}

void parse_datatype(const Keys& keys, NerscHeader& header) {
    const auto& [value, line] = keys.get("DATATYPE");
    if (value == "4D_SU3_GAUGE")
        header.rows = 2;
    else if (value == "4D_SU3_GAUGE_3x3" || value == "4D_SU3_GAUGE_3X3")
        header.rows = 3;
    else
        refuse(keys.path, line,
               fmt::format("DATATYPE is {}, expected 4D_SU3_GAUGE or 4D_SU3_GAUGE_3x3",
                           in_quotes(value)));
}

void parse_floating_point(const Keys& keys, NerscHeader& header) {
    const auto& [value, line] = keys.get("FLOATING_POINT");
    header.line.floating_point = line;
    for (const int bytes : {4, 8})
        for (const bool big : {true, false})
            if (value == fmt::format("IEEE{}{}", 8 * bytes, big ? "BIG" : "LITTLE")) {
                header.word_bytes = bytes;
                header.big_endian = big;
                return;
            }
    refuse(keys.path, line,
           fmt::format("FLOATING_POINT is {}, expected IEEE32BIG, IEEE32LITTLE, IEEE64BIG or "
                       "IEEE64LITTLE",
                       in_quotes(value)));
}

void parse_dimensions(const Keys& keys, NerscHeader& header) {
    for (int mu = 0; mu < 4; ++mu) {
        const auto key = fmt::format("DIMENSION_{}", mu + 1);
        header.extent[mu] = keys.number<int>(key, "a number of sites");
        const int line = keys.get(key).line;
        if (mu == 0) header.line.extent = line;
        // The limit keeps the volume far from overflow, and is beyond any lattice that fits a file.
        if (header.extent[mu] < 1 || header.extent[mu] > 8192)
            refuse(keys.path, line,
                   fmt::format("{} is {}, expected 1 to 8192", key, header.extent[mu]));
        const auto boundary = keys.entries.find(fmt::format("BOUNDARY_{}", mu + 1));
        if (boundary != keys.entries.end() && boundary->second.value != "PERIODIC")
            refuse(keys.path, boundary->second.line,
                   fmt::format("{} is {}, expected PERIODIC: other boundaries are not supported",
                               boundary->first, in_quotes(boundary->second.value)));
    }
}

// Rank 0: the first bytes of the file, and its length compared with what the header asks for.
NerscHeader examine(const std::string& path) {
    namespace fs = std::filesystem;
    std::error_code error;
    const auto status = fs::status(path, error);
    if (error) throw InputError(fmt::format("{}: {}", path, error.message()));
    if (!fs::is_regular_file(status))
        throw InputError(fmt::format("{}: expected a regular file", path));
    const std::uint64_t found = fs::file_size(path, error);
    std::ifstream file(path, std::ios::binary);
    if (error || !file)
        throw InputError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
    std::string text(std::min<std::uint64_t>(found, longest_header), '\0');
    if (!file.read(text.data(), static_cast<std::streamsize>(text.size())))
        throw InputError(fmt::format("{}: reading the header failed", path));
    const NerscHeader header = parse_nersc_header(text, path);
    const std::uint64_t expected = header.data_offset + header.data_bytes();
    if (found != expected)
        throw InputError(fmt::format(
            "{}: {}: the file has {} bytes, but {} were expected: {} of header and {} of links for "
            "a {} lattice with {} rows of {}-bit numbers",
            path, found < expected ? "truncated" : "too long", found, expected, header.data_offset,
            header.data_bytes(), to_string(header.extent), header.rows, 8 * header.word_bytes));
    return header;
}

// The links of one file as numbers, and the sums of the words on the way.
class Decoder {
  public:
    explicit Decoder(const NerscHeader& header) : header_(header) {}

    // `bytes` is at a site's links.
    void decode(const std::byte* bytes, GaugeField::Site& site) {
        for (Su3& u : site) {
            for (int row = 0; row < header_.rows; ++row)
                for (Complex& z : u.e[row]) {
                    const double re = next(bytes);
                    z = {re, next(bytes)};
                }
            if (header_.rows == 2) complete_third_row(u);
        }
    }

    std::uint32_t sum() const { return sum_; }
    // The sum had the words the other byte order: it tells a damaged file from a wrong
    // FLOATING_POINT.
    std::uint32_t swapped_sum() const { return swapped_sum_; }

  private:
    double next(const std::byte*& bytes) {
        const double value = header_.word_bytes == 4 ? as<std::uint32_t, float>(bytes)
                                                     : as<std::uint64_t, double>(bytes);
        bytes += header_.word_bytes;
        return value;
    }

    template <class Word, class Float>
    double as(const std::byte* bytes) {
        const bool swap = header_.big_endian != (std::endian::native == std::endian::big);
        Word word;
        std::memcpy(&word, bytes, sizeof word);
        Word other = word;
        if constexpr (sizeof(Word) == 4)
            other = __builtin_bswap32(word);
        else
            other = __builtin_bswap64(word);
        if (swap) std::swap(word, other);
        sum_ += folded(word);
        swapped_sum_ += folded(other);
        return static_cast<double>(std::bit_cast<Float>(word));
    }

    static std::uint32_t folded(std::uint32_t word) { return word; }
    static std::uint32_t folded(std::uint64_t word) {
        return static_cast<std::uint32_t>(word) + static_cast<std::uint32_t>(word >> 32);
    }

    const NerscHeader& header_;
    std::uint32_t sum_ = 0, swapped_sum_ = 0;
};

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

void decode_plane(Decoder& decoder, const std::byte* bytes, std::size_t site_bytes,
                  const Lattice& lattice, int z, int t, GaugeField& field) {
    for (int y = 0; y < lattice.local()[1]; ++y)
        for (int x = 0; x < lattice.local()[0]; ++x, bytes += site_bytes) {
            const auto [parity, site] = lattice.place({x, y, z, t});
            decoder.decode(bytes, field.links[parity][site]);
        }
}

// Rank 0: reads the planes in the file's order. Returns what went wrong, or nothing; the others get
// all their planes in any case, so that nobody waits for a message that will not come.
std::string hand_out(const std::string& path, const NerscHeader& header, const Lattice& lattice,
                     Decoder& decoder, GaugeField& field) {
    const Coord &extent = lattice.extent(), &grid = lattice.grid(), &local = lattice.local();
    const std::size_t site_bytes = header.site_bytes();
    const std::size_t part_bytes = site_bytes * local[0] * local[1];
    std::vector<std::unique_ptr<Delivery>> deliveries(QMP_get_number_of_nodes());
    for (int rank = 0; rank < QMP_get_number_of_nodes(); ++rank)
        if (rank != QMP_get_node_number())
            deliveries[rank] = std::make_unique<Delivery>(Delivery::Way::to, rank, part_bytes);

    std::string trouble;
    std::ifstream file(path, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(header.data_offset));
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
                        delivery->wait();  // for the plane before; returns at once the first time
                        take_rows(delivery->data(), plane, lattice, rank, site_bytes);
                        delivery->start();
                    } else {
                        take_rows(mine.data(), plane, lattice, rank, site_bytes);
                        decode_plane(decoder, mine.data(), site_bytes, lattice, z % local[2],
                                     t % local[3], field);
                    }
                }
        }
    for (auto& delivery : deliveries)
        if (delivery) delivery->wait();
    return trouble;
}

void take_in(const NerscHeader& header, const Lattice& lattice, Decoder& decoder,
             GaugeField& field) {
    const Coord& local = lattice.local();
    Delivery delivery(Delivery::Way::from, 0, header.site_bytes() * local[0] * local[1]);
    for (int t = 0; t < local[3]; ++t)
        for (int z = 0; z < local[2]; ++z) {
            delivery.start();
            delivery.wait();
            decode_plane(decoder, delivery.data(), header.site_bytes(), lattice, z, t, field);
        }
}

std::uint32_t sum_over_ranks(std::uint32_t value) {
    std::uint64_t sum = value;
    check(QMP_sum_uint64_t(&sum), "QMP_sum_uint64_t");
    return static_cast<std::uint32_t>(sum);
}

}  // namespace

std::uint64_t NerscHeader::data_bytes() const {
    std::uint64_t bytes = site_bytes();
    for (const int n : extent) bytes *= static_cast<std::uint64_t>(n);
    return bytes;
}

NerscHeader parse_nersc_header(std::string_view text, const std::string& path) {
    const Keys keys = split_header(text, path);
    NerscHeader header{};
    header.data_offset = keys.bytes;
    parse_datatype(keys, header);
    parse_dimensions(keys, header);
    parse_floating_point(keys, header);
    header.checksum = keys.number<std::uint32_t>("CHECKSUM", "up to 8 hexadecimal digits", 16);
    header.link_trace = keys.number<double>("LINK_TRACE", "a number");
    header.plaquette = keys.number<double>("PLAQUETTE", "a number");
    header.line.checksum = keys.get("CHECKSUM").line;
    header.line.link_trace = keys.get("LINK_TRACE").line;
    header.line.plaquette = keys.get("PLAQUETTE").line;
    return header;
}

NerscHeader read_nersc_header(const std::string& path) {
    static_assert(std::is_trivially_copyable_v<NerscHeader>);
    NerscHeader header{};
    std::string trouble;
    if (QMP_get_node_number() == 0) {
        try {
            header = examine(path);
        } catch (const InputError& error) {
            trouble = error.what();
        }
    }
    agree(trouble);
    check(QMP_broadcast(&header, sizeof header), "QMP_broadcast");
    return header;
}

void read_nersc_links(const std::string& path, const NerscHeader& header, const Lattice& lattice,
                      GaugeField& field) {
    Decoder decoder(header);
    std::string trouble;
    if (QMP_get_node_number() == 0)
        trouble = hand_out(path, header, lattice, decoder, field);
    else
        take_in(header, lattice, decoder, field);
    agree(trouble);

    const std::uint32_t sum = sum_over_ranks(decoder.sum());
    const std::uint32_t swapped = sum_over_ranks(decoder.swapped_sum());
    if (sum == header.checksum) return;
    if (swapped == header.checksum)
        refuse(path, header.line.floating_point,
               fmt::format("FLOATING_POINT says {}-endian, but CHECKSUM {:08x} fits the links only "
                           "as {}-endian numbers",
                           header.big_endian ? "big" : "little", header.checksum,
                           header.big_endian ? "little" : "big"));
    refuse(path, header.line.checksum,
           fmt::format("CHECKSUM is {:08x}, but the links add up to {:08x}: the file is damaged",
                       header.checksum, sum));
}

void check_nersc(const std::string& path, const NerscHeader& header, double plaquette,
                 double link_trace) {
    const auto compare = [&](const char* name, int line, double said, double found) {
        // Written so that a NaN among the links is refused too.
        if (!(std::abs(said - found) <= nersc_tolerance))
            refuse(path, line,
                   fmt::format("{} is {:.10f}, but the links give {:.10f} (tolerance {:.0e})", name,
                               said, found, nersc_tolerance));
    };
    compare("PLAQUETTE", header.line.plaquette, header.plaquette, plaquette);
    compare("LINK_TRACE", header.line.link_trace, header.link_trace, link_trace);
}

}  // namespace wilson
