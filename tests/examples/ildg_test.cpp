// SPDX-License-Identifier: BSD-3-Clause
// The reader of ILDG configurations: both precisions, and all kinds of faulty files.
#include <catch2/catch.hpp>

#include "configuration.h"
#include "fixtures.h"
#include "ildg_writer.h"
#include "temporary_file.h"

using namespace wilson;
using namespace wilson::test;

namespace {

const Coord ildg_extent{4, 2, 6, 4};

struct Sample {
    Lattice lattice = whole(ildg_extent);
    GaugeField field = random_links(lattice, 3);
    std::string bytes(int bits) const { return ildg_file(field, lattice, bits); }
};

// The reader's error for these bytes, without the path; "accepted" if it has none.
std::string ildg_verdict(const std::string& bytes) {
    const TemporaryFile file(bytes);
    try {
        const Configuration configuration(file.path());
        configuration.read(whole(configuration.extent()));
    } catch (const InputError& error) {
        const std::string text = error.what();
        REQUIRE(text.starts_with(file.path() + ":"));
        return text.substr(file.path().size() + 2);
    }
    return "accepted";
}

std::string replaced(std::string text, const std::string& old, const std::string& by) {
    const auto at = text.find(old);
    REQUIRE(at != std::string::npos);
    return text.replace(at, old.size(), by);
}

}  // namespace

TEST_CASE("wilson: an ILDG file gives the links that were written, and its checksum is verified") {
    const Sample sample;
    for (const int bits : {32, 64}) {
        const TemporaryFile file(sample.bytes(bits));
        const Configuration configuration(file.path());
        CHECK(configuration.extent() == ildg_extent);
        const GaugeField found = configuration.read(sample.lattice);
        double worst = 0;
        for (const int parity : {0, 1})
            for (int site = 0; site < sample.lattice.sites(parity); ++site)
                for (int mu = 0; mu < 4; ++mu)
                    worst = std::max(worst, distance(found.links[parity][site][mu],
                                                     sample.field.links[parity][site][mu]));
        CHECK(worst < (bits == 32 ? 1e-6 : 1e-300));
        const Plaquettes mean = plaquettes(found, sample.lattice);
        CHECK(mean.mean() == Approx(plaquettes(sample.field, sample.lattice).mean()).margin(1e-6));
        CHECK(configuration.verify(mean.mean(), 0).find("checksum") != std::string::npos);
    }
}

TEST_CASE("wilson: a file of records without a checksum is accepted") {
    const Sample sample;
    std::uint32_t not_used;
    CHECK(ildg_verdict(lime_record("ildg-format", ildg_format(ildg_extent, 64)) +
                       lime_record("ildg-binary-data", nersc_data(sample.field, sample.lattice,
                                                                  {3, 8, true}, not_used))) ==
          "accepted");
}

TEST_CASE("wilson: a damaged ILDG file is refused with what was found and expected") {
    const Sample sample;
    const std::string good = sample.bytes(32);
    REQUIRE(ildg_verdict(good) == "accepted");
    const auto check = [](const std::string& bytes, const std::string& expected) {
        CHECK_THAT(ildg_verdict(bytes), Catch::Contains(expected));
    };
    const std::size_t links = good.find("ildg-binary-data") + 128;
    std::string flipped = good;
    flipped[links + 12345] ^= 1;
    check(flipped, "the file is damaged");
    check(good.substr(0, good.size() - 200), "truncated");
    check(good.substr(0, links + 1000), "'ildg-binary-data' has 55296 bytes, but the file ends "
                                        "after 1000 of them");
    check(replaced(good, "ildg-format", "ildg-xxxxxx"), "no record ildg-format: expected one");
    check(replaced(good, "ildg-binary-data", "ildg-binary-xxxx"),
          "no record ildg-binary-data: expected one");
    check(replaced(good, "<precision> 32", "<precision> 48"), "<precision> is 48, expected 32 or");
    check(replaced(good, "<lx> 4", "<lx> x"), "<lx> is 'x', expected 1 to 8192");
    check(replaced(good, "<lx> 4", "<lx> 8"), "55296 bytes of links, expected 110592 for a 8x2x6x4");
    check(replaced(good, "su3gauge", "su2gauge"), "expected su3gauge");
    check(replaced(good, "</ildgFormat>", std::string(13, ' ')), "ildg-format: ");
    // A length that would pass the end of the file, and of 64 bits.
    std::string huge = good;
    huge.replace(8, 8, std::string(8, '\xff'));
    check(huge, "truncated");
}
