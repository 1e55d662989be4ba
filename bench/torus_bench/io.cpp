// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <vector>

#include "base/units.h"
#include "bench/torus_bench/benchmarks.h"
#include "bench/torus_bench/mpi_files.h"
#include "bench/torus_bench/qmp_objects.h"
#include "bench/torus_bench/timing.h"

namespace torusmp::bench {
namespace {

// The files of a run, which lie in one folder and are gone at its end.
class Files {
  public:
    explicit Files(const std::string& folder)
        : stem_(common_stem(folder)),
          one_(stem_ + "-one", errors_),
          rows_(stem_ + "-rows", errors_),
          plain_(stem_ + "-plain") {
        errors_.share();
        for (int r = 0; r < ranks(); ++r)
            own_.emplace_back(fmt::format("{}-rank-{}", stem_, r), errors_);
        errors_.share();
        find_disk();
        if (beside_disk()) plain_.open(errors_);
        errors_.share();
    }

    // The lowest rank whose host has the folder.
    int disk() const { return disk_; }

    // The work of each column; `memory` has `bytes` bytes for each rank.
    std::vector<Body> bodies(std::byte* memory, std::size_t bytes, std::size_t row) {
        rows_.see_rows(std::min(row, bytes), errors_);
        errors_.share();
        const int count = int(bytes);
        const auto at = MPI_Offset(bytes) * rank();
        const auto each = [](auto call) {
            return [call](long times) {
                while (times-- > 0) call();
            };
        };
        const auto write_one = [=, this] {
            errors_.note_mpi(MPI_File_write_at_all(one_.handle(), at, memory, count, MPI_BYTE,
                                                   MPI_STATUS_IGNORE));
        };
        const auto at_disk = [=, this](auto move) {
            return each([=, this] {
                for (int r = 0; beside_disk() && r < ranks(); ++r) move(std::size_t(r) * bytes);
            });
        };
        const auto put = [=, this](std::size_t from) {
            plain_.write(memory, bytes, from, errors_);
        };
        return {
            each(write_one),
            each([=, this] {
                errors_.note_mpi(MPI_File_read_at_all(one_.handle(), at, memory, count, MPI_BYTE,
                                                      MPI_STATUS_IGNORE));
            }),
            each([=, this] {
                write_one();
                errors_.note_mpi(MPI_File_sync(one_.handle()));
            }),
            each([=, this] {
                errors_.note_mpi(MPI_File_write_at_all(rows_.handle(), 0, memory, count, MPI_BYTE,
                                                       MPI_STATUS_IGNORE));
            }),
            each([=, this] {
                errors_.note_mpi(MPI_File_read_at_all(rows_.handle(), 0, memory, count, MPI_BYTE,
                                                      MPI_STATUS_IGNORE));
            }),
            each([=, this] {
                errors_.note_mpi(
                    MPI_File_write_at(own(), 0, memory, count, MPI_BYTE, MPI_STATUS_IGNORE));
            }),
            each([=, this] {
                errors_.note_mpi(
                    MPI_File_read_at(own(), 0, memory, count, MPI_BYTE, MPI_STATUS_IGNORE));
            }),
            at_disk(put),
            at_disk([=, this](std::size_t from) { plain_.read(memory, bytes, from, errors_); }),
            at_disk([=, this](std::size_t from) {
                put(from);
                if (from + bytes == bytes * std::size_t(ranks())) plain_.sync(errors_);
            }),
        };
    }
    void check() const { errors_.share(); }

  private:
    static std::string common_stem(const std::string& folder) {
        int id = int(getpid());
        MPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD);
        return fmt::format("{}/torus-bench-{}", folder, id);
    }
    void find_disk() {
        disk_ = access((stem_ + "-one").c_str(), F_OK) == 0 ? rank() : INT_MAX;
        MPI_Allreduce(MPI_IN_PLACE, &disk_, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        if (disk_ == INT_MAX) throw AgreedError(stem_ + "-one was deleted by another program");
    }
    bool beside_disk() const { return rank() == disk_; }
    MPI_File own() const { return own_[std::size_t(rank())].handle(); }

    FileErrors errors_;
    const std::string stem_;
    MpiFile one_, rows_;
    std::vector<MpiFile> own_;
    PlainFile plain_;
    int disk_ = -1;
};

std::vector<Column> io_columns() {
    using Draw = Column::Draw;
    std::vector<Column> columns;
    int colour = 0;
    for (const char* group : {"one file", "one file, strided", "a file a rank", "plain"}) {
        const Draw draw = group == std::string_view("plain") ? Draw::dashes : Draw::line;
        columns.push_back({group, "write", "MB/s", draw, colour++});
        columns.push_back({group, "read", "MB/s", draw, colour++});
        if (group == std::string_view("one file") || group == std::string_view("plain"))
            columns.push_back({group, "to disk", "MB/s", Draw::no, 0});
    }
    return columns;
}

}  // namespace

Table measure_io(const Context& context) {
    const Options& options = context.options;
    const std::size_t largest = *std::max_element(options.sizes.begin(), options.sizes.end());
    const Buffer memory(largest);  // before the files, which are closed together
    const MpiSession mpi;
    Files files(options.folder);
    Table table;
    table.title = fmt::format("Files in {}, {} ranks", options.folder, ranks());
    table.y_label = "rate of all ranks, MB/s";
    table.columns = io_columns();
    table.notes = {
        "MB/s: 10^6 bytes of all ranks per second. The size is what each rank moves in a call.",
        "One file: the ranks' blocks in order (MPI_File_write_at_all, MPI_File_read_at_all).",
        fmt::format("Strided: rows of {} of all ranks in turn.", base::format_size(options.row)),
        "A file a rank: each rank has its own file (MPI_File_write_at, MPI_File_read_at).",
        fmt::format("Plain: rank {}, beside the disk, moves the same amount with pwrite and pread.",
                    files.disk()),
        "To disk: write, then MPI_File_sync or fsync. Other writes may still be in the host's "
        "memory.",
        "Each write overwrites the previous one."};
    context.progress.expect(options.sizes.size());
    for (const std::size_t bytes : options.sizes) {
        context.progress.step(base::format_size(bytes));
        const auto bodies = files.bodies(memory.data(), bytes, options.row);
        Row row{bytes, {}};
        for (const Timing& timing : measure_in_turns(bodies, options.seconds))
            row.figures.push_back(as_rate(timing, double(bytes) * ranks() / megabyte));
        files.check();
        table.rows.push_back(std::move(row));
    }
    return table;
}

}  // namespace torusmp::bench
