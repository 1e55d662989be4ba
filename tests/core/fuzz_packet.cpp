// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer: arbitrary bytes as packets of a neighbour. Aborts if a check fails. Build
// with -DTORUSMP_FUZZ=ON and clang; run `fuzz_packet -max_len=2048 -max_total_time=60`.

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "hostile.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto outcome = torusmp::core::testing::attack(data, size);
    if (!outcome.broken.empty()) {
        std::fprintf(stderr, "%s\n%s\n", outcome.broken.c_str(), outcome.log.c_str());
        std::abort();
    }
    return 0;
}
