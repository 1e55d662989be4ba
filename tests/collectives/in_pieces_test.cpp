// SPDX-License-Identifier: BSD-3-Clause
// Long contents that pass through the area piece by piece: the room for pieces is used again while
// a call goes on, in calls that overlap and by members that are late.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "collectives/algorithm/in_pieces.h"
#include "collectives/allgather/allgather.h"
#include "collectives/alltoall/alltoall.h"
#include "collectives/simulated_group.h"

namespace torusmp::collectives::in_pieces_test {

using namespace torusmp::collectives::testing;
using core::Error;

constexpr int members = 3;

// One call of all members: an alltoall, or an allgather of blocks of several lengths.
class Call {
  public:
    Call(int number, std::size_t bytes) : number_(number) {
        for (std::size_t m = 0; m < members; ++m) {
            sizes_[m] = gathers() && m == 1 ? bytes / 3 : bytes;
            offsets_[m] = m * bytes;
            out_[m].resize(gathers() ? sizes_[m] : members * bytes);
            in_[m].assign(members * bytes, std::byte{0});
            for (std::size_t to = 0; to * bytes < out_[m].size(); ++to)
                core::testing::fill(out_[m].data() + to * bytes, sizes_[m], seed(m, to));
        }
    }
    void start(Group& group) {
        const auto m = std::size_t(group.member());
        if (gathers())
            gathers_.emplace_back(group).start(in_[m].data(), Blocks::each(sizes_, offsets_),
                                               out_[m].data(),
                                               named(allgather::algorithms(), "pieces"));
        else
            exchanges_.emplace_back(group).start(in_[m].data(), Blocks::even(sizes_[0]),
                                                 out_[m].data(), Blocks::even(sizes_[0]),
                                                 named(alltoall::algorithms(), "pieces"));
    }
    bool right() {
        for (std::size_t m = 0; m < members; ++m)
            for (std::size_t from = 0; from < members; ++from)
                if (!core::testing::filled(in_[m].data() + offsets_[from], sizes_[from],
                                           seed(from, gathers() ? 0 : m)))
                    return false;
        return true;
    }
    bool ended_well() const { return all_well(gathers_) && all_well(exchanges_); }
    std::size_t length() const { return sizes_[0]; }

  private:
    bool gathers() const { return number_ % 2 == 0; }
    std::uint64_t seed(std::size_t from, std::size_t to) const {
        return std::uint64_t(number_) * 100 + from * 10 + to;
    }

    int number_;
    std::array<std::size_t, members> sizes_{}, offsets_{};
    std::array<std::vector<std::byte>, members> out_, in_;
    std::deque<Allgather> gathers_;
    std::deque<Alltoall> exchanges_;
};

TEST_CASE("blocks of every length pass through the area in pieces, in calls that overlap") {
    const std::uint64_t seed = GENERATE(range(1, 9));
    CAPTURE(seed);
    const std::array<std::size_t, 7> sizes{0, 1, 5000, 250'000, 600'000, 1'200'001, 2'000'000};
    constexpr int calls = 12;
    std::vector<std::unique_ptr<Group>> groups;
    std::deque<Call> open;
    Job job(job_of({members}, true, seed));
    for (int m = 0; m < members; ++m)
        groups.push_back(std::make_unique<Group>(job[m], all_ranks(job), 7));
    for (int i = 0; i < calls; ++i)
        open.emplace_back(i, sizes[std::size_t(job.random().below(sizes.size()))]);
    start_in_any_order(job, members, calls,
                       [&](std::size_t member, std::size_t i) { open[i].start(*groups[member]); });
    // A piece in shared memory is no event, so the simulated world rests while pieces are left.
    const auto ended = [](const Call& call) { return call.ended_well(); };
    const auto all_ended = [&] { return std::all_of(open.begin(), open.end(), ended); };
    for (int looks = 0; looks < 1000 && !all_ended(); ++looks) job.settle();
    INFO(job.report());
    REQUIRE(all_ended());
    for (std::size_t i = 0; i < open.size(); ++i) {
        CAPTURE(i, open[i].length());
        REQUIRE(open[i].right());
    }
}

TEST_CASE("members that disagree about the length of blocks in pieces get an error") {
    constexpr std::size_t bytes = 500'000;
    SimulatedGroup<Alltoall> simulated;
    std::vector<std::vector<std::byte>> out(members, std::vector<std::byte>(members * 2 * bytes));
    auto in = out;
    Job job(job_of({members}, true));
    simulated.sign_on(job, all_ranks(job));
    for (int round = 0; round < 5; ++round) {
        for (int m = 0; m < members; ++m) {
            const Blocks blocks = Blocks::even(m == 1 ? 2 * bytes : bytes);
            simulated[m].start(in[std::size_t(m)].data(), blocks, out[std::size_t(m)].data(),
                               blocks, named(alltoall::algorithms(), "pieces"));
        }
        job.settle();
        int found = 0;
        for (int m = 0; m < members; ++m) {
            REQUIRE(simulated[m].complete());
            found += simulated[m].error() != Error::none ? 1 : 0;
        }
        CHECK(found == members);
        // Later calls find their rooms free.
        for (int m = 0; m < members; ++m)
            simulated[m].start(in[std::size_t(m)].data(), Blocks::even(bytes),
                               out[std::size_t(m)].data(), Blocks::even(bytes),
                               named(alltoall::algorithms(), "pieces"));
        for (int looks = 0; looks < 100 && !simulated.complete(); ++looks) job.settle();
        REQUIRE(simulated.complete());
    }
}

TEST_CASE("pieces need an area with room for them") {
    const std::size_t room = Area::large_bytes(8, Area::slots_of(8));
    CHECK(InPieces::fit(room, 8, 7));
    CHECK(!InPieces::fit(Area::short_bytes, 8, 7));
    CHECK(!InPieces::fit(0, 8, 1));
    CHECK(InPieces::fit(8 * 64 + 2 * 4096, 8, 1));
    CHECK(!InPieces::fit(8 * 64 + 2 * 4096 - 1, 8, 1));
}

}  // namespace torusmp::collectives::in_pieces_test
