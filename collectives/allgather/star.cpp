// Everybody sends to the first member, and it all blocks to everybody: two steps.
#include "collectives/algorithm/block_moves.h"
#include "collectives/allgather/allgather.h"

namespace torusmp::collectives::allgather {
namespace {

class Star final : public BlockMoves {
  public:
    Star(Messages& messages, const Arguments& call) : BlockMoves(messages), call_(call) {}

    void start() override {
        use_blocks(call_.in, call_.in_blocks);
        step_ = 0;
    }

  private:
    bool step() override {
        put_away();
        const int size = group().size();
        const Places all(0, size);
        const int place = group().place();
        ++step_;
        if (place != 0) {
            if (step_ > 1) return false;
            // All blocks come only after ours was taken, so they may come over it.
            begin_batch(bytes_of(all));
            receive_blocks(all, to_place(0));
            send_blocks({place, 1}, to_place(0));
            return true;
        }
        if (step_ > 2) return false;
        if (step_ == 1) {
            begin_batch(0);
            for (int p = 1; p < size; ++p) receive_blocks({p, 1}, to_place(p));
        } else {
            begin_batch(bytes_of(all));
            const Load everything = load(all);
            for (int p = 1; p < size; ++p) send_load(everything, to_place(p));
        }
        return true;
    }

    const Arguments& call_;
    int step_ = 0;
};

}  // namespace

std::unique_ptr<Algorithm> star(Messages& messages, const Arguments& call) {
    return std::make_unique<Star>(messages, call);
}

}  // namespace torusmp::collectives::allgather
