// SPDX-License-Identifier: BSD-3-Clause
// A hint to the processor that this thread spins.
#pragma once

namespace torusmp::base {

inline void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");  // its yield does nothing on most of them
#endif
}

}  // namespace torusmp::base
