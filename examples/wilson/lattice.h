// SPDX-License-Identifier: BSD-3-Clause
// The lattice as held by one rank: its sites, their parity, their neighbours, and the exchange of
// faces with the neighbouring ranks.
//
// A Lattice is pure arithmetic and immutable; it does not communicate. Fields are separated by
// parity ((x+y+z+t) mod 2 in global coordinates), so a field on one parity is an array indexed by
// "site" below. A HaloExchange owns the QMP memory and the declared channels of one kind of face
// and must be destroyed before QMP_finalize_msg_passing. One thread only: the one that called
// QMP_init_msg_passing.
#pragma once

#include <qmp.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace wilson {

using Coord = std::array<int, 4>;  // x, y, z, t; x is fastest wherever sites are put in a row

// An error in the user's input. The message names what was found, where, and what was expected.
struct InputError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Directions are numbered 0..7: forward and backward in x, then in y, z and t.
constexpr int forward(int mu) {
    return 2 * mu;
}
constexpr int backward(int mu) {
    return 2 * mu + 1;
}
constexpr int opposite(int direction) {
    return direction ^ 1;
}

std::string to_string(const Coord& c);  // "8x8x8x16"

// The value of an option: four positive numbers. Throws InputError.
Coord parse_coord(const char* option, const std::string& text);

// Throws InputError unless `extent` can be laid out on `grid` with that many ranks.
void check_layout(const Coord& extent, const Coord& grid, int ranks);

// The grid of `ranks` ranks with the smallest surface; throws InputError if none divides the
// lattice.
Coord best_grid(const Coord& extent, int ranks);

class Lattice {
  public:
    // `place` is the coordinate of this rank in `grid`.
    Lattice(const Coord& extent, const Coord& grid, const Coord& place);

    const Coord& extent() const { return extent_; }
    const Coord& grid() const { return grid_; }
    const Coord& local() const { return local_; }
    std::int64_t volume() const;  // sites of the whole lattice
    bool split(int mu) const { return grid_[mu] > 1; }

    int sites(int parity) const { return static_cast<int>(coords_[parity].size()); }
    int local_sites() const { return sites(0) + sites(1); }
    const Coord& global(int parity, int site) const { return coords_[parity][site]; }
    std::int64_t global_index(int parity, int site) const;

    // The place of a site that this rank holds. The argument is the coordinate inside the local
    // box.
    struct Place {
        int parity, site;
    };
    Place place(const Coord& local) const;

    // The neighbour in each direction. n >= 0: a site of the other parity on this rank. n < 0:
    // entry ~n of the halo that comes from that direction.
    using Neighbours = std::array<std::int32_t, 8>;
    const Neighbours& neighbours(int parity, int site) const { return neighbours_[parity][site]; }

    // Sites with all neighbours on this rank, and sites with at least one on another rank.
    std::span<const std::int32_t> interior(int parity) const { return interior_[parity]; }
    std::span<const std::int32_t> boundary(int parity) const { return boundary_[parity]; }

    // Sites whose neighbour in `direction` is on another rank, in the same order on both ranks.
    std::span<const std::int32_t> face(int parity, int direction) const {
        return faces_[parity][direction];
    }

  private:
    int local_index(const Coord& local) const;
    void number_sites();
    void find_neighbours();

    Coord extent_, grid_, local_, origin_;
    std::vector<std::int32_t> site_at_;  // by index in the local box
    std::array<std::vector<Coord>, 2> coords_;
    std::array<std::vector<Neighbours>, 2> neighbours_;
    std::array<std::vector<std::int32_t>, 2> interior_, boundary_;
    std::array<std::array<std::vector<std::int32_t>, 8>, 2> faces_;
};

// Sums the time of the calls made through it.
class Stopwatch {
  public:
    template <class Call>
    void time(Call&& call) {
        const auto begin = std::chrono::steady_clock::now();
        call();
        seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    double seconds() const { return seconds_; }

  private:
    double seconds_ = 0;
};

// Global sums in place; their time is added to the stopwatch.
void global_sum(std::span<double> values, Stopwatch& communication);

// The QMP channels that carry faces of one parity to the neighbours.
//
// They are declared once and started repeatedly, so the library can prepare all facts about both
// ends. Dimensions that are not split among ranks have no messages; there the neighbour tables wrap
// around.
class HaloExchange {
  public:
    // Sites of `parity` send `bytes` each, in every direction of `send_directions`; data received
    // from the other side belongs to sites of the other parity.
    HaloExchange(const Lattice& lattice, int parity, std::size_t bytes,
                 std::span<const int> send_directions);

    // The data for the neighbour in `direction`: one entry for each site of lattice.face(parity,
    // direction).
    template <class T>
    T* outgoing(int direction) {
        return static_cast<T*>(pointer(out_[direction]));
    }
    // The data from the neighbour in `direction`: entry ~n of Lattice::neighbours.
    template <class T>
    const T* incoming(int direction) const {
        return static_cast<const T*>(pointer(in_[direction]));
    }

    void start();
    void wait();
    std::size_t bytes_sent() const { return bytes_sent_; }  // each time

  private:
    struct FreeMemory {
        void operator()(QMP_mem_t* m) const { QMP_free_memory(m); }
    };
    struct FreeMessageMemory {
        void operator()(QMP_msgmem_t m) const { QMP_free_msgmem(m); }
    };
    struct FreeHandle {
        void operator()(QMP_msghandle_t h) const { QMP_free_msghandle(h); }
    };
    struct Buffer {
        std::unique_ptr<QMP_mem_t, FreeMemory> memory;
        std::unique_ptr<std::remove_pointer_t<QMP_msgmem_t>, FreeMessageMemory> message;
    };

    static Buffer allocate(std::size_t bytes);
    static void* pointer(const Buffer& b) {
        return b.memory ? QMP_get_memory_pointer(b.memory.get()) : nullptr;
    }

    std::size_t bytes_sent_ = 0;
    std::array<Buffer, 8> out_, in_;
    std::unique_ptr<std::remove_pointer_t<QMP_msghandle_t>, FreeHandle>
        all_;  // freed before the buffers
};

// Rank 0 found `trouble`, or nothing if it is empty. All ranks receive it and throw the same
// InputError, so that the job ends on all ranks and none waits for a rank that has given up.
// Collective.
void agree(const std::string& trouble);

// Throws std::runtime_error with the library's error text if a QMP call failed.
void check(QMP_status_t status, const char* call);

}  // namespace wilson
