// SPDX-License-Identifier: BSD-3-Clause
#include "ildg.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <boost/crc.hpp>
#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <charconv>
#include <cstring>
#include <optional>
#include <sstream>
#include <utility>

namespace wilson {

namespace {

namespace pt = boost::property_tree;

// The XML of real files has a few hundred bytes.
constexpr std::uint64_t longest_xml = 64 * 1024;

struct Record {
    std::uint64_t at = 0;  // of its header in the file
    std::string type;
    std::uint64_t data = 0, bytes = 0;
};

[[noreturn]] void refuse_record(const std::string& path, const Record& record,
                                const std::string& what) {
    throw InputError(fmt::format("{}: LIME record at byte {}: {}", path, record.at, what));
}

Record record_at(const std::string& path, OpenedFile& file, std::uint64_t at) {
    Record record;
    record.at = at;
    std::array<char, lime_header_bytes> text{};
    file.stream.seekg(static_cast<std::streamoff>(at));
    if (file.bytes - at < lime_header_bytes || !file.stream.read(text.data(), lime_header_bytes))
        refuse_record(path, record,
                      fmt::format("found {} bytes, expected a header of {}: the file is truncated",
                                  file.bytes - at, lime_header_bytes));
    const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
    const auto magic = word_at<std::uint32_t>(bytes, true);
    if (magic != lime_magic)
        refuse_record(
            path, record,
            fmt::format("found the magic number {:08x}, expected {:08x}", magic, lime_magic));
    record.bytes = word_at<std::uint64_t>(bytes + 8, true);
    record.data = at + lime_header_bytes;
    record.type.assign(text.data() + 16, strnlen(text.data() + 16, lime_type_bytes));
    if (record.bytes > file.bytes - record.data)
        refuse_record(
            path, record,
            fmt::format("{} has {} bytes, but the file ends after {} of them: it is truncated",
                        in_quotes(record.type), record.bytes, file.bytes - record.data));
    return record;
}

// The root element of an XML record.
pt::ptree xml_of(const std::string& path, OpenedFile& file, const Record& record,
                 const char* root) {
    if (record.bytes > longest_xml)
        refuse_record(path, record,
                      fmt::format("{} has {} bytes, expected at most {}", record.type, record.bytes,
                                  longest_xml));
    std::string text(record.bytes, '\0');
    file.stream.seekg(static_cast<std::streamoff>(record.data));
    file.stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(strnlen(text.data(), text.size()));  // some writers count a closing zero
    pt::ptree tree;
    try {
        std::istringstream in(text);
        pt::read_xml(in, tree);
        return tree.get_child(root);
    } catch (const pt::ptree_error& error) {
        refuse_record(path, record, fmt::format("{}: {}", record.type, error.what()));
    }
}

template <class Number>
Number number_in(const std::string& path, const Record& record, const pt::ptree& xml,
                 const char* key, Number low, Number high, int base = 10) {
    std::string text = xml.get<std::string>(key, "");
    const auto first = text.find_first_not_of(" \t\r\n");
    const auto last = text.find_last_not_of(" \t\r\n");
    text = first == std::string::npos ? "" : text.substr(first, last - first + 1);
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc{} || end != text.data() + text.size() || value < low || value > high)
        refuse_record(path, record,
                      fmt::format("{}: <{}> is {}, expected {} to {}{}", record.type, key,
                                  in_quotes(text), low, high, base == 16 ? " in hexadecimal" : ""));
    return value;
}

void parse_format(const std::string& path, OpenedFile& file, const Record& record,
                  IldgHeader& header) {
    const pt::ptree xml = xml_of(path, file, record, "ildgFormat");
    const auto field = xml.get<std::string>("field", "");
    if (field.find("su3gauge") == std::string::npos)
        refuse_record(path, record,
                      fmt::format("<field> is {}, expected su3gauge", in_quotes(field)));
    const int bits = number_in<int>(path, record, xml, "precision", 32, 64);
    if (bits != 32 && bits != 64)
        refuse_record(path, record, fmt::format("<precision> is {}, expected 32 or 64", bits));
    header.word_bytes = bits / 8;
    header.rows = 3;
    header.big_endian = true;
    static constexpr const char* keys[] = {"lx", "ly", "lz", "lt"};
    for (int mu = 0; mu < 4; ++mu)
        header.extent[mu] = number_in<int>(path, record, xml, keys[mu], 1, 8192);
}

// Rank 0: all records of the file.
IldgHeader examine_records(const std::string& path) {
    OpenedFile file = open_regular(path);
    IldgHeader header{};
    std::optional<Record> format, data;
    for (std::uint64_t at = 0; at < file.bytes;) {
        const Record record = record_at(path, file, at);
        if (record.type == "ildg-format") {
            parse_format(path, file, record, header);
            format = record;
        } else if (record.type == "ildg-binary-data") {
            data = record;
            header.data_offset = record.data;
        } else if (record.type == "scidac-checksum") {
            constexpr std::uint32_t most = 0xffffffff;
            const pt::ptree xml = xml_of(path, file, record, "scidacChecksum");
            header.suma = number_in<std::uint32_t>(path, record, xml, "suma", 0, most, 16);
            header.sumb = number_in<std::uint32_t>(path, record, xml, "sumb", 0, most, 16);
            header.has_checksum = true;
        }
        at = record.data + (record.bytes + 7) / 8 * 8;
    }
    for (const auto& [found, name] :
         {std::pair{&format, "ildg-format"}, {&data, "ildg-binary-data"}})
        if (!*found) throw InputError(fmt::format("{}: no record {}: expected one", path, name));
    if (data->bytes != header.data_bytes())
        refuse_record(
            path, *data,
            fmt::format("{} bytes of links, expected {} for a {} lattice in {}-bit numbers",
                        data->bytes, header.data_bytes(), to_string(header.extent),
                        8 * header.word_bytes));
    return header;
}

std::uint32_t combined(std::uint32_t sum) {
    unsigned long word = sum;
    check(QMP_xor_ulong(&word), "QMP_xor_ulong");
    return static_cast<std::uint32_t>(word);
}

}  // namespace

