// SPDX-License-Identifier: BSD-3-Clause
// The C library's functions for memory, in place of its own: large blocks come from the provider of
// base/large_blocks.h, if there is one, and all others from the C library. In libtorusmp.so only,
// and without effect where another library or the program itself comes first with its own, as a
// sanitizer does.
//
// Source: GNU C Library manual, "Replacing malloc".
#include <dlfcn.h>
#include <malloc.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/large_blocks.h"

// The C library's own, under the names that it keeps for libraries like this one.
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* block, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* block);
}

namespace {

using torusmp::base::BlockProvider;
using torusmp::base::large_blocks;

// What malloc() promises for any type.
constexpr std::size_t usual_alignment = alignof(std::max_align_t);

std::size_t usable(void* block) {
    if (const BlockProvider* const provider = large_blocks.provider_of(block))
        return provider->size(block);
    using Size = std::size_t (*)(void*);
    static const auto next = reinterpret_cast<Size>(dlsym(RTLD_NEXT, "malloc_usable_size"));
    return block == nullptr || next == nullptr ? 0 : next(block);
}

// A block of another size with the same contents, from the other source or elsewhere in the same.
void* moved(void* block, std::size_t bytes) {
    void* const to = malloc(bytes);
    if (to == nullptr) return nullptr;
    std::memcpy(to, block, std::min(bytes, usable(block)));
    free(block);
    return to;
}

}  // namespace

extern "C" {

void* malloc(std::size_t bytes) noexcept {
    if (BlockProvider* const provider = large_blocks.provider_for(bytes)) [[unlikely]]
        if (void* const block = provider->allocate(bytes, usual_alignment)) return block;
    return __libc_malloc(bytes);
}

void free(void* block) noexcept {
    if (BlockProvider* const provider = large_blocks.provider_of(block)) [[unlikely]]
        return provider->free(block);
    __libc_free(block);
}

void* calloc(std::size_t count, std::size_t bytes) noexcept {
    std::size_t all = 0;
    if (!__builtin_mul_overflow(count, bytes, &all))
        if (BlockProvider* const provider = large_blocks.provider_for(all)) [[unlikely]]
            if (void* const block = provider->allocate_cleared(all)) return block;
    return __libc_calloc(count, bytes);
}

void* realloc(void* block, std::size_t bytes) noexcept {
    BlockProvider* const provider = large_blocks.provider_of(block);
    if (provider != nullptr) [[unlikely]] {
        if (bytes == 0) {
            provider->free(block);
            return nullptr;
        }
        return provider->resize(block, bytes) ? block : moved(block, bytes);
    }
    // A block that has grown large moves to the provider.
    if (block != nullptr && large_blocks.provider_for(bytes) != nullptr &&
        large_blocks.provider_for(usable(block)) == nullptr)
        return moved(block, bytes);
    return block == nullptr ? malloc(bytes) : __libc_realloc(block, bytes);
}

void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
    if ((alignment & (alignment - 1)) == 0)
        if (BlockProvider* const provider = large_blocks.provider_for(bytes)) [[unlikely]]
            if (void* const block = provider->allocate(bytes, alignment)) return block;
    return __libc_memalign(alignment, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
    return memalign(alignment, bytes);
}

int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) noexcept {
    if (alignment == 0 || alignment % sizeof(void*) != 0 || (alignment & (alignment - 1)) != 0)
        return EINVAL;
    const int before = errno;
    void* const found = memalign(alignment, bytes);
    errno = before;
    if (found == nullptr) return ENOMEM;
    *block = found;
    return 0;
}

std::size_t malloc_usable_size(void* block) noexcept {
    return usable(block);
}

// C23; in the C library since 2.41. It frees with its own free().
void free_sized(void* block, std::size_t /*bytes*/) noexcept {
    free(block);
}

void free_aligned_sized(void* block, std::size_t /*alignment*/, std::size_t /*bytes*/) noexcept {
    free(block);
}

}  // extern "C"
