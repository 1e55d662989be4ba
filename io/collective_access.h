// SPDX-License-Identifier: BSD-3-Clause
// All members of a group read or write one file together.
//
// A schedule of three parts. The members exchange the ranges of the file that they want. Then
// either each moves its own bytes, where that is as good, or the range is divided among the
// *aggregators*: in each round an aggregator handles one window of its share. Members send it which
// stretches of the window they want, and send it their bytes, or get them from it; the aggregator
// moves the window to, or from, the file. Over links each share has several *lanes*, parts with
// windows of their own: some receive while another is written, and they lie far apart in the file,
// so that ranks in all parts of the machine send at the same time. Last, all learn whether any has
// failed. An error does not
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
    static constexpr int most_lanes = 15;
    // What all calls on a file share; the same on all members but for the store.
    struct Place {
        Store* store = nullptr;        // null if this member does not reach the file
        std::vector<int> aggregators;  // members that do, in order
        std::size_t window = 0;        // bytes that each of them may hold
        int lanes = 1;                 // of each of them, at most; 1 to most_lanes
        std::size_t shortest_lane = std::size_t(512) << 10;  // in bytes of the file
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
    // Messages of a lane to its aggregator match in their order: header, list, contents. Two
    // aggregators also send each other what they read, as answers.
    static int requests(std::size_t lane) { return int(2 * lane); }
    static int answers(std::size_t lane) { return int(2 * lane + 1); }
    static_assert(2 * most_lanes <= collectives::max_streams);
    // Of all lanes of an aggregator.
    static constexpr std::size_t most_shares = 1024;
    // This member's part of a share.
    struct Piece {
        Header header;
        Runs runs;
        collectives::Scratch scratch;
        int round = 0;
        bool waits = false;  // the round has begun
        std::size_t done = 0, bytes = 0;  // of the stream
        bool posted = false;
    };
    // What an aggregator knows of a member in a round of a lane.
    struct Share {
        Header header;
        std::vector<Run> runs;
        std::optional<core::Layout> layout;
        bool asked = false;
    };
    // One of this aggregator's.
    struct Lane {
        int round = 0;
        Stage stage = Stage::ask;
        Domains::Window window;
        std::vector<Share> shares;  // by member
        Coverage coverage;
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
    bool client(std::size_t k);
    bool moved(std::size_t k);
    void describe(const Domains::Window& window, Piece& piece);
    core::Buffer memory_of(Piece& piece);
    void post(std::size_t k);
    // As an aggregator, in one lane.
    bool aggregate(std::size_t l);
    void ask_all(std::size_t l);
    bool all_headers(std::size_t l);
    bool all_runs(std::size_t l);
    void exchange(std::size_t l);
    bool all_data(std::size_t l);
    bool lay_out(Lane& lane, int member);
    core::Buffer part_of(std::size_t l, Share& share);
    void serve_itself(std::size_t l);
    void write_window(std::size_t l);
    void read_window(std::size_t l);
    bool overlaps(const Opening& opening, const Domains::Window& window) const {
        return opening.begin < window.end && window.begin < opening.end;
    }
    std::size_t members() const { return std::size_t(group().size()); }
    std::size_t targets() const { return place_.aggregators.size(); }
    // The share of one of this aggregator's lanes; shares are numbered by aggregator, then lane.
    std::size_t share_of(std::size_t l) const { return std::size_t(own_index_) * lanes_ + l; }
    bool is_own(std::size_t k) const { return own_index_ >= 0 && k / lanes_ == std::size_t(own_index_); }
    std::size_t request(std::size_t l, std::size_t member) const { return l * members() + member; }
    std::byte* memory_of_lane(std::size_t l) {
        const std::size_t each = collectives::Scratch::rounded(domains_.longest());
        return memory_.reserve(lanes_ * each) + l * each;
    }

    const Place& place_;
    int own_index_ = -1;  // index among the aggregators; -1 if this member is not one
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

    std::size_t lanes_ = 1;  // of each aggregator in this call
    std::vector<Piece> pieces_;  // by share
    std::vector<Lane> own_lanes_;  // empty unless this member is an aggregator
    collectives::Scratch memory_;  // of all of them
};

}  // namespace torusmp::io
