// A collective that has several algorithms: the base of Broadcast and the others. Each algorithm is
// made when it is first chosen and then kept, so later starts do not allocate.
#pragma once

#include <memory>
#include <vector>

#include "collectives/algorithm/table.h"
#include "collectives/schedule/schedule.h"

namespace torusmp::collectives {

template <class Arguments>
class Collective : public Schedule {
  public:
    const AlgorithmTable& algorithms() const { return *table_; }

  protected:
    Collective(Group& group, const AlgorithmsFor<Arguments>& table)
        : Schedule(group),
          table_(&table),
          choice_(&table.choice_of(group.policy())),
          made_(table.rows().size()) {}
    ~Collective() = default;

    // Written before run() or run_over(), read by the algorithms until the call is complete.
    Arguments arguments_{};

    // Begins the call by this row, or, if it is null, by the one that the settings choose; where
    // that does not fit, by the next one that does.
    void run(std::string_view name, const Call& call, const Conditions& conditions,
             const AlgorithmRow* wanted) {
        const int first = wanted != nullptr ? table_->index_of(*wanted)
                                            : choice_->pick(group().situation(), conditions.bytes);
        const int row = table_->fitting(first, wanted != nullptr, conditions);
        std::unique_ptr<Algorithm>& algorithm = made_[std::size_t(row)];
        if (algorithm == nullptr) algorithm = table_->make(row, messages(), arguments_);
        messages().expect(Fit::exact);
        algorithm->start();
        take(*algorithm);
        begin(name, call);
    }
    // Begins the call over hosts. What the operation does there, its OverHosts, is made once.
    template <class ByHosts>
    void run_over(Hosts& hosts, std::unique_ptr<ByHosts>& by_hosts, std::string_view name,
                  const Call& call, const AlgorithmRow* wanted) {
        if (by_hosts == nullptr) {
            by_hosts = std::make_unique<ByHosts>(group(), hosts);
            nest(*by_hosts, 0);
        }
        by_hosts->prepare(name, arguments_, wanted);
        part_ = by_hosts.get();
        take(*this);
        begin(name, call);
    }

  private:
    bool move() final { return move_part(*part_); }

    const AlgorithmsFor<Arguments>* table_;
    const Choice* choice_;
    std::vector<std::unique_ptr<Algorithm>> made_;  // by row
    Schedule* part_ = nullptr;
};

}  // namespace torusmp::collectives
