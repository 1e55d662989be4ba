// SPDX-License-Identifier: BSD-3-Clause
// Barrier, broadcast, reductions and alltoall.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "qmp/communicator.h"

namespace torusmp::qmp {
namespace {

template <class T, class Operation>
void each(void* result, const void* a, const void* b, std::size_t count, Operation&& operation) {
    auto* const to = static_cast<T*>(result);
    const auto* const left = static_cast<const T*>(a);
    const auto* const right = static_cast<const T*>(b);
    for (std::size_t i = 0; i < count; ++i) to[i] = operation(left[i], right[i]);
}

template <class T>
void add(void* result, const void* a, const void* b, std::size_t count, const void*) {
    // Integers wrap around instead of overflowing.
    using Sum = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                            std::type_identity<T>>::type;
    each<Sum>(result, a, b, count, [](Sum x, Sum y) { return Sum(x + y); });
}

template <class T>
void largest(void* result, const void* a, const void* b, std::size_t count, const void*) {
    each<T>(result, a, b, count, [](T x, T y) { return std::max(x, y); });
}

template <class T>
void smallest(void* result, const void* a, const void* b, std::size_t count, const void*) {
    each<T>(result, a, b, count, [](T x, T y) { return std::min(x, y); });
}

void exclusive_or(void* result, const void* a, const void* b, std::size_t count, const void*) {
    using Bits = unsigned long;
    each<Bits>(result, a, b, count, [](Bits x, Bits y) { return x ^ y; });
}

// The program's function combines whole buffers: one element is one buffer.
struct ProgramFunction {
    QMP_binary_func function;
    std::size_t bytes;
    mutable std::vector<std::byte> spare{};  // for an operand in the memory of the result
};

void call_program(void* result, const void* a, const void* b, std::size_t count,
                  const void* closure) {
    const auto& program = *static_cast<const ProgramFunction*>(closure);
    if (count == 0) return;
    if (result == b) {
        const auto* const values = static_cast<const std::byte*>(b);
        program.spare.assign(values, values + program.bytes);
        b = program.spare.data();
    }
    if (result != a) std::memcpy(result, a, program.bytes);
    program.function(result, const_cast<void*>(b));
}

QMP_status_t reduce(QMP_comm_struct& comm, void* values, std::size_t count,
                    const collectives::Operation& operation, const char* call) {
    const CallTimer timer;
    comm.allreduce.start(values, count, operation);
    return finish(comm.allreduce, call);
}

// For the comparison of calls.
template <class T>
collectives::Label label_of(collectives::Combine combine) {
    return {combine == add<T>        ? "sum"
            : combine == largest<T>  ? "maximum"
            : combine == smallest<T> ? "minimum"
                                     : "exclusive or",
            std::is_integral_v<T> ? "integers" : "floating-point numbers"};
}

template <class T>
QMP_status_t reduce(QMP_comm_struct& comm, T* values, int count, collectives::Combine combine,
                    const char* call) {
    if (count < 0 || (values == nullptr && count > 0))
        return complain(QMP_INVALID_ARG, call, "found a null pointer or a negative length");
    if (count == 0) return QMP_SUCCESS;
    return guarded(call, [&] {
        const collectives::Operation operation{
            .combine = combine, .element = sizeof(T), .label = label_of<T>(combine)};
        return reduce(comm, values, std::size_t(count), operation, call);
    });
}

// Sums of one value in a wider type, rounded once at the end.
template <class Wide, class T>
QMP_status_t sum_wide(QMP_comm_struct& comm, T* value, const char* call) {
    if (value == nullptr) return complain(QMP_INVALID_ARG, call, "found a null pointer");
    Wide wide = Wide(*value);
    const QMP_status_t status = reduce(comm, &wide, 1, add<Wide>, call);
    *value = T(wide);
    return status;
}

QMP_status_t barrier(QMP_comm_struct& comm, const char* call) {
    return guarded(call, [&] {
        const CallTimer timer;
        comm.allreduce.start_barrier();
        return finish(comm.allreduce, call);
    });
}

QMP_status_t broadcast(QMP_comm_struct& comm, void* buffer, std::size_t bytes, const char* call) {
    if (buffer == nullptr && bytes > 0)
        return complain(QMP_INVALID_ARG, call, "found a null pointer");
    return guarded(call, [&] {
        const CallTimer timer;
        comm.broadcast.start(buffer, bytes, 0);
        return finish(comm.broadcast, call);
    });
}

QMP_status_t binary_reduction(QMP_comm_struct& comm, void* buffer, std::size_t bytes,
                              QMP_binary_func function, const char* call) {
    if (function == nullptr || (buffer == nullptr && bytes > 0))
        return complain(QMP_INVALID_ARG, call, "found a null pointer");
    if (bytes == 0) return QMP_SUCCESS;
    return guarded(call, [&] {
        const ProgramFunction program{function, bytes};
        const collectives::Operation operation{.combine = call_program,
                                               .element = bytes,
                                               .closure = &program,
                                               .whole = true,
                                               .label = {"a function of the program", {}}};
        return reduce(comm, buffer, 1, operation, call);
    });
}

QMP_status_t alltoall(QMP_comm_struct& comm, char* in, const char* out, int count,
                      const char* call) {
    if (count < 0 || (count > 0 && (in == nullptr || out == nullptr)))
        return complain(QMP_INVALID_ARG, call, "found a null pointer or a negative count");
    return guarded(call, [&] {
        const CallTimer timer;
        const auto blocks = collectives::Blocks::even(std::size_t(count));
        comm.alltoall.start(in, blocks, out, blocks);
        return finish(comm.alltoall, call);
    });
}

}  // namespace
}  // namespace torusmp::qmp

