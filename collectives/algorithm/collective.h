// SPDX-License-Identifier: BSD-3-Clause
// A collective with several algorithms: the base of Broadcast and the others. Each algorithm is
// created when it is first chosen and then kept, so later starts do not allocate.
#pragma once

#include <memory>
#include <optional>
#include <utility>
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

    // Written before run() or run_over(); the algorithms read them until the call is complete.
    Arguments arguments_{};

    // Starts the call with this row or, if it is null, with the row that the settings choose; if
    // that row does not fit, with the next one that does.
    void run(std::string_view name, const Call& call, Conditions&& conditions,
             const AlgorithmRow* wanted) {
        const auto lock = group().runtime().lock();
        Area* const area = this->area();
        conditions.room = area != nullptr ? area->largest() : 0;
        if (const Key key(wanted, conditions); key != chosen_for_) {
            first_ = wanted != nullptr ? table_->index_of(*wanted)
                                       : choice_->pick(group().situation(), conditions.bytes);
            chosen_ = table_->fitting(first_, wanted != nullptr, conditions);
            chosen_for_ = key;
            table_->trace_choice(conditions, chosen_);
        }
        const bool through_area = table_->rows()[std::size_t(chosen_)].area;
        if (!through_area || area->is_decided()) [[likely]] {
            // The creation of the area may have reduced the room, or failed.
            if (through_area && area->largest() != conditions.room)
                return run(name, call, std::move(conditions), wanted);
            take_row(chosen_);
        } else {
            wait_for_area(wanted != nullptr, conditions);
        }
        begin(name, call, through_area ? area : nullptr);
    }
    // Starts the call over hosts. The OverHosts of the operation is created once.
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
        begin(name, call, area_inside(hosts));
    }

  private:
    void take_row(int row) {
        std::unique_ptr<Algorithm>& algorithm = made_[std::size_t(row)];
        if (algorithm == nullptr) algorithm = table_->make(row, messages(), arguments_);
        messages().expect(Fit::exact);
        algorithm->start();
        take(*algorithm);
    }
    // The choice waits until it is known whether there is an area, so that all members choose the
    // same row.
    void wait_for_area(bool asked, const Conditions& conditions) {
        waiting_.emplace(Waiting{first_, asked, conditions});
        take(*this);
    }
    bool move() final {
        if (!waiting_) return move_part(*part_);
        if (!messages().area()->is_decided()) return false;
        waiting_->conditions.room = messages().area()->largest();
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

    // Everything that the choice of a row depends on. Consecutive calls are often alike, so the
    // last choice is kept.
    struct Key {
        Key() = default;
        Key(const AlgorithmRow* row, const Conditions& c)
            : wanted(row),
              bytes(c.bytes),
              share(c.share),
              room(c.room),
              flags(unsigned(c.commutative) | unsigned(c.whole) << 1 | unsigned(c.even) << 2) {}
        friend bool operator==(const Key&, const Key&) = default;
        const AlgorithmRow* wanted = nullptr;
        std::size_t bytes = 0;
        std::size_t share = 0;
        std::size_t room = 0;
        unsigned flags = ~0u;  // a value that no call has
    };
    Key chosen_for_;
    int first_ = 0;   // the row to try first
    int chosen_ = 0;  // the first row from there that fits
    Schedule* part_ = nullptr;
};

}  // namespace torusmp::collectives
