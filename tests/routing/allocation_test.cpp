// SPDX-License-Identifier: BSD-3-Clause
// The functions on the per-message path must not allocate: every allocation of this program is
// counted.
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <new>

#include "routing/torus.h"

namespace {
std::atomic<long> allocations{0};
}

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    ++allocations;
    return std::malloc(size ? size : 1);
}
void* operator new(std::size_t size) {
    if (void* memory = operator new(size, std::nothrow)) return memory;
    throw std::bad_alloc();
}
// Not inlined, because the compiler would take new and free in one function for a mismatch.
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

using namespace torusmp::routing;

TEST_CASE("asking for hops, neighbours, coordinates and offsets allocates nothing") {
    const Torus torus(std::vector{3, 4, 2, 5, 1, 2}, {true, false, true, true, true, false});
    const long before = allocations;
    long checksum = 0;
    for (Rank from = 0; from < torus.size(); ++from) {
        for (Rank to = 0; to < torus.size(); to += 11) {
            if (const auto hop = torus.next_hop(from, to)) checksum += hop->rank;
            checksum += torus.distance(from, to) + torus.offset(from, to, 3);
        }
        for (int port = 0; port < 12; ++port) {
            checksum += torus.neighbour(from, Direction::from_index(port)).value_or(0);
        }
        checksum += torus.rank(torus.coordinates(from));
    }
    const long during = allocations - before;
    CHECK(during == 0);
    CHECK(checksum > 0);
    const auto path = torus.path(0, torus.size() - 1);  // shows that the count works
    CHECK(allocations > before);
    CHECK_FALSE(path.empty());
}
