// SPDX-License-Identifier: BSD-3-Clause
#include "base/cache.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace torusmp::base {
namespace {

bool is_intel() {
#ifdef __x86_64__
    unsigned highest = 0, name[3] = {};
    return __get_cpuid(0, &highest, &name[0], &name[2], &name[1]) != 0 &&
           name[0] == signature_INTEL_ebx;
#else
    return false;
#endif
}

}  // namespace

// Measured between two cores (docs/benchmarks.md): on Sapphire Rapids payloads of up to 16 KiB
// gain, on Zen 5 those above 2 KiB take up to 1.8 times as long.
std::size_t most_fetched() {
    return std::size_t{is_intel() ? 32u : 2u} << 10;
}

}  // namespace torusmp::base
