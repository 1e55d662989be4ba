// SPDX-License-Identifier: BSD-3-Clause
// Packs the faces of a 3-D array of doubles with a halo, compared with memcpy of the same size.
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "core/layout/layout.h"

namespace {

using namespace torusmp;

constexpr std::size_t side = 64;       // extent of the array, in doubles
constexpr std::size_t row = side + 2;  // extent with the halo
constexpr std::size_t plane = row * row;

// The face across a dimension: dimension 0 is the slowest, whose face consists of whole rows; 2 is
// the fastest, whose face has one double of each row.
core::Layout face(int dimension) {
    const auto bytes = [](std::size_t doubles) { return std::ptrdiff_t(doubles * sizeof(double)); };
    const core::Shape line = core::Shape::block(side * sizeof(double));
    const core::Shape one = core::Shape::block(sizeof(double));
    switch (dimension) {
        case 0:
            return core::Layout(line.repeated(side, bytes(row)).moved(bytes(plane + row + 1)));
        case 1:
            return core::Layout(line.repeated(side, bytes(plane)).moved(bytes(plane + row + 1)));
        default:
            return core::Layout(one.repeated(side, bytes(row))
                                    .repeated(side, bytes(plane))
                                    .moved(bytes(plane + row + 1)));
    }
}

void pack_face(benchmark::State& state) {
    const core::Layout layout = face(int(state.range(0)));
    const std::vector<std::byte> array(row * plane * sizeof(double));
    std::vector<std::byte> out(layout.size());
    for (auto _ : state) {
        layout.pack(array.data(), 0, out.data(), layout.size());
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * std::int64_t(layout.size()));
}

void unpack_face(benchmark::State& state) {
    const core::Layout layout = face(int(state.range(0)));
    std::vector<std::byte> array(row * plane * sizeof(double));
    const std::vector<std::byte> in(layout.size());
    for (auto _ : state) {
        layout.unpack(array.data(), 0, in.data(), layout.size());
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * std::int64_t(layout.size()));
}

// Records of 12 bytes in 16, one element at a time.
void pack_records(benchmark::State& state) {
    const core::Shape::Placed fields[] = {{0, core::Shape::block(4)}, {8, core::Shape::block(8)}};
    const core::Layout layout(core::Shape::sequence(fields), 16);
    const std::size_t count = 4096;
    const std::vector<std::byte> array(count * 16);
    std::vector<std::byte> out(count * layout.size());
    for (auto _ : state) {
        layout.pack(array.data(), 0, out.data(), out.size());
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * std::int64_t(out.size()));
}

void copy_face(benchmark::State& state) {
    const std::vector<std::byte> in(side * side * sizeof(double));
    std::vector<std::byte> out(in.size());
    for (auto _ : state) {
        std::memcpy(out.data(), in.data(), in.size());
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * std::int64_t(in.size()));
}

BENCHMARK(pack_face)->Arg(0)->Arg(1)->Arg(2);
BENCHMARK(unpack_face)->Arg(0)->Arg(1)->Arg(2);
BENCHMARK(pack_records);
BENCHMARK(copy_face);

}  // namespace
