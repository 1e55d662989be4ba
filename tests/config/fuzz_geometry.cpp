// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer target: fuzz_geometry -max_total_time=60 tests/config/corpus
#include "tests/config/fuzz_geometry.h"

#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string wrong = torusmp::test::try_geometry(data, size);
    if (!wrong.empty()) {
        std::fprintf(stderr, "the answer %s\n", wrong.c_str());
        std::abort();
    }
    return 0;
}
