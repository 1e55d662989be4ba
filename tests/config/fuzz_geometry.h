// SPDX-License-Identifier: BSD-3-Clause
// One trial of the geometry reader with arbitrary bytes: libFuzzer and the seeded test share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace torusmp::test {

// What the trial found wrong; empty: nothing. It is right that the text is refused by a ConfigError
// of one printable line that begins with the file's name, or that its settings survive the handover
// to a rank.
std::string try_geometry(const std::uint8_t* data, std::size_t size);

}  // namespace torusmp::test
