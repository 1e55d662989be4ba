// Alltoall: every member has a block for every other.
#pragma once

#include <array>
#include <vector>

#include "collectives/blocks.h"
#include "collectives/schedule.h"

namespace torusmp::collectives {

enum class AlltoallForm {
    automatic,
    rings,  // dimension by dimension from neighbour to neighbour, what goes the same way together;
            // parts of the blocks begin with different dimensions, so that all links are busy
    lines,  // dimension by dimension, each member with its whole line: fewest messages in a row
    pairs   // every block by itself, all members at the same offset at the same time
};

class Alltoall final : public Schedule {
  public:
    explicit Alltoall(Group& group) : Schedule(group) {}
    ~Alltoall() = default;

    // The block out_blocks names for node i goes to node i; what in_blocks names for it comes from
    // there, and is as long as that node says. `in` and `out` do not overlap. Either all members
    // give even blocks, of one size, for both, or none does.
    void start(void* in, const Blocks& in_blocks, const void* out, const Blocks& out_blocks,
               AlltoallForm form = AlltoallForm::automatic);

  private:
    bool move() override;

    // --- pairs ---
    void begin_pairs();
    bool move_pairs();
    struct Pair {
        int next = 0;  // offsets up to here are posted
        std::vector<bool> busy{};
    };
    bool post_next(Pair& pair, std::size_t slot, bool sending);
    int at_offset(int index, int sign) const;

    // --- rings and lines: a lane moves one part of every block, through all dimensions ---
    // By place a cell for each block's part: where a dimension is done its coordinate tells the
    // source, where it is not the destination. A slab is the cells of one coordinate.
    struct Cells {
        std::size_t from = 0;
        std::size_t to = 0;
        std::size_t size() const { return to - from; }
    };
    // One way round a ring.
    struct Arm {
        std::byte* packed = nullptr;          // own slabs, the nearest first
        std::array<std::byte*, 2> arrived{};  // by step: what comes by, the slab for us first
    };
    struct Lane {
        int first_dimension = 0;
        std::size_t from = 0;  // the part: bytes [from, from + width) of every block
        std::size_t width = 0;
        std::byte* cells = nullptr;
        std::array<Arm, 2> arms{};  // +, -; lines use the first
        const Arm& arm(int sign) const { return arms[sign > 0 ? 0 : 1]; }
        int phase = -1;  // dimensions done
        int step = 0;    // in this dimension
        bool done = false;
        std::size_t request = 0;  // its first of each kind, and how many are in use
        std::size_t sends = 0;
        std::size_t receives = 0;
    };
    void begin_lanes();
    void lay_memory();
    bool move_lane(Lane& lane);
    bool step_complete(const Lane& lane);
    void take_step(const Lane& lane);
    bool next_step(Lane& lane);
    void collect(const Lane& lane);
    void deliver(const Lane& lane);

    void pack_arms(const Lane& lane);
    void post_arm(Lane& lane, int sign);
    void take_arm(const Lane& lane, int sign);
    void post_line(Lane& lane);
    void take_line(const Lane& lane);

    int dimension_of(const Lane& lane) const {
        return (lane.first_dimension + lane.phase) % group().dimensions();
    }
    int coordinate_at(int dimension, int offset) const;
    int steps_in(int dimension) const;
    int reach(int dimension, int coordinate, int sign) const;
    std::size_t slab_size(int dimension) const {
        return std::size_t(group().size() / group().extent(dimension));
    }
    Cells cells_of(int dimension, int origin, int distance, int sign) const;
    std::size_t cells_beyond(int dimension, int origin, int distance, int sign) const;
    std::byte* pack(const Lane& lane, int coordinate, Cells cells, std::byte* to) const;
    void unpack(const Lane& lane, int coordinate, Cells cells, const std::byte* from) const;
    template <class Use>
    void each_run(const Lane& lane, int coordinate, Cells cells, Use&& use) const;

    std::byte* in_ = nullptr;
    const std::byte* out_ = nullptr;
    Blocks in_blocks_;
    Blocks out_blocks_;
    AlltoallForm form_ = AlltoallForm::pairs;

    std::vector<Lane> lanes_;
    Scratch scratch_;

    int stride_ = 1;               // pairs: the k-th offset is k times this
    std::array<Pair, 2> pairs_{};  // sends, receives
};

}  // namespace torusmp::collectives
