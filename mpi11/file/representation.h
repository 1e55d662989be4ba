// SPDX-License-Identifier: BSD-3-Clause
// How data look in a file: as in memory ("native", "internal"), "external32", or by functions of
// the program (MPI-5.0, section 14.5).
//
// Representations live as long as the library. Any thread may use one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "mpi11/datatype/datatype.h"

namespace torusmp::mpi {

class Representation {
  public:
    explicit Representation(std::string name) : name_(std::move(name)) {}
    virtual ~Representation() = default;
    Representation(const Representation&) = delete;
    Representation& operator=(const Representation&) = delete;

    const std::string& name() const { return name_; }
    // The file holds the bytes of memory.
    virtual bool plain() const { return false; }
    // Bytes of a predefined type in a file. Throws Failure.
    virtual std::size_t size_of(Basic basic) const = 0;
    // `count` elements of a type, one behind the other in the file's form. `data` describes their
    // memory, whose address was `address`. Throw Failure.
    virtual void write(const core::Buffer& data, void* address, const Datatype& type,
                       std::size_t count, std::byte* out) const = 0;
    virtual void read(const core::Buffer& data, void* address, const Datatype& type,
                      std::size_t count, const std::byte* in) const = 0;

    // Bytes of one element of a type in a file.
    std::size_t size_of(const Datatype& type) const;
    // Whether elements of the type have the same size as in memory.
    bool keeps_sizes(const Datatype& type) const;

  private:
    std::string name_;
};

const Representation& native_representation();
// Returns null if that name is unknown.
const Representation* find_representation(std::string_view name);

// The arguments of MPI_Register_datarep. The conversions take an MPI_Count under its wide name.
struct ConversionFunctions {
    enum class Convention { narrow, wide, fortran, wide_fortran } convention = Convention::narrow;
    void (*read)() = nullptr;   // null if the file holds the bytes of memory
    void (*write)() = nullptr;  // the same
    void (*extent)() = nullptr;
    void* extra_state = nullptr;
};
int register_representation(const char* call, const char* name,
                            const ConversionFunctions& functions);

// A type with the sizes that its elements have in the file, as the program would have made it with
// such elements (MPI-5.0, section 14.5.1). Committed; the type itself where nothing differs.
Reference<Datatype> type_in_file(Datatype& type, const Representation& representation);

}  // namespace torusmp::mpi
