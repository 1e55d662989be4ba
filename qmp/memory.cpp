// SPDX-License-Identifier: BSD-3-Clause
// Memory for messages, and the layout of messages in it.
#include "qmp/memory.h"

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <vector>

#include "qmp/library.h"

namespace torusmp::qmp {
namespace {

using Run = core::Layout::Run;

QMP_mem_t* allocate(std::size_t bytes, std::size_t alignment, const char* call) {
    Library& lib = running(call);
    const auto none = [&] {
        lib.last_error = QMP_NOMEM_ERR;
        return static_cast<QMP_mem_t*>(nullptr);
    };
    // The Runtime supports powers of two; any other alignment is cut out of a larger block.
    const bool power = (alignment & (alignment - 1)) == 0;
    const std::size_t asked = alignment == 0 ? alignof(std::max_align_t)
                              : power        ? alignment
                                             : alignof(std::max_align_t);
    const std::size_t slack = power ? 0 : alignment;
    if (bytes > std::size_t(std::numeric_limits<std::ptrdiff_t>::max()) - slack - 1) return none();
    auto mem = std::make_unique<QMP_mem_t>();
    mem->block = runtime().allocate(bytes + slack + 1, asked);
    if (mem->block == nullptr) return none();
    mem->memory = mem->block;
    if (!power) {
        const auto address = reinterpret_cast<std::uintptr_t>(mem->block);
        mem->memory = reinterpret_cast<void*>((address + alignment - 1) / alignment * alignment);
    }
    const std::lock_guard lock(lib.mutex);
    ++lib.allocations;
    return mem.release();
}

void release(QMP_mem_t* mem) {
    if (mem == nullptr) return;
    Library& lib = library();
    const std::unique_ptr<QMP_mem_t> owned(mem);
    if (lib.process) lib.process->runtime().free(mem->block);
    const std::lock_guard lock(lib.mutex);
    // After the end of the job the Runtime lives on only for its memory.
    if (--lib.allocations == 0 && !lib.initialized) lib.process.reset();
}

QMP_msgmem_t refuse_memory(const char* call, const std::string& message) {
    complain(QMP_INVALID_ARG, call, message);
    return nullptr;
}

QMP_msgmem_t declare_runs(void* base, std::vector<Run> runs) {
    auto memory = std::make_unique<QMP_msgmem_struct>();
    memory->base = static_cast<std::byte*>(base);
    memory->shape = std::make_shared<const core::Layout>(std::move(runs));
    memory->bytes = memory->shape->size();
    return memory.release();
}

QMP_msgmem_t declare_strided_array(void* const base[], const std::size_t blksize[],
                                   const int nblocks[], const std::ptrdiff_t stride[], int num,
                                   const char* call) {
    if (num < 0)
        return refuse_memory(call, fmt::format("found {} arrays, expected 0 or more", num));
    if (num > 0 &&
        (base == nullptr || blksize == nullptr || nblocks == nullptr || stride == nullptr))
        return refuse_memory(call, "found a null pointer");
    std::vector<Run> runs;
    std::size_t total = 0;
    for (int i = 0; i < num; ++i) {
        std::size_t bytes = 0;
        if (nblocks[i] < 0 || __builtin_mul_overflow(blksize[i], std::size_t(nblocks[i]), &bytes) ||
            __builtin_add_overflow(total, bytes, &total))
            return refuse_memory(call,
                                 fmt::format("found {} blocks of {} bytes, expected 0 or more "
                                             "that fit in memory",
                                             nblocks[i], blksize[i]));
        // Offsets count from the first base, which QMP_change_address() may move later.
        const auto offset = static_cast<std::byte*>(base[i]) - static_cast<std::byte*>(base[0]);
        if (bytes > 0) runs.push_back({offset, blksize[i], std::size_t(nblocks[i]), stride[i]});
    }
    return declare_runs(num > 0 ? base[0] : nullptr, std::move(runs));
}

QMP_msgmem_t declare_indexed(void* base, const int blocklen[], const int index[], int elemsize,
                             int count, const char* call) {
    if (count < 0 || elemsize < 0)
        return refuse_memory(call,
                             fmt::format("found {} blocks of elements of {} bytes, expected 0 "
                                         "or more",
                                         count, elemsize));
    if (count > 0 && (blocklen == nullptr || index == nullptr))
        return refuse_memory(call, "found a null pointer");
    std::vector<Run> runs;
    for (int i = 0; i < count; ++i) {
        if (blocklen[i] < 0)
            return refuse_memory(call, fmt::format("found {} elements in block {}, expected 0 or "
                                                   "more",
                                                   blocklen[i], i));
        const std::size_t bytes = std::size_t(blocklen[i]) * std::size_t(elemsize);
        if (bytes > 0) runs.push_back({std::ptrdiff_t(index[i]) * elemsize, bytes, 1, 0});
    }
    return declare_runs(base, std::move(runs));
}

QMP_msgmem_t declare_block(void* base, std::size_t bytes) {
    auto memory = std::make_unique<QMP_msgmem_struct>();
    memory->base = static_cast<std::byte*>(base);
    memory->bytes = bytes;
    return memory.release();
}

}  // namespace
}  // namespace torusmp::qmp

using namespace torusmp::qmp;

extern "C" {

QMP_mem_t* QMP_allocate_memory(size_t nbytes) {
    const char* const call = __func__;
    return guarded(call, [&] { return allocate(nbytes, QMP_ALIGN_DEFAULT, call); });
}
QMP_mem_t* QMP_allocate_aligned_memory(size_t nbytes, size_t alignment, int flags) {
    const char* const call = __func__;
    _QMP_UNUSED_ARGUMENT(flags);
    return guarded(call, [&] { return allocate(nbytes, alignment, call); });
}
void* QMP_get_memory_pointer(QMP_mem_t* mem) {
    return mem == nullptr ? nullptr : mem->memory;
}
void QMP_free_memory(QMP_mem_t* mem) {
    guarded(__func__, [&] { release(mem); });
}

QMP_msgmem_t QMP_declare_msgmem(const void* mem, size_t nbytes) {
    const char* const call = __func__;
    return guarded(call, [&] {
        running(call);
        return declare_block(const_cast<void*>(mem), nbytes);
    });
}
QMP_msgmem_t QMP_declare_strided_msgmem(void* base, size_t blksize, int nblocks, ptrdiff_t stride) {
    const char* const call = __func__;
    return guarded(call, [&] {
        running(call);
        return declare_strided_array(&base, &blksize, &nblocks, &stride, 1, call);
    });
}
QMP_msgmem_t QMP_declare_strided_array_msgmem(void* base[], size_t blksize[], int nblocks[],
                                              ptrdiff_t stride[], int num) {
    const char* const call = __func__;
    return guarded(call, [&] {
        running(call);
        return declare_strided_array(base, blksize, nblocks, stride, num, call);
    });
}
QMP_msgmem_t QMP_declare_indexed_msgmem(void* base, int blocklen[], int index[], int elemsize,
                                        int count) {
    const char* const call = __func__;
    return guarded(call, [&] {
        running(call);
        return declare_indexed(base, blocklen, index, elemsize, count, call);
    });
}
void QMP_free_msgmem(QMP_msgmem_t m) {
    const std::unique_ptr<QMP_msgmem_struct> owned(m);
}
}
