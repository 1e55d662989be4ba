// SPDX-License-Identifier: BSD-3-Clause
// Packing into and out of the portable representation of data (MPI-4.0, section 5.3).
#include <algorithm>
#include <array>
#include <string_view>

#include "mpi11/datatype/datatype.h"
#include "mpi11/datatype/external32.h"
#include "mpi11/entry.h"
#include "mpi11/error/check.h"

namespace torusmp::mpi {
namespace {

void check_representation(const char* name) {
    check_output("datarep", name);
    if (std::string_view(name) != "external32")
        fail(MPI_ERR_ARG, "found data representation \"{}\", expected \"external32\"", name);
}

// Elements of a type in the program's memory, and their external form from a position on.
class External {
  public:
    External(const char* datarep, MPI_Datatype datatype, const void* buffer, MPI_Count count,
             const void* packed, MPI_Aint size, const MPI_Aint* position)
        : type_(committed(datatype)), count_(std::size_t(count)) {
        check_representation(datarep);
        check_count(count);
        check_output("position", position);
        if (*position < 0 || *position > size)
            fail(MPI_ERR_ARG, "found position {}, expected 0 to {}, the size of the packed buffer",
                 *position, size);
        check_buffer(buffer, count, type_);
        memory_ = buffer_of(buffer, count_, type_, hold_);
        if (__builtin_mul_overflow(external32::size_of(type_.signature()), count_, &bytes_))
            wrong::beyond_memory(count, type_);
        if (bytes_ > std::size_t(size - *position))
            fail(MPI_ERR_TRUNCATE,
                 "found {} bytes after position {}, expected {} for {} of {} in external32",
                 size - *position, *position, bytes_, count, type_.describe());
        if (packed == nullptr && bytes_ != 0)
            fail(MPI_ERR_BUFFER, "found a null pointer for the packed buffer");
    }

    MPI_Aint bytes() const { return MPI_Aint(bytes_); }

    void pack(std::byte* out) {
        for_each_piece([&](Basic basic, std::size_t elements, std::size_t at, std::size_t bytes) {
            memory_.pack(at, native_.data(), bytes);
            external32::encode(basic, native_.data(), elements, out);
            out += external32::size_of(basic) * elements;
        });
    }
    void unpack(const std::byte* in) {
        for_each_piece([&](Basic basic, std::size_t elements, std::size_t at, std::size_t bytes) {
            external32::decode(basic, in, elements, native_.data());
            memory_.unpack(at, native_.data(), bytes);
            in += external32::size_of(basic) * elements;
        });
    }

  private:
    // Calls visit(basic, elements, at, bytes) for runs of equal elements that fit into native_,
    // with their offset in the message in this machine's representation.
    template <class Visit>
    void for_each_piece(Visit&& visit) {
        std::size_t at = 0;
        const auto row = [&](Basic basic, std::size_t elements) {
            const std::size_t size = facts(basic).size;
            while (elements != 0) {
                const std::size_t now = std::min(elements, native_.size() / size);
                visit(basic, now, at, now * size);
                at += now * size;
                elements -= now;
            }
        };
        const Signature& signature = type_.signature();
        if (signature.uniform() != Basic::none)
            return row(signature.uniform(), signature.elements() * count_);
        for (std::size_t i = 0; i < count_; ++i) signature.for_each(row);
    }

    const Datatype& type_;
    std::size_t count_;
    LayoutHold hold_;
    core::Buffer memory_;
    std::size_t bytes_ = 0;
    alignas(16) std::array<std::byte, 4096> native_;
};

int pack(const char* call, const char* datarep, const void* in, MPI_Count count,
         MPI_Datatype datatype, void* out, MPI_Aint size, MPI_Aint* position) {
    return api(call, [&] {
        External data(datarep, datatype, in, count, out, size, position);
        data.pack(static_cast<std::byte*>(out) + *position);
        *position += data.bytes();
    });
}

int unpack(const char* call, const char* datarep, const void* in, MPI_Aint size, MPI_Aint* position,
           void* out, MPI_Count count, MPI_Datatype datatype) {
    return api(call, [&] {
        External data(datarep, datatype, out, count, in, size, position);
        data.unpack(static_cast<const std::byte*>(in) + *position);
        *position += data.bytes();
    });
}

int pack_size(const char* call, const char* datarep, MPI_Count count, MPI_Datatype datatype,
              MPI_Aint* size) {
    return api(call, [&] {
        check_representation(datarep);
        check_count(count);
        const Datatype& type = checked<Datatype>(datatype);
        check_output("size", size);
        if (__builtin_mul_overflow(external32::size_of(type.signature()), count, size))
            *size = MPI_UNDEFINED;
    });
}

}  // namespace
}  // namespace torusmp::mpi

TORUSMP_ENTRIES(Pack_external,
                (const char* datarep, const void* inbuf, Count incount, MPI_Datatype datatype,
                 void* outbuf, Stride outsize, Stride* position),
                pack(name, datarep, inbuf, incount, datatype, outbuf, outsize, position))
TORUSMP_ENTRIES(Unpack_external,
                (const char* datarep, const void* inbuf, Stride insize, Stride* position,
                 void* outbuf, Count outcount, MPI_Datatype datatype),
                unpack(name, datarep, inbuf, insize, position, outbuf, outcount, datatype))
TORUSMP_ENTRIES(Pack_external_size,
                (const char* datarep, Count incount, MPI_Datatype datatype, Stride* size),
                pack_size(name, datarep, incount, datatype, size))
