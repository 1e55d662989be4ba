// The reduction of a group that spans hosts with several members each: inside each host to its
// leader; from these to the root's leader; from it to the root.
//
// Internal to Reduce, which lets it advance.
#pragma once

#include <optional>

#include "collectives/reduce/reduce.h"
#include "collectives/schedule/sequence.h"

namespace torusmp::collectives::reduce {

class ByHosts final : public Sequence {
  public:
    ByHosts(Group& group, Hosts& hosts);
    ~ByHosts() = default;

    // algorithm: among the leaders.
    void prepare(const Arguments& arguments, const AlgorithmRow* algorithm);

  private:
    bool move() override;
    Schedule* start_part(int number) override;

    Hosts& hosts_;
    Reduce inside_;
    std::optional<Reduce> leaders_;
    Arguments arguments_{};
    const AlgorithmRow* algorithm_ = nullptr;
    Scratch sum_;  // of the host, where the result is not wanted here
};

}  // namespace torusmp::collectives::reduce
