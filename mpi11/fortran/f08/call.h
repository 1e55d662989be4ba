// SPDX-License-Identifier: BSD-3-Clause
// Calls from mpi_f08 whose buffers are passed by descriptor. For a buffer that is one block of
// memory this only costs a check of its strides. For an array section, the function in C gets a
// datatype that describes where the elements of the section are (datatype/section.h).
#pragma once

#include <utility>

#include "mpi11/fortran/f08/sections.h"

namespace torusmp::mpi {

// Like Argument, for arguments of mpi_f08.
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

// How a function uses a buffer, and where its datatype is.
struct BufferFacts {
    BufferUse use = BufferUse::untyped;
    std::size_t type = 0;  // index of the parameter that is the datatype, if typed
};

template <class T>
inline constexpr bool is_buffer = std::is_same_v<T, void*> || std::is_same_v<T, const void*>;
// Whether the parameter is a count, or an array of counts or displacements.
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

// The parameters of a routine of mpi_f08 whose function in C has this type.
template <class Function>
struct Described;
template <class Result, class... Parameters>
struct Described<Result (*)(Parameters...)> {
    using Function = Result (*)(Parameters...);
    static constexpr std::size_t arity = sizeof...(Parameters);
    static constexpr auto places = std::index_sequence_for<Parameters...>();
    using Arguments = std::tuple<DescribedArgument<Parameters>...>;
    template <std::size_t place>
    using Parameter = std::tuple_element_t<place, std::tuple<Parameters...>>;
    template <std::size_t place>
    using Passed = typename DescribedArgument<Parameter<place>>::Passed;

    // Whether each buffer is one block of memory.
    template <std::size_t... places>
    static bool are_blocks(const Arguments& arguments, std::index_sequence<places...>) {
        return (is_block<places>(arguments) && ...);
    }

    // Calls a function if some of its buffers are sections. Functions of one type share this code.
    template <std::size_t... places>
    [[gnu::noinline]] static int call_with_sections(Function function, const char* name,
                                                    Arguments& arguments,
                                                    std::index_sequence<places...>) {
        Sections sections;
        (add<places>(arguments, sections), ...);
        if (!sections.replace()) return refuse_section(name);
        const int code = function(std::get<places>(arguments).in_c()...);
        sections.give_back();
        return code;
    }

  private:
    template <std::size_t place>
    static bool is_block(const Arguments& arguments) {
        if constexpr (is_buffer<Parameter<place>>)
            return std::get<place>(arguments).block();
        else
            return true;
    }
    template <std::size_t place>
    static void add(Arguments& arguments, Sections& sections) {
        if constexpr (is_buffer<Parameter<place>>) {
            constexpr BufferFacts facts = facts_of<Parameters...>(place);
            MPI_Datatype* type = nullptr;
            if constexpr (facts.use == BufferUse::typed)
                type = &std::get<facts.type>(arguments).value;
            sections.add(std::get<place>(arguments), int(place),
                         std::is_same_v<Parameter<place>, void*>, facts.use, type);
        }
    }
};

// Calls `function` with the arguments of the routine of mpi_f08. `address` means that the function
// uses only the address of its buffers, so sections need no datatype.
template <auto function, bool address>
struct DescribedCall;
template <class Result, class... Parameters, Result (*function)(Parameters...), bool address>
struct DescribedCall<function, address> {
    using Routine = Described<Result (*)(Parameters...)>;
    using Arguments = typename Routine::Arguments;

    static int run(const char* name, typename DescribedArgument<Parameters>::Passed... passed) {
        Arguments arguments(passed...);
        if constexpr (!address)
            if (!Routine::are_blocks(arguments, Routine::places)) [[unlikely]]
                return Routine::call_with_sections(function, name, arguments, Routine::places);
        return std::apply([](auto&... converted) { return function(converted.in_c()...); },
                          arguments);
    }
};

}  // namespace torusmp::mpi

// Defines the routine of mpi_f08 under its own name as well, which a profiler may replace.
#define F08TS_NAME(name)                                          \
    extern "C" decltype(pmpi_##name##_f08ts_) mpi_##name##_f08ts_ \
        __attribute__((weak, alias("pmpi_" #name "_f08ts_")));
