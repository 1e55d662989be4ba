// Every member's block spreads over the links at once: all links busy, only neighbours talk.
#include "collectives/algorithm/block_moves.h"
#include "collectives/allgather/allgather.h"
#include "collectives/group/bundles.h"

namespace torusmp::collectives::allgather {
namespace {

class Rings final : public BlockMoves {
  public:
    Rings(Messages& messages, const Arguments& call) : BlockMoves(messages), call_(call) {}

    void start() override {
        use_blocks(call_.in, call_.in_blocks);
        step_ = 0;
    }

  private:
    bool step() override {
        put_away();
        if (++step_ > group().bundles().steps()) return false;
        begin_bundles(step_);
        const Bundles& bundles = group().bundles();
        // In a ring of two what is sent by + comes from -: the order of both ends is that of
        // sending.
        for (const auto direction : bundles.directions())
            receive_blocks(bundles.in(step_, direction.opposite()), by(direction.opposite()));
        for (const auto direction : bundles.directions())
            send_blocks(bundles.out(step_, direction), by(direction));
        return true;
    }

    const Arguments& call_;
    int step_ = 0;
};

}  // namespace

std::unique_ptr<Algorithm> rings(Messages& messages, const Arguments& call) {
    return std::make_unique<Rings>(messages, call);
}

}  // namespace torusmp::collectives::allgather
