// The root deals parts out, which are then gathered: least bytes at any one member.
#include "collectives/algorithm/line_parts.h"
#include "collectives/broadcast/broadcast.h"

namespace torusmp::collectives::broadcast {
namespace {

class Scatter final : public LineParts {
  public:
    Scatter(Messages& messages, const Arguments& call) : LineParts(messages), call_(call) {}

    // Parts are dealt in descending order: it comes over the first in which we are off the root.
    void start() override {
        cut(group(), call_.buffer, call_.bytes, 1);
        from_ = 0;
        while (from_ < group().dimensions() && group().coordinate(from_) == at_root(from_)) ++from_;
        dimension_ = -1;
        phase_ = Phase::take;
    }

  private:
    bool step() override {
        if (phase_ == Phase::take) {
            phase_ = Phase::deal;
            if (from_ < group().dimensions()) {
                receive(part(from_, group().coordinate(from_)),
                        group().line_rank(from_, at_root(from_)));
                return true;
            }
        }
        if (phase_ == Phase::deal) {
            phase_ = Phase::collect;
            for (int d = from_; d-- > 0;)
                for (int k = 1; k < group().extent(d); ++k) {
                    const int c = (group().coordinate(d) + k) % group().extent(d);
                    send(part(d, c), group().line_rank(d, c));
                }
            return true;
        }
        if (++dimension_ == group().dimensions()) return false;
        collect(dimension_);
        return true;
    }
    int at_root(int dimension) const { return group().coordinate(call_.root_place, dimension); }

    const Arguments& call_;
    enum class Phase { take, deal, collect };
    Phase phase_ = Phase::take;
    int from_ = 0;  // the dimension over which a part comes; dimensions(): at the root
    int dimension_ = 0;
};

}  // namespace

std::unique_ptr<Algorithm> scatter(Messages& messages, const Arguments& call) {
    return std::make_unique<Scatter>(messages, call);
}

}  // namespace torusmp::collectives::broadcast
