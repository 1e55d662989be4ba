// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/file/representation.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>

#include "mpi11/datatype/external32.h"
#include "mpi11/error/check.h"
#include "mpi11/file/file.h"
#include "mpi11/fortran/fortran_hooks.h"

namespace torusmp::mpi {

std::size_t Representation::size_of(const Datatype& type) const {
    if (plain()) return type.size();
    std::size_t bytes = 0;
    type.signature().for_each(
        [&](Basic basic, std::size_t count) { bytes += size_of(basic) * count; });
    return bytes;
}

bool Representation::keeps_sizes(const Datatype& type) const {
    bool same = true;
    if (!plain())
        type.signature().for_each(
            [&](Basic basic, std::size_t) { same = same && size_of(basic) == facts(basic).size; });
    return same;
}

namespace {

class Plain final : public Representation {
  public:
    using Representation::Representation;
    bool plain() const override { return true; }
    std::size_t size_of(Basic basic) const override { return facts(basic).size; }
    void write(const core::Buffer& data, void*, const Datatype&, std::size_t,
               std::byte* out) const override {
        data.pack(0, out, data.bytes);
    }
    void read(const core::Buffer& data, void*, const Datatype&, std::size_t,
              const std::byte* in) const override {
        data.unpack(0, in, data.bytes);
    }
};

class External32 final : public Representation {
  public:
    External32() : Representation("external32") {}
    std::size_t size_of(Basic basic) const override { return external32::size_of(basic); }
    void write(const core::Buffer& data, void*, const Datatype& type, std::size_t count,
               std::byte* out) const override {
        for_each_piece(type, count,
                       [&](Basic basic, std::size_t elements, std::size_t at, std::byte* native) {
                           data.pack(at, native, elements * facts(basic).size);
                           external32::encode(basic, native, elements, out);
                           out += external32::size_of(basic) * elements;
                       });
    }
    void read(const core::Buffer& data, void*, const Datatype& type, std::size_t count,
              const std::byte* in) const override {
        for_each_piece(type, count,
                       [&](Basic basic, std::size_t elements, std::size_t at, std::byte* native) {
                           external32::decode(basic, in, elements, native);
                           data.unpack(at, native, elements * facts(basic).size);
                           in += external32::size_of(basic) * elements;
                       });
    }

  private:
    template <class Visit>
    static void for_each_piece(const Datatype& type, std::size_t count, Visit&& visit) {
        alignas(16) std::array<std::byte, 4096> native;
        std::size_t at = 0;
        for (std::size_t i = 0; i < count; ++i)
            type.signature().for_each([&](Basic basic, std::size_t elements) {
                const std::size_t size = facts(basic).size;
                while (elements != 0) {
                    const std::size_t now = std::min(elements, native.size() / size);
                    visit(basic, now, at, native.data());
                    at += now * size;
                    elements -= now;
                }
            });
    }
};

class OfTheProgram final : public Representation {
  public:
    OfTheProgram(std::string name, const ConversionFunctions& functions)
        : Representation(std::move(name)), functions_(functions) {}

    std::size_t size_of(Basic basic) const override {
        MPI_Aint extent = 0;
        const MPI_Datatype handle = facts(basic).handle;
        const int code =
            functions_.convention == Convention::fortran ||
                    functions_.convention == Convention::wide_fortran
                ? call_fortran_extent(functions_.extent, handle, extent, functions_.extra_state)
                : reinterpret_cast<MPI_Datarep_extent_function*>(functions_.extent)(
                      handle, &extent, functions_.extra_state);
        if (code != MPI_SUCCESS || extent < 0)
            fail(MPI_ERR_CONVERSION,
                 "the extent function of data representation {} returned {} with extent {} for {}",
                 name(), code, extent, facts(basic).name);
        return std::size_t(extent);
    }
    void write(const core::Buffer& data, void* address, const Datatype& type, std::size_t count,
               std::byte* out) const override {
        if (functions_.write == nullptr) return data.pack(0, out, data.bytes);
        convert(functions_.write, address, type, count, out);
    }
    void read(const core::Buffer& data, void* address, const Datatype& type, std::size_t count,
              const std::byte* in) const override {
        if (functions_.read == nullptr) return data.unpack(0, in, data.bytes);
        convert(functions_.read, address, type, count, const_cast<std::byte*>(in));
    }

