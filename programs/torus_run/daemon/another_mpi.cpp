// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/another_mpi.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "programs/torus_run/daemon/descendants.h"

namespace torusmp::torus_run {
namespace {

// torusmp's library has a distinct name, which programs link directly; but a library with the name
// shared by all implementations of the standard's binary interface may be torusmp's own.
constexpr std::string_view shared_name = "libmpi_abi.so";

std::optional<std::string> describe(std::string_view library) {
    constexpr std::array<std::string_view, 4> names{"libmpi.so", "libmpi_", "libmpich",
                                                    "libmpifort.so"};
    const auto begins = [library](std::string_view name) { return library.starts_with(name); };
    if (library.find(".so") == library.npos || std::none_of(names.begin(), names.end(), begins))
        return std::nullopt;
    const std::size_t end = library.find(".so.");
    const int version = end == library.npos ? 0 : std::atoi(library.data() + end + 4);
    // The major version of the library is the only difference between them.
    const char* maker = begins("libmpich") || version == 12 ? " of MPICH or a relative"
                        : version >= 20                     ? " of Open MPI"
                                                            : "";
    return fmt::format("{}{}", library, maker);
}

// Reads a file that may be damaged or not a program.
class Image {
  public:
    explicit Image(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}

    template <class T>
    bool get(std::uint64_t offset, T& value) const {
        return pread(file_.get(), &value, sizeof value, off_t(offset)) == ssize_t(sizeof value);
    }
    std::string name(std::uint64_t offset) const {
        char text[256] = {};
        return pread(file_.get(), text, sizeof text - 1, off_t(offset)) > 0 ? text : "";
    }

  private:
    base::Descriptor file_;
};

using Segments = std::vector<ElfW(Phdr)>;

Segments segments_of(const Image& image) {
    ElfW(Ehdr) header;
    constexpr unsigned char own_class = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
    Segments segments;
    if (!image.get(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != own_class || header.e_phentsize != sizeof(ElfW(Phdr)))
        return segments;
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        ElfW(Phdr) segment;
        if (image.get(header.e_phoff + i * sizeof segment, segment)) segments.push_back(segment);
    }
    return segments;
}

// The file offset of an address in the loaded program.
std::optional<std::uint64_t> offset_of(const Segments& segments, std::uint64_t address) {
    for (const auto& segment : segments)
        if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
            address - segment.p_vaddr < segment.p_filesz)
            return segment.p_offset + (address - segment.p_vaddr);
    return std::nullopt;
}

std::vector<std::string> libraries_of(const Image& image) {
    const Segments segments = segments_of(image);
    std::vector<std::uint64_t> wanted;
    std::optional<std::uint64_t> names;
    for (const auto& segment : segments) {
        if (segment.p_type != PT_DYNAMIC) continue;
        ElfW(Dyn) entry;
        for (std::uint64_t at = 0; at + sizeof entry <= segment.p_filesz; at += sizeof entry) {
            if (!image.get(segment.p_offset + at, entry) || entry.d_tag == DT_NULL) break;
            if (entry.d_tag == DT_NEEDED) wanted.push_back(entry.d_un.d_val);
            if (entry.d_tag == DT_STRTAB) names = offset_of(segments, entry.d_un.d_ptr);
        }
    }
    std::vector<std::string> libraries;
    if (names)
        for (const std::uint64_t offset : wanted) libraries.push_back(image.name(*names + offset));
    return libraries;
}

std::optional<std::string> mapped_in(pid_t process) {
    std::ifstream maps(fmt::format("/proc/{}/maps", process));
    for (std::string line; std::getline(maps, line);)
        if (const std::size_t slash = line.rfind('/'); slash != line.npos)
            if (auto found = describe(std::string_view(line).substr(slash + 1))) return found;
    return std::nullopt;
}

}  // namespace

std::optional<std::string> mpi_needed_by(const std::string& program) {
    for (const std::string& library : libraries_of(Image(program)))
        if (!library.starts_with(shared_name))
            if (auto found = describe(library)) return found;
    return std::nullopt;
}

std::optional<std::string> mpi_loaded_by(pid_t process) {
    std::vector<pid_t> all{process};
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (auto found = mapped_in(all[i])) return found;
        constexpr std::size_t enough = 64;
        const std::vector<pid_t> below = children(all[i]);
        if (all.size() < enough) all.insert(all.end(), below.begin(), below.end());
    }
    return std::nullopt;
}

std::optional<std::string> MpiSearch::look(Clock::time_point now, pid_t process) {
    if (!next_ || now < *next_) return std::nullopt;
    constexpr std::chrono::milliseconds longest{10'000};
    pause_ = std::min(2 * pause_, longest);
    next_ = now + pause_;
    return found(mpi_loaded_by(process));
}

std::optional<std::string> MpiSearch::look_at_file(const std::string& program) {
    if (!next_ || program == seen_) return std::nullopt;
    seen_ = program;
    return found(mpi_needed_by(program));
}

std::optional<std::string> MpiSearch::found(std::optional<std::string> library) {
    if (library) end();
    return library;
}

}  // namespace torusmp::torus_run
