// A message to each, in the order of the nodes; beyond the neighbours they are relayed, shortest
// direction first.
#include <algorithm>

#include "collectives/algorithm/apart_blocks.h"
#include "collectives/scatter/scatter.h"

namespace torusmp::collectives::scatter {
namespace {

class Apart final : public ApartBlocks {
  public:
    Apart(Messages& messages, const Arguments& call) : ApartBlocks(messages), call_(call) {}

    void start() override {
        expect(Fit::at_most);
        begin_blocks();
        if (!at_root()) {
            apart_.nodes.push_back(call_.root);
            lay_apart(0, 1);
            return use_requests(0, 1);
        }
        if (!call_.keep_own_block()) cut_short(call_.root);
        add_all_others();
        lay_apart(0, std::min(apart_window, apart_.nodes.size()));
        use_requests(apart_.window, 0);
    }

  private:
    bool move() override {
        if (at_root())
            send_apart([this](int node) { return call_.block_of(node); });
        else
            receive_apart([this](int) { return core::Buffer{call_.in, call_.in_bytes}; });
        return !failed() && apart_.complete() && end_well();
    }
    bool at_root() const { return group().node() == call_.root; }

    const Arguments& call_;
};

}  // namespace

std::unique_ptr<Algorithm> apart(Messages& messages, const Arguments& call) {
    return std::make_unique<Apart>(messages, call);
}

}  // namespace torusmp::collectives::scatter
