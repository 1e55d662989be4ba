// SPDX-License-Identifier: BSD-3-Clause
// The reader of NERSC configurations: all formats, and all kinds of faulty files.
#include <catch2/catch.hpp>

#include "fixtures.h"
#include "nersc.h"
#include "nersc_writer.h"
#include "temporary_file.h"

using namespace wilson;
using namespace wilson::test;

namespace {

const Coord small{4, 2, 6, 4};

GaugeField read(const std::string& path) {
    const NerscHeader header = read_nersc_header(path);
    const Lattice lattice = whole(header.extent);
    GaugeField field(lattice);
    read_nersc_links(path, header, lattice, field);
    check_nersc(path, header, plaquettes(field, lattice).mean(), link_trace(field, lattice));
    return field;
}

// The reader's error for these bytes, without the path; "accepted" if it has none.
std::string verdict(const std::string& bytes) {
    const TemporaryFile file(bytes);
    try {
        read(file.path());
    } catch (const InputError& error) {
        const std::string text = error.what();
        REQUIRE(text.starts_with(file.path() + ":"));
        return text.substr(file.path().size() + 1);
    }
    return "accepted";
}

std::string good_file(const NerscFormat& format = {}) {
    const Lattice lattice = whole(small);
    return nersc_file(random_links(lattice, 21), lattice, format);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

// The value of a key, as the file has it.
std::string value_of(const std::string& text, const std::string& key) {
    const auto at = text.find(key + " = ");
    REQUIRE(at != std::string::npos);
    const auto begin = at + key.size() + 3;
    return text.substr(begin, text.find('\n', begin) - begin);
}

using Catch::Contains;
using Catch::StartsWith;

}  // namespace

TEST_CASE("wilson: a configuration comes back from every floating-point format") {
    const Lattice lattice = whole(small);
    const GaugeField links = random_links(lattice, 21);
    for (const int rows : {2, 3})
        for (const int bytes : {4, 8})
            for (const bool big : {true, false}) {
                const NerscFormat format{rows, bytes, big};
                CAPTURE(rows, format.name());
                const TemporaryFile file(nersc_file(links, lattice, format));
                const GaugeField found = read(file.path());
                double worst = 0;
                for (int parity : {0, 1})
                    for (int site = 0; site < lattice.sites(parity); ++site)
                        for (int mu = 0; mu < 4; ++mu)
                            worst = std::max(worst, distance(found.links[parity][site][mu],
                                                             links.links[parity][site][mu]));
                CHECK(worst < (bytes == 4 ? 3e-7 : 1e-14));
            }
}

TEST_CASE("wilson: a file cut anywhere is refused") {
    const std::string file = good_file();
    const std::size_t header = file.find("END_HEADER") + 11;
    CHECK_THAT(verdict(""), StartsWith("1:") && Contains("expected BEGIN_HEADER"));
    CHECK_THAT(verdict(file.substr(0, 40)), Contains("no END_HEADER"));
    CHECK_THAT(verdict(file.substr(0, header - 1)), Contains("no END_HEADER"));
    for (const std::size_t size : {header, header + 1, header + 5000, file.size() - 1}) {
        const std::string said = verdict(file.substr(0, size));
        CHECK_THAT(said, Contains("truncated"));
        CHECK_THAT(said, Contains(std::to_string(size)) && Contains(std::to_string(file.size())));
    }
    CHECK_THAT(verdict(file + "x"), Contains("too long"));
}

TEST_CASE("wilson: a single wrong bit among the links is found by the checksum") {
    const std::string good = good_file();
    const std::size_t header = good.find("END_HEADER") + 11;
    for (const std::size_t at : {header, header + 1001, good.size() - 1}) {
        std::string bad = good;
        bad[at] = static_cast<char>(bad[at] ^ 4);
        CHECK_THAT(verdict(bad),
                   Contains("CHECKSUM is " + value_of(good, "CHECKSUM")) && Contains("damaged"));
    }
}

TEST_CASE("wilson: the wrong byte order is named as such") {
    for (const int bytes : {4, 8}) {
        const std::string good = good_file({2, bytes, true});
        CHECK_THAT(verdict(replaced(good, "BIG", "LITTLE")),
                   Contains("FLOATING_POINT says little-endian") && Contains("only as big-endian"));
    }
}

TEST_CASE("wilson: a header with false values is refused with its line") {
    const std::string good = good_file();
    const std::string plaquette_line = "PLAQUETTE = " + value_of(good, "PLAQUETTE");
    const std::string trace_line = "LINK_TRACE = " + value_of(good, "LINK_TRACE");
    REQUIRE(verdict(good) == "accepted");
    CHECK_THAT(verdict(replaced(good, plaquette_line, "PLAQUETTE = 0.59")),
               StartsWith("14: PLAQUETTE is 0.5900000000, but the links give"));
    CHECK_THAT(verdict(replaced(good, trace_line, "LINK_TRACE = 0.001")),
               StartsWith("13: LINK_TRACE is 0.0010000000, but the links give"));
    CHECK_THAT(verdict(replaced(good, "CHECKSUM = ", "CHECKSUM = 1")), StartsWith("12: CHECKSUM"));
    CHECK_THAT(verdict(replaced(good, "IEEE32", "IEEE64")), Contains("truncated"));
    CHECK_THAT(verdict(replaced(good, "4D_SU3_GAUGE", "4D_SU3_GAUGE_3x3")), Contains("truncated"));
    CHECK_THAT(verdict(replaced(good, "DIMENSION_1 = 4", "DIMENSION_1 = 8")),
               Contains("truncated"));
    // As many sites, but in another order: only the plaquette differs.
    const std::string turned = replaced(replaced(good, "DIMENSION_1 = 4", "DIMENSION_1 = 2"),
                                        "DIMENSION_2 = 2", "DIMENSION_2 = 4");
    CHECK_THAT(verdict(turned), StartsWith("14: PLAQUETTE is"));
}

TEST_CASE("wilson: a header that makes no sense is refused with its line") {
    const std::string good = good_file();
    CHECK_THAT(verdict("BEGIN_LETTER\nDear reader\n"),
               StartsWith("1: found 'BEGIN_LETTER', expected BEGIN_HEADER"));
    CHECK_THAT(verdict(std::string("\x7f"
                                   "ELF\0\1\2",
                                   7)),
               StartsWith("1: found '\\x7fELF\\x00"));
    CHECK_THAT(verdict(replaced(good, "HDR_VERSION = 1.0", "what is this")),
               StartsWith("2: found 'what is this', expected KEY = VALUE"));
    CHECK_THAT(verdict(replaced(good, "HDR_VERSION = 1.0", " = 1.0")),
               StartsWith("2: found '= 1.0'"));
    CHECK_THAT(verdict(replaced(good, "HDR_VERSION", "DATATYPE")),
               StartsWith("3: 'DATATYPE' again; line 2 has it"));
    CHECK_THAT(verdict(replaced(good, "PLAQUETTE", "PLAQUETE")),
               StartsWith("17: the header ends without PLAQUETTE"));
    CHECK_THAT(verdict(replaced(good, "DIMENSION_3 = 6", "DIMENSION_3 = six")),
               StartsWith("6: DIMENSION_3 is 'six', expected a number"));
    CHECK_THAT(verdict(replaced(good, "DIMENSION_3 = 6", "DIMENSION_3 = 0")),
               StartsWith("6: DIMENSION_3 is 0, expected 1 to 8192"));
    CHECK_THAT(verdict(replaced(good, "DIMENSION_3 = 6", "DIMENSION_3 = 99999999999")),
               StartsWith("6: DIMENSION_3 is '99999999999'"));
    CHECK_THAT(verdict(replaced(good, "DIMENSION_3 = 6", "DIMENSION_3 = 6x")), StartsWith("6: "));
    CHECK_THAT(verdict(replaced(good, "BOUNDARY_4 = PERIODIC", "BOUNDARY_4 = OPEN")),
               StartsWith("11: BOUNDARY_4 is 'OPEN', expected PERIODIC"));
    CHECK_THAT(verdict(replaced(good, "IEEE32BIG", "IEEE32")),
               StartsWith("16: FLOATING_POINT is 'IEEE32', expected IEEE32BIG"));
    CHECK_THAT(verdict(replaced(good, "4D_SU3_GAUGE", "4D_SU4_GAUGE")),
               StartsWith("3: DATATYPE is '4D_SU4_GAUGE', expected 4D_SU3_GAUGE"));
    const std::string trace = value_of(good, "LINK_TRACE");
    CHECK_THAT(verdict(replaced(good, trace, "nan")), StartsWith("13: LINK_TRACE is 'nan'"));
    CHECK_THAT(verdict(replaced(good, "CHECKSUM = ", "CHECKSUM = 0x")),
               StartsWith("12: CHECKSUM is"));
    // A header without end must not be searched for ever, nor be kept.
    std::string endless = "BEGIN_HEADER\n";
    while (endless.size() < 200'000) endless += fmt::format("KEY_{} = 1\n", endless.size());
    CHECK_THAT(verdict(endless), Contains("no END_HEADER in its first 65536 bytes"));
}

TEST_CASE("wilson: links that are not numbers are refused even if the checksum is right") {
    const Lattice lattice = whole(small);
    GaugeField links = random_links(lattice, 21);
    const std::string good = nersc_file(links, lattice, {});
    links.links[0][3][1].e[0][2] = std::nan("");
    std::uint32_t checksum;
    const std::string data = nersc_data(links, lattice, {}, checksum);
    const std::string header =
        replaced(good.substr(0, good.size() - data.size()), value_of(good, "CHECKSUM"),
                 fmt::format("{:08x}", checksum));
    CHECK_THAT(verdict(header + data), StartsWith("14: PLAQUETTE is") && Contains("nan"));
}

TEST_CASE("wilson: a path that is not a readable file is refused") {
    CHECK_THROWS_WITH(read("/nowhere/at/all"), Contains("/nowhere/at/all: No such file"));
    CHECK_THROWS_WITH(read("/"), Contains("/: expected a regular file"));
}

TEST_CASE("wilson: carriage returns and blanks around keys and values do not matter") {
    std::string file = good_file();
    file = replaced(file, "HDR_VERSION = 1.0\n", "  HDR_VERSION=1.0 \r\n");
    file = replaced(file, "BEGIN_HEADER\n", "BEGIN_HEADER\r\n");
    CHECK(verdict(file) == "accepted");
}
