// SPDX-License-Identifier: BSD-3-Clause
// Accesses of rank 0 to a window of its partner, which computes nothing and waits in a barrier.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "base/units.h"
#include "bench/torus_bench/benchmarks.h"
#include "bench/torus_bench/mpi_files.h"
#include "bench/torus_bench/qmp_objects.h"
#include "bench/torus_bench/timing.h"

namespace torusmp::bench {
namespace {

// A window of MPI_Win_allocate on every rank, which rank 0 has locked for all.
class AllocatedWindow {
  public:
    explicit AllocatedWindow(std::size_t bytes) {
        void* memory = nullptr;
        MPI_Win_allocate(MPI_Aint(bytes), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &handle_);
        MPI_Win_lock_all(0, handle_);
    }
    ~AllocatedWindow() {
        MPI_Win_unlock_all(handle_);
        MPI_Win_free(&handle_);
    }
    AllocatedWindow(const AllocatedWindow&) = delete;
    AllocatedWindow& operator=(const AllocatedWindow&) = delete;

    MPI_Win handle() const { return handle_; }

  private:
    MPI_Win handle_ = MPI_WIN_NULL;
};

using Access = std::function<void()>;

// The accesses of a command, each with the name of its columns.
std::vector<std::pair<const char*, Access>> accesses_of(Command command, std::byte* memory,
                                                        std::size_t bytes, int target,
                                                        MPI_Win window) {
    const int count = int(bytes), words = int(bytes / 8);
    std::byte* const result = memory + bytes;
    switch (command) {
        case Command::put:
            return {{"put", [=] {
                         MPI_Put(memory, count, MPI_BYTE, target, 0, count, MPI_BYTE, window);
                     }}};
        case Command::get:
            return {{"get", [=] {
                         MPI_Get(memory, count, MPI_BYTE, target, 0, count, MPI_BYTE, window);
                     }}};
        case Command::accumulate:
            return {{"accumulate",
                     [=] {
                         MPI_Accumulate(memory, words, MPI_INT64_T, target, 0, words, MPI_INT64_T,
                                        MPI_SUM, window);
                     }},
                    {"get_accumulate", [=] {
                         MPI_Get_accumulate(memory, words, MPI_INT64_T, result, words, MPI_INT64_T,
                                            target, 0, words, MPI_INT64_T, MPI_SUM, window);
                     }}};
        default:
            return {{"compare_and_swap",
                     [=] {
                         MPI_Compare_and_swap(memory, memory, result, MPI_INT64_T, target, 0,
                                              window);
                     }},
                    {"fetch_and_op", [=] {
                         MPI_Fetch_and_op(memory, result, MPI_INT64_T, target, 0, MPI_SUM, window);
                     }}};
    }
}

// One access and a flush, and `together` accesses and a flush.
std::vector<Body> bodies_of(const Access& access, bool active, int together, int target,
                            MPI_Win window) {
    if (!active) return {[](long) {}, [](long) {}};
    return {[=](long times) {
                while (times-- > 0) {
                    access();
                    MPI_Win_flush(target, window);
                }
            },
            [=](long times) {
                while (times-- > 0) {
                    for (int i = 0; i < together; ++i) access();
                    MPI_Win_flush(target, window);
                }
            }};
}

}  // namespace

Table measure_windows(const Context& context) {
    const Options& options = context.options;
    const Pair pair = choose_pair(context);
    const std::size_t largest = *std::max_element(options.sizes.begin(), options.sizes.end());
    const Buffer memory(2 * largest);
    const MpiSession mpi;
    const AllocatedWindow window(largest);
    Table table;
    table.title = fmt::format("Windows: {} between {}", name_of(options.command), describe(pair));
    table.y_label = "an access and its flush, us";
    table.notes = {
        "Memory of MPI_Win_allocate, under MPI_Win_lock_all. Flushed: one access and a flush.",
        fmt::format("Rate and bandwidth: {} accesses, then a flush; MB/s: 10^6 bytes per second.",
                    options.window)};
    context.progress.expect(options.sizes.size());
    for (const std::size_t bytes : options.sizes) {
        context.progress.step(base::format_size(bytes));
        Row row{bytes, {}};
        std::vector<Column> columns;
        int colour = 0;
        for (const auto& [name, access] :
             accesses_of(options.command, memory.data(), bytes, pair.partner, window.handle())) {
            const auto bodies =
                bodies_of(access, pair.role == 0, options.window, pair.partner, window.handle());
            const auto timings = measure_in_turns(bodies, options.seconds);
            columns.push_back({name, "flushed", "us", Column::Draw::line, colour++});
            columns.push_back({name, "rate", "M/s", Column::Draw::no, 0});
            columns.push_back({name, "bandwidth", "MB/s", Column::Draw::no, 0});
            row.figures.push_back(as_time(timings[0], 1e6));
            row.figures.push_back(as_rate(timings[1], options.window / 1e6));
            row.figures.push_back(as_rate(timings[1], double(bytes) * options.window / megabyte));
        }
        table.columns = columns;
        table.rows.push_back(std::move(row));
    }
    return table;
}

}  // namespace torusmp::bench