  private:
    using Convention = ConversionFunctions::Convention;
    void convert(void (*function)(), void* user, const Datatype& type, std::size_t count,
                 std::byte* file) const {
        if (!type.sections().empty())
            fail(MPI_ERR_BUFFER,
                 "found an array section with gaps, expected contiguous memory for the conversion "
                 "functions of data representation {}",
                 name());
        const MPI_Datatype handle = handle_of(type);
        int code = MPI_SUCCESS;
        switch (functions_.convention) {
            case Convention::narrow:
                code = reinterpret_cast<MPI_Datarep_conversion_function*>(function)(
                    user, handle, int(count), file, 0, functions_.extra_state);
                break;
            case Convention::wide:
                code = reinterpret_cast<MPI_Datarep_conversion_function_c*>(function)(
                    user, handle, MPI_Count(count), file, 0, functions_.extra_state);
                break;
            case Convention::fortran:
            case Convention::wide_fortran:
                code = call_fortran_conversion(
                    function, functions_.convention == Convention::wide_fortran, user, handle,
                    MPI_Count(count), file, functions_.extra_state);
                break;
        }
        if (code != MPI_SUCCESS)
            fail(MPI_ERR_CONVERSION,
                 "the conversion function of data representation {} returned {}", name(), code);
    }

    ConversionFunctions functions_;
};

class Representations {
  public:
    static Representations& only() {
        static Representations* const all = std::make_unique<Representations>().release();
        return *all;
    }
    Representations() {
        add(std::make_unique<Plain>("native"));
        add(std::make_unique<Plain>("internal"));
        add(std::make_unique<External32>());
    }
    // False: there is one of that name.
    bool add(std::unique_ptr<Representation> made) {
        const std::lock_guard lock(mutex_);
        const std::string name = made->name();
        return by_name_.emplace(name, std::move(made)).second;
    }
    const Representation* find(std::string_view name) {
        const std::lock_guard lock(mutex_);
        const auto found = by_name_.find(name);
        return found == by_name_.end() ? nullptr : found->second.get();
    }

  private:
    std::mutex mutex_;
    std::map<std::string, std::unique_ptr<Representation>, std::less<>> by_name_;
};

}  // namespace

const Representation& native_representation() {
    static const Representation* const native = find_representation("native");
    return *native;
}

int register_representation(const char* call, const char* name,
                            const ConversionFunctions& functions) {
    return file_api(call, [&] {
        check_output("datarep", name);
        const std::string_view text(name);
        if (text.empty() || text.size() >= MPI_MAX_DATAREP_STRING)
            fail(MPI_ERR_ARG, "found a name of {} characters, expected 1 to {}", text.size(),
                 MPI_MAX_DATAREP_STRING - 1);
        check_output("dtype_file_extent_fn", reinterpret_cast<const void*>(functions.extent));
        if (!Representations::only().add(
                std::make_unique<OfTheProgram>(std::string(text), functions)))
            fail(MPI_ERR_DUP_DATAREP, "found data representation {}, which exists already", text);
    });
}

const Representation* find_representation(std::string_view name) {
    return Representations::only().find(name);
}

}  // namespace torusmp::mpi

using namespace torusmp::mpi;

namespace {

template <class Function>
int from_c(const char* call, const char* name, ConversionFunctions::Convention convention,
           Function* read, Function* write, MPI_Datarep_extent_function* extent,
           void* extra_state) {
    return register_representation(
        call, name,
        {convention, reinterpret_cast<void (*)()>(read), reinterpret_cast<void (*)()>(write),
         reinterpret_cast<void (*)()>(extent), extra_state});
}

}  // namespace

extern "C" {

#pragma weak MPI_Register_datarep = PMPI_Register_datarep
int PMPI_Register_datarep(const char* datarep, MPI_Datarep_conversion_function* read_conversion_fn,
                          MPI_Datarep_conversion_function* write_conversion_fn,
                          MPI_Datarep_extent_function* dtype_file_extent_fn, void* extra_state) {
    return from_c("MPI_Register_datarep", datarep, ConversionFunctions::Convention::narrow,
                  read_conversion_fn, write_conversion_fn, dtype_file_extent_fn, extra_state);
}

#pragma weak MPI_Register_datarep_c = PMPI_Register_datarep_c
int PMPI_Register_datarep_c(const char* datarep,
                            MPI_Datarep_conversion_function_c* read_conversion_fn,
                            MPI_Datarep_conversion_function_c* write_conversion_fn,
                            MPI_Datarep_extent_function* dtype_file_extent_fn, void* extra_state) {
    return from_c("MPI_Register_datarep_c", datarep, ConversionFunctions::Convention::wide,
                  read_conversion_fn, write_conversion_fn, dtype_file_extent_fn, extra_state);
}
}