bool is_lime(const std::string& path) {
    struct Kind {
        bool lime;
    };
    return on_all_ranks<Kind>([&] {
               OpenedFile file = open_regular(path);
               std::array<char, 4> text{};
               file.stream.read(text.data(), text.size());
               const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
               return Kind{word_at<std::uint32_t>(bytes, true) == lime_magic};
           })
        .lime;
}

IldgHeader read_ildg_header(const std::string& path) {
    return on_all_ranks<IldgHeader>([&] { return examine_records(path); });
}

void SiteSums::add(std::span<const std::byte> site, std::int64_t index) {
    boost::crc_32_type crc;
    crc.process_bytes(site.data(), site.size());
    suma ^= std::rotl(crc.checksum(), static_cast<int>(index % 29));
    sumb ^= std::rotl(crc.checksum(), static_cast<int>(index % 31));
}

void SiteSums::combine() {
    suma = combined(suma);
    sumb = combined(sumb);
}

void read_ildg_links(const std::string& path, const IldgHeader& header, const Lattice& lattice,
                     GaugeField& field, const LinkReader& read) {
    SiteSums sums;
    read(path, header, lattice, field,
         [&](std::span<const std::byte> site, std::int64_t index) { sums.add(site, index); });
    sums.combine();
    if (header.has_checksum && sums != SiteSums{header.suma, header.sumb})
        throw InputError(
            fmt::format("{}: the scidac-checksum is {:x} {:x}, but the links have {:x} {:x}: the "
                        "file is damaged",
                        path, header.suma, header.sumb, sums.suma, sums.sumb));
}

}  // namespace wilson
