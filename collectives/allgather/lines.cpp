// Dimension by dimension each member exchanges what it has with its whole line.
#include "collectives/algorithm/block_moves.h"
#include "collectives/allgather/allgather.h"

namespace torusmp::collectives::allgather {
namespace {

class Lines final : public BlockMoves {
  public:
    Lines(Messages& messages, const Arguments& call) : BlockMoves(messages), call_(call) {}

    void start() override {
        use_blocks(call_.in, call_.in_blocks);
        step_ = 0;
    }

  private:
    // The last dimension first: what a member has is then a range of places.
    bool step() override {
        put_away();
        const int d = group().dimensions() - ++step_;
        if (d < 0) return false;
        const int here = group().coordinate(d);
        const int extent = group().extent(d);

        std::size_t bytes = 0;
        for (int c = 0; c < extent; ++c) bytes += bytes_of(slab(d, c));
        begin_batch(bytes);
        for (int k = 1; k < extent; ++k) {
            const int c = (here + extent - k) % extent;
            receive_blocks(slab(d, c), {group().line_rank(d, c)});
        }
        const Load own = load(slab(d, here));
        for (int k = 1; k < extent; ++k)
            send_load(own, {group().line_rank(d, (here + k) % extent)});
        return true;
    }

    const Arguments& call_;
    int step_ = 0;
};

}  // namespace

std::unique_ptr<Algorithm> lines(Messages& messages, const Arguments& call) {
    return std::make_unique<Lines>(messages, call);
}

}  // namespace torusmp::collectives::allgather
