// SPDX-License-Identifier: BSD-3-Clause
// All members of a group read or write one file together.
//
// A schedule of three parts. The members exchange the ranges of the file that they want. Then
// either each moves its own bytes, where that is as good, or the range is divided among the
// *aggregators*: in each round an aggregator handles one window of its share. Members send it which
// stretches of the window they want, and send it their bytes, or get them from it; the aggregator
// moves the window to, or from, the file. Last, all learn whether any has failed. An error does not
// end the exchange early, so the next call works.
//
// Bytes that no member gives are never written. Memory beyond the program's: a window for each
// aggregator, what members whose memory is scattered pack for one round, and the lists of runs.
// Windows are as short as keeps the sum within twice Place::window for each aggregator; how dense
// the runs are is taken from samples.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/allgather/allgather.h"
#include "collectives/schedule/schedule.h"
#include "collectives/schedule/scratch.h"
#include "core/layout/layout.h"
#include "io/domains.h"
#include "io/hints.h"
#include "io/runs.h"
#include "io/view.h"

namespace torusmp::io {

class CollectiveAccess final : public collectives::Schedule {
  public:
    // What all calls on a file share; the same on all members but for the store.
    struct Place {
        Store* store = nullptr;        // null if this member does not reach the file
        std::vector<int> aggregators;  // members that do, in order
        std::size_t window = 0;        // bytes that each of them may hold
        Hints hints;
    };
    struct Call {
        bool write = false;
        int error = 0;        // what this member has failed with already; it moves nothing
        bool atomic = false;  // as if the members' accesses came one after the other
        View view;
        Offset position = 0;
        core::Buffer buffer;
    };
    struct Result {
        std::size_t bytes = 0;  // of this member's data
        int error = 0;  // errno value, or Call::error, of the first that failed; 0 if none did
        int member = -1;
        std::string host;
    };

    CollectiveAccess(collectives::Group& group, const Place& place);
    ~CollectiveAccess();

    // `place`, the store and what the call refers to stay until complete().
    void start(const Call& call);
    // After completion; only where error() is none, too.
    const Result& result() const { return result_; }

  private:
    struct Opening {
        Offset begin, end;       // of the file, without gaps at the ends; equal: nothing
        Offset size;             // of the file; negative: not known
        std::uint64_t block;     // mean length of the stretches
        std::uint64_t lists;     // memory that its runs take in a MiB of its range
        std::uint32_t reaches;   // the member has a store
        std::uint32_t overlaps;  // its view does
    };
    struct Closing {
        std::int32_t error;
        std::uint32_t unused;
        Offset end;  // where a read has met the end of the file
        char host[64];
    };
    static constexpr std::size_t runs_in_header = 12;
    struct Header {
        std::uint64_t runs, bytes;
        Run first[runs_in_header];
    };
    enum class Phase { opening, direct, rounds, closing, over };
    enum class Stage { ask, headers, runs, data, done };
    // Messages between two members match by these.
    enum Stream : int { headers = 0, lists = 1, contents = 2 };
    // This member's share in one window of an aggregator.
    struct Piece {
        Header header;
        Runs runs;
        collectives::Scratch scratch;
        std::size_t done = 0, bytes = 0;  // of the stream
        bool posted = false;
    };
    // What an aggregator knows of a member in a round.
    struct Share {
        Header header;
        std::vector<Run> runs;
        std::optional<core::Layout> layout;
        bool asked = false;
    };

    bool move() override;
    void open();
    std::uint64_t memory_of_lists() const;
    bool through_aggregators() const;
    std::size_t window() const;
    void plan();
    void access_directly();
    void close();
    void conclude();
    void note(int error);

    bool rounds();
    // As one of those who want something.
    bool client();
    void describe(const Domains::Window& window, Piece& piece);
    core::Buffer memory_of(Piece& piece);
    void post(int aggregator);
    // As an aggregator.
    bool aggregate();
    void ask_all();
    bool all_headers();
    bool all_runs();
    void exchange();
    bool all_data();
    bool lay_out(int member);
    core::Buffer part_of(Share& share);
    void serve_itself();
    void write_window();
    void read_window();
    bool overlaps(const Opening& opening, const Domains::Window& window) const {
        return opening.begin < window.end && window.begin < opening.end;
    }
    std::size_t members() const { return std::size_t(group().size()); }
    std::size_t targets() const { return place_.aggregators.size(); }

    const Place& place_;
    int own_share_ = -1;  // index among the aggregators; -1 if this member is not one
    Call call_;
    std::size_t bytes_ = 0;  // of the call; of a read, what lies before the end of the file
    Phase phase_ = Phase::over;
    std::vector<Opening> openings_;
    std::vector<Closing> closings_;
    collectives::Allgather opening_, closing_;
    Domains domains_;
    int error_ = 0;
    Offset met_end_ = -1;
    Result result_;

    int client_round_ = 0;
    bool client_waits_ = false;
    std::vector<Piece> pieces_;  // by aggregator

    int round_ = 0;
    Stage stage_ = Stage::ask;
    Domains::Window window_;
    collectives::Scratch memory_;
    std::vector<Share> shares_;  // by member
    Coverage coverage_;
};

}  // namespace torusmp::io
