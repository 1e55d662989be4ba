// SPDX-License-Identifier: BSD-3-Clause
// One trial of the geometry reader with arbitrary bytes: libFuzzer and the seeded test share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace torusmp::test {

// Describes the fault that the trial found; empty if there is none. The text may be refused by a
// ConfigError of one printable line that begins with the file's name. Otherwise its settings must
// be unchanged after the handover to a rank.
std::string try_geometry(const std::uint8_t* data, std::size_t size);

}  // namespace torusmp::test
