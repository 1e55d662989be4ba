// SPDX-License-Identifier: BSD-3-Clause
// A collective read or write of one file by all members of a group.
//
// The schedule has three parts. First the members exchange the ranges of the file that they access.
// Then, if that is as fast, each member accesses the file itself; otherwise the range is divided
// among the *aggregators*. In each round an aggregator handles one window of its share: the members
// send it the list of their stretches of the window, and their data if they write; the aggregator
// accesses the file; if they read, it sends them their data. Over links each share is divided into
// several *lanes*, which have windows of their own: some lanes receive data while another is
// written. Lanes lie far apart in the file, so that ranks in all parts of the machine send at the
// same time. In the third part, all members learn whether any has failed. An error does not end the
// exchange early, so the next call works.
//
// Bytes that no member writes stay as they are. Memory: a window for each aggregator, the packed
// data of one round for each member whose memory is scattered, and the lists of runs. Windows are
// so short that the sum stays within twice Place::window for each aggregator; the length of the
// lists is estimated from samples.
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
    static constexpr int most_lanes = 31;
    static constexpr std::uint64_t usual_long_stretch = std::uint64_t(256) << 10;
    // The same for all calls on a file and, except for the store, on all members.
    struct Place {
        Store* store = nullptr;        // null if this member does not reach the file
        std::vector<int> aggregators;  // in order; all of them reach the file
        std::size_t window = 0;        // bytes of buffer of each aggregator
        // Members may as well move stretches of this many bytes themselves.
        std::uint64_t long_stretch = usual_long_stretch;
        int lanes = 1;  // the most lanes of an aggregator; 1 to most_lanes
        std::size_t shortest_lane = std::size_t(512) << 10;  // in bytes of the file
        // A shorter transfer costs less than its start in the background.
        std::size_t shortest_transfer = std::size_t(64) << 10;
        Hints hints;
    };
    struct Call {
        bool write = false;
        int error = 0;        // not 0 if this member has already failed, and moves no data
        bool atomic = false;  // the accesses of the members have an order
        View view;
        Offset position = 0;
        core::Buffer buffer;
    };
    struct Result {
        std::size_t bytes = 0;  // of this member's data
        int error = 0;          // errno value, or Call::error, of the first member that failed
        int member = -1;        // that member; -1 if none failed
        std::string host;       // its host
    };

    CollectiveAccess(collectives::Group& group, const Place& place);
    ~CollectiveAccess();

    // The store, the place, and the buffer of the call must exist until complete().
    void start(const Call& call);
    // Valid after completion, if error() is Error::none.
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
    enum class Stage { ask, headers, runs, data, access, done };
    // Messages of a lane to its aggregator match in their order: header, list, contents. Two
    // aggregators also send each other what they read, as answers.
    static int requests(std::size_t lane) { return int(2 * lane); }
    static int answers(std::size_t lane) { return int(2 * lane + 1); }
    static_assert(2 * most_lanes <= collectives::max_streams);
    // The most of all lanes of an aggregator.
    static constexpr std::size_t most_shares = 1024;
    // This member's part of a share.
    struct Piece {
        Header header;
        Runs runs;
        collectives::Scratch scratch;
        int round = 0;
        bool waits = false;               // the round has begun
        std::size_t done = 0, bytes = 0;  // of the stream
        bool posted = false;
    };
    // The state that an aggregator keeps of a member in a round of a lane.
    struct Share {
        Header header;
        std::vector<Run> runs;
        std::optional<core::Layout> layout;
        bool asked = false;
    };
    // A lane of this aggregator.
    struct Lane {
        int round = 0;
        Stage stage = Stage::ask;
        Domains::Window window;
        std::vector<Share> shares;  // by member
        Coverage coverage;
        std::optional<Transfer> transfer;  // of the window, if it goes on in the background
    };

    bool move() override;
    void await_work(bool all) override;
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
    // The part of a member that accesses the file through aggregators.
    bool client(std::size_t k);
    bool moved(std::size_t k);
    void describe(const Domains::Window& window, Piece& piece);
    core::Buffer memory_of(Piece& piece);
    void post(std::size_t k);
    // The part of an aggregator, in one lane.
    bool aggregate(std::size_t l);
    void ask_all(std::size_t l);
    bool all_headers(std::size_t l);
    bool all_runs(std::size_t l);
    void exchange(std::size_t l);
    bool all_data(std::size_t l);
    bool lay_out(Lane& lane, int member);
    core::Buffer part_of(std::size_t l, Share& share);
    void serve_itself(std::size_t l);
    void cover(std::size_t l);
    void access(std::size_t l);
    bool accessed(std::size_t l);
    Outcome access_now(std::size_t l, std::size_t from, std::size_t to);
    void take(std::size_t l, std::size_t from, std::size_t to, const Outcome& outcome);
    bool transfers_under_way() const;
    bool overlaps(const Opening& opening, const Domains::Window& window) const {
        return opening.begin < window.end && window.begin < opening.end;
    }
    std::size_t members() const { return std::size_t(group().size()); }
    std::size_t targets() const { return place_.aggregators.size(); }
    // The share of one of this aggregator's lanes; shares are numbered by aggregator, then lane.
    std::size_t share_of(std::size_t l) const { return std::size_t(own_index_) * lanes_ + l; }
    bool is_own(std::size_t k) const {
        return own_index_ >= 0 && k / lanes_ == std::size_t(own_index_);
    }
    std::size_t request(std::size_t l, std::size_t member) const { return l * members() + member; }
    std::byte* memory_of_lane(std::size_t l) {
        const std::size_t each = collectives::Scratch::rounded(domains_.longest());
        return memory_.reserve(lanes_ * each) + l * each;
    }

    const Place& place_;
    int own_index_ = -1;  // index among the aggregators; -1 if this member is not one
    Call call_;
    std::size_t bytes_ = 0;  // of the call; of a read, only those before the end of the file
    Phase phase_ = Phase::over;
    std::vector<Opening> openings_;
    std::vector<Closing> closings_;
    collectives::Allgather opening_, closing_;
    Domains domains_;
    int error_ = 0;
    Offset met_end_ = -1;
    Result result_;

    std::size_t lanes_ = 1;        // of each aggregator in this call
    std::vector<Piece> pieces_;    // by share
    std::vector<Lane> own_lanes_;  // empty unless this member is an aggregator
    collectives::Scratch memory_;  // of all own lanes
};

}  // namespace torusmp::io