using namespace torusmp::qmp;

extern "C" {

QMP_status_t QMP_comm_barrier(QMP_comm_t comm) {
    return barrier(checked(comm, __func__), __func__);
}
QMP_status_t QMP_barrier(void) {
    return barrier(default_comm(__func__), __func__);
}

QMP_status_t QMP_comm_broadcast(QMP_comm_t comm, void* buffer, size_t nbytes) {
    return broadcast(checked(comm, __func__), buffer, nbytes, __func__);
}
QMP_status_t QMP_broadcast(void* buffer, size_t nbytes) {
    return broadcast(default_comm(__func__), buffer, nbytes, __func__);
}

QMP_status_t QMP_comm_sum_int(QMP_comm_t comm, int* value) {
    return reduce(checked(comm, __func__), value, 1, add<int>, __func__);
}
QMP_status_t QMP_sum_int(int* value) {
    return reduce(default_comm(__func__), value, 1, add<int>, __func__);
}
QMP_status_t QMP_comm_sum_uint64_t(QMP_comm_t comm, uint64_t* value) {
    return reduce(checked(comm, __func__), value, 1, add<std::uint64_t>, __func__);
}
QMP_status_t QMP_sum_uint64_t(uint64_t* value) {
    return reduce(default_comm(__func__), value, 1, add<std::uint64_t>, __func__);
}
QMP_status_t QMP_comm_sum_float(QMP_comm_t comm, float* value) {
    return sum_wide<double>(checked(comm, __func__), value, __func__);
}
QMP_status_t QMP_sum_float(float* value) {
    return sum_wide<double>(default_comm(__func__), value, __func__);
}
QMP_status_t QMP_comm_sum_double(QMP_comm_t comm, double* value) {
    return reduce(checked(comm, __func__), value, 1, add<double>, __func__);
}
QMP_status_t QMP_sum_double(double* value) {
    return reduce(default_comm(__func__), value, 1, add<double>, __func__);
}
QMP_status_t QMP_comm_sum_long_double(QMP_comm_t comm, long double* value) {
    return reduce(checked(comm, __func__), value, 1, add<long double>, __func__);
}
QMP_status_t QMP_sum_long_double(long double* value) {
    return reduce(default_comm(__func__), value, 1, add<long double>, __func__);
}
QMP_status_t QMP_comm_sum_double_extended(QMP_comm_t comm, double* value) {
    return sum_wide<long double>(checked(comm, __func__), value, __func__);
}
QMP_status_t QMP_sum_double_extended(double* value) {
    return sum_wide<long double>(default_comm(__func__), value, __func__);
}

QMP_status_t QMP_comm_sum_float_array(QMP_comm_t comm, float value[], int length) {
    return reduce(checked(comm, __func__), value, length, add<float>, __func__);
}
QMP_status_t QMP_sum_float_array(float value[], int length) {
    return reduce(default_comm(__func__), value, length, add<float>, __func__);
}
QMP_status_t QMP_comm_sum_double_array(QMP_comm_t comm, double value[], int length) {
    return reduce(checked(comm, __func__), value, length, add<double>, __func__);
}
QMP_status_t QMP_sum_double_array(double value[], int length) {
    return reduce(default_comm(__func__), value, length, add<double>, __func__);
}
QMP_status_t QMP_comm_sum_long_double_array(QMP_comm_t comm, long double value[], int length) {
    return reduce(checked(comm, __func__), value, length, add<long double>, __func__);
}
QMP_status_t QMP_sum_long_double_array(long double value[], int length) {
    return reduce(default_comm(__func__), value, length, add<long double>, __func__);
}

QMP_status_t QMP_comm_max_float(QMP_comm_t comm, float* value) {
    return reduce(checked(comm, __func__), value, 1, largest<float>, __func__);
}
QMP_status_t QMP_max_float(float* value) {
    return reduce(default_comm(__func__), value, 1, largest<float>, __func__);
}
QMP_status_t QMP_comm_max_double(QMP_comm_t comm, double* value) {
    return reduce(checked(comm, __func__), value, 1, largest<double>, __func__);
}
QMP_status_t QMP_max_double(double* value) {
    return reduce(default_comm(__func__), value, 1, largest<double>, __func__);
}
QMP_status_t QMP_comm_min_float(QMP_comm_t comm, float* value) {
    return reduce(checked(comm, __func__), value, 1, smallest<float>, __func__);
}
QMP_status_t QMP_min_float(float* value) {
    return reduce(default_comm(__func__), value, 1, smallest<float>, __func__);
}
QMP_status_t QMP_comm_min_double(QMP_comm_t comm, double* value) {
    return reduce(checked(comm, __func__), value, 1, smallest<double>, __func__);
}
QMP_status_t QMP_min_double(double* value) {
    return reduce(default_comm(__func__), value, 1, smallest<double>, __func__);
}
QMP_status_t QMP_comm_xor_ulong(QMP_comm_t comm, unsigned long* value) {
    return reduce(checked(comm, __func__), value, 1, exclusive_or, __func__);
}
QMP_status_t QMP_xor_ulong(unsigned long* value) {
    return reduce(default_comm(__func__), value, 1, exclusive_or, __func__);
}

QMP_status_t QMP_comm_alltoall(QMP_comm_t comm, char* recvbuffer, char* sendbuffer, int count) {
    return alltoall(checked(comm, __func__), recvbuffer, sendbuffer, count, __func__);
}

QMP_status_t QMP_comm_binary_reduction(QMP_comm_t comm, void* lbuffer, size_t buflen,
                                       QMP_binary_func bfunc) {
    return binary_reduction(checked(comm, __func__), lbuffer, buflen, bfunc, __func__);
}
QMP_status_t QMP_binary_reduction(void* lbuffer, size_t buflen, QMP_binary_func bfunc) {
    return binary_reduction(default_comm(__func__), lbuffer, buflen, bfunc, __func__);
}
}
