// SPDX-License-Identifier: BSD-3-Clause
// Calls from mpi_f08 with buffers by descriptor. A buffer that is one block costs a look at its
// strides; for a section the call gets a datatype that knows where the section lies
// (datatype/section.h).
#pragma once

#include <utility>

#include "mpi11/fortran/f08/descriptor.h"

namespace torusmp::mpi {

// As Argument, for mpi_f08.
template <class T>
struct DescribedArgument : Argument<T> {
    using Argument<T>::Argument;
};
template <>
struct DescribedArgument<void*> : Buffer {
    using Buffer::Buffer;
};
template <>
struct DescribedArgument<const void*> : Buffer {
    using Buffer::Buffer;
};
template <>
struct DescribedArgument<const char*> : String {
    using String::String;
};
template <>
struct DescribedArgument<MPI_Datatype> {
    using Passed = const MPI_Fint*;
    explicit DescribedArgument(Passed passed) : value(from_fortran<MPI_Datatype>(*passed)) {}
    MPI_Datatype in_c() const { return value; }
    MPI_Datatype value;
};

// What a buffer is to a call follows from the parameters behind it in C.
struct BufferFacts {
    BufferUse use = BufferUse::untyped;
    std::size_t type = 0;  // place of the datatype
};

template <class T>
inline constexpr bool is_buffer = std::is_same_v<T, void*> || std::is_same_v<T, const void*>;
// A count, or an array of counts or displacements.
template <class T>
inline constexpr bool counts = std::is_integral_v<T>;
template <class T>
inline constexpr bool counts<const T*> = std::is_integral_v<T>;
template <class T>
inline constexpr bool position = false;
template <class T>
inline constexpr bool position<T*> = std::is_integral_v<T> && !std::is_const_v<T>;

template <class... Parameters>
constexpr BufferFacts facts_of(std::size_t buffer) {
    constexpr std::size_t count = sizeof...(Parameters);
    constexpr bool types[] = {std::is_same_v<Parameters, MPI_Datatype>...};
    constexpr bool positions[] = {position<Parameters>...};
    constexpr bool passed_over[] = {(counts<Parameters> || is_buffer<Parameters>)...};
    for (std::size_t place = buffer + 1; place < count; ++place) {
        if (types[place]) return {BufferUse::typed, place};
        if (positions[place]) return {BufferUse::packed, 0};
        if (!passed_over[place]) break;
    }
    return {};
}

// address: the call looks at the addresses of its buffers alone.
template <auto function, bool address>
struct DescribedCall;
template <class Result, class... Parameters, Result (*function)(Parameters...), bool address>
struct DescribedCall<function, address> {
    static constexpr std::size_t arity = sizeof...(Parameters);
    using Arguments = std::tuple<DescribedArgument<Parameters>...>;

    static int run(const char* name, typename DescribedArgument<Parameters>::Passed... passed) {
        Arguments arguments(passed...);
        return run(name, arguments, std::index_sequence_for<Parameters...>());
    }

  private:
    template <std::size_t place>
    using Parameter = std::tuple_element_t<place, std::tuple<Parameters...>>;

    template <std::size_t... places>
    static int run(const char* name, Arguments& arguments, std::index_sequence<places...>) {
        if constexpr (!address)
            if (!(is_block<places>(arguments) && ...)) [[unlikely]] {
                DescribedBuffer buffers[] = {described<places>(arguments)...};
                SectionCall sections;
                if (!sections.begin(buffers)) return refuse_section(name);
                const int code = function(std::get<places>(arguments).in_c()...);
                sections.end();
                return code;
            }
        return function(std::get<places>(arguments).in_c()...);
    }
    template <std::size_t place>
    static bool is_block(const Arguments& arguments) {
        if constexpr (is_buffer<Parameter<place>>)
            return std::get<place>(arguments).block();
        else
            return true;
    }
    template <std::size_t place>
    static DescribedBuffer described(Arguments& arguments) {
        if constexpr (is_buffer<Parameter<place>>) {
            constexpr BufferFacts facts = facts_of<Parameters...>(place);
            DescribedBuffer buffer{&std::get<place>(arguments), facts.use};
            buffer.changed = std::is_same_v<Parameter<place>, void*>;
            if constexpr (facts.use == BufferUse::typed)
                buffer.type = &std::get<facts.type>(arguments).value;
            return buffer;
        } else {
            return {};
        }
    }

  public:
    template <std::size_t place>
    using Passed = typename DescribedArgument<Parameter<place>>::Passed;
};

}  // namespace torusmp::mpi

// The routine of mpi_f08 in its own name and in the one that a profiler may define.
#define F08TS_NAME(name)                                          \
    extern "C" decltype(pmpi_##name##_f08ts_) mpi_##name##_f08ts_ \
        __attribute__((weak, alias("pmpi_" #name "_f08ts_")));
