// A collective that has several algorithms: the base of Broadcast and the others. Each algorithm is
// made when it is first chosen and then kept, so later starts do not allocate.
#pragma once

#include <memory>
#include <optional>
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
        Conditions here = conditions;
        Area* const area = this->area();
        here.area = area != nullptr && area->possible();
        const int row = table_->fitting(first, wanted != nullptr, here);
        if (!table_->rows()[std::size_t(row)].area) {
            take_row(row);
            return begin(name, call);
        }
        if (area->settled()) [[likely]]
            take_row(row);
        else
            wait_for_area(first, wanted != nullptr, here);
        begin(name, call, area);
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
        waiting_.reset();
        take(*this);
        begin(name, call);
    }

  private:
    void take_row(int row) {
        std::unique_ptr<Algorithm>& algorithm = made_[std::size_t(row)];
        if (algorithm == nullptr) algorithm = table_->make(row, messages(), arguments_);
        messages().expect(Fit::exact);
        algorithm->start();
        take(*algorithm);
    }
    // The choice is made when it is known whether there is an area: then it is the same on all
    // members.
    void wait_for_area(int first, bool asked, const Conditions& conditions) {
        waiting_.emplace(Waiting{first, asked, conditions});
        take(*this);
    }
    bool move() final {
        if (!waiting_) return move_part(*part_);
        if (!messages().area()->settled()) return false;
        waiting_->conditions.area = messages().area()->possible();
        const int row = table_->fitting(waiting_->first, waiting_->asked, waiting_->conditions);
        waiting_.reset();
        take_row(row);
        return false;  // its steps come next
    }

    const AlgorithmsFor<Arguments>* table_;
    const Choice* choice_;
    std::vector<std::unique_ptr<Algorithm>> made_;  // by row
    struct Waiting {
        int first;
        bool asked;
        Conditions conditions;
    };
    std::optional<Waiting> waiting_;  // for the area
    Schedule* part_ = nullptr;
};

}  // namespace torusmp::collectives
