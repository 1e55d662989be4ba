// A message from each; beyond the neighbours they are relayed, shortest direction first.
#include "collectives/algorithm/apart_blocks.h"
#include "collectives/gather/gather.h"

namespace torusmp::collectives::gather {
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
            return use_requests(1, 0);
        }
        if (!call_.keep_own_block()) cut_short(call_.root);
        add_all_others();
        lay_apart(0, apart_.nodes.size());
        use_requests(0, apart_.window);
    }

  private:
    bool move() override {
        if (at_root())
            receive_apart([this](int node) { return call_.place_of(node); });
        else
            send_apart([this](int) { return call_.own_block(); });
        return !failed() && apart_.complete() && end_well();
    }
    bool at_root() const { return group().node() == call_.root; }

    const Arguments& call_;
};

}  // namespace

std::unique_ptr<Algorithm> apart(Messages& messages, const Arguments& call) {
    return std::make_unique<Apart>(messages, call);
}

}  // namespace torusmp::collectives::gather
