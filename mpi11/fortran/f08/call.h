// SPDX-License-Identifier: BSD-3-Clause
// Calls from mpi_f08 whose buffers are passed by descriptor. For a buffer that is one block of
// memory this only costs a check of its strides. For an array section, the function in C gets a
// datatype that describes where the elements of the section are (datatype/section.h).
#pragma once

#include <utility>

#include "mpi11/fortran/f08/descriptor.h"

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

// How a function uses a buffer, which the parameters after the buffer show: typed, as elements of
// the datatype among them; packed, as bytes from a position on; or untyped.
enum class BufferUse { typed, packed, untyped };
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

// Calls `function` with the arguments of the routine of mpi_f08. `address` means that the function
// uses only the address of its buffers, so sections need no datatype.
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
    static int run(const char* name, Arguments& arguments, std::index_sequence<places...> all) {
        if constexpr (!address)
            if (!(is_block<places>(arguments) && ...)) [[unlikely]]
                return run_with_sections(name, arguments, all);
        return function(std::get<places>(arguments).in_c()...);
    }
    template <std::size_t place>
    static bool is_block(const Arguments& arguments) {
        if constexpr (is_buffer<Parameter<place>>)
            return std::get<place>(arguments).block();
        else
            return true;
    }

    template <std::size_t... places>
    [[gnu::noinline]] static int run_with_sections(const char* name, Arguments& arguments,
                                                   std::index_sequence<places...> all) {
        if (!(allowed<places>(arguments) && ...)) return refuse_section(name);
        Block blocks[arity];
        (copy<places>(arguments, blocks[places]), ...);
        SectionType types[arity];
        (set_type<places>(arguments, types[places], all), ...);
        (set_address<places>(arguments), ...);
        const int code = function(std::get<places>(arguments).in_c()...);
        for (Block& block : blocks) block.give_back();
        return code;
    }
    template <std::size_t place>
    static bool allowed(const Arguments& arguments) {
        if constexpr (is_buffer<Parameter<place>>)
            if constexpr (facts_of<Parameters...>(place).use == BufferUse::untyped)
                return std::get<place>(arguments).block();
        return true;
    }
    template <std::size_t place>
    static void copy(Arguments& arguments, Block& block) {
        if constexpr (is_buffer<Parameter<place>>)
            if constexpr (facts_of<Parameters...>(place).use == BufferUse::packed)
                if (auto& buffer = std::get<place>(arguments); !buffer.block())
                    buffer.set(block.copy(buffer.section(int(place)),
                                          std::is_same_v<Parameter<place>, void*>));
    }
    // Replaces the datatype at `place` if a buffer that has this datatype is a section.
    template <std::size_t place, std::size_t... buffers>
    static void set_type(Arguments& arguments, SectionType& type, std::index_sequence<buffers...>) {
        if constexpr (std::is_same_v<Parameter<place>, MPI_Datatype>) {
            std::vector<Section> sections;
            (add_section<place, buffers>(arguments, sections), ...);
            auto& argument = std::get<place>(arguments);
            argument.value = type.make(argument.value, std::move(sections));
        }
    }
    template <std::size_t type, std::size_t place>
    static void add_section(const Arguments& arguments, std::vector<Section>& sections) {
        if constexpr (is_typed<place>)
            if constexpr (facts_of<Parameters...>(place).type == type)
                if (const auto& buffer = std::get<place>(arguments); !buffer.block())
                    sections.push_back(buffer.section(int(place)));
    }
    template <std::size_t place>
    static void set_address(Arguments& arguments) {
        if constexpr (is_typed<place>)
            if (auto& buffer = std::get<place>(arguments); !buffer.block())
                buffer.set(buffer.section(int(place)).address());
    }
    template <std::size_t place>
    static constexpr bool is_typed =
        is_buffer<Parameter<place>>&& facts_of<Parameters...>(place).use == BufferUse::typed;

  public:
    template <std::size_t place>
    using Passed = typename DescribedArgument<Parameter<place>>::Passed;
};

}  // namespace torusmp::mpi

// Defines the routine of mpi_f08 under its own name as well, which a profiler may replace.
#define F08TS_NAME(name)                                          \
    extern "C" decltype(pmpi_##name##_f08ts_) mpi_##name##_f08ts_ \
        __attribute__((weak, alias("pmpi_" #name "_f08ts_")));
