// Every member sends its block to every other: one step.
#include "collectives/algorithm/block_moves.h"
#include "collectives/allgather/allgather.h"

namespace torusmp::collectives::allgather {
namespace {

class Everyone final : public BlockMoves {
  public:
    Everyone(Messages& messages, const Arguments& call) : BlockMoves(messages), call_(call) {}

    void start() override {
        use_blocks(call_.in, call_.in_blocks);
        posted_ = false;
    }

  private:
    bool step() override {
        if (posted_) return false;
        posted_ = true;
        const int size = group().size();
        const int place = group().place();
        begin_batch(0);  // a single block is never packed
        for (int k = 1; k < size; ++k) {
            const int from = (place + size - k) % size;
            receive_blocks({from, 1}, to_place(from));
        }
        const Load own = load({place, 1});
        for (int k = 1; k < size; ++k) send_load(own, to_place((place + k) % size));
        return true;
    }

    const Arguments& call_;
    bool posted_ = false;
};

}  // namespace

std::unique_ptr<Algorithm> everyone(Messages& messages, const Arguments& call) {
    return std::make_unique<Everyone>(messages, call);
}

}  // namespace torusmp::collectives::allgather
