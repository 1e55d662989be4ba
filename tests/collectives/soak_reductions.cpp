// SPDX-License-Identifier: BSD-3-Clause
// Tasks of the soak that reduce.
#include <numeric>

#include "collectives/affine.h"
#include "collectives/soak_task.h"

namespace torusmp::collectives::testing {
namespace {

// Affine maps, which show the order, or their sums, which may go in any.

void add_affine(void* result, const void* a, const void* b, std::size_t count, const void*) {
    for (std::size_t i = 0; i < count; ++i) {
        const Affine left = static_cast<const Affine*>(a)[i];
        const Affine right = static_cast<const Affine*>(b)[i];
        static_cast<Affine*>(result)[i] = {left.a + right.a, left.b + right.b};
    }
}

Operation any_operation(Random& random) {
    Operation operation = affine_operation();
    if (random.below(3) != 0) operation = {add_affine, sizeof(Affine)};
    operation.whole = random.below(8) == 0;
    return operation;
}

// The values of all nodes, and what they come to from the first on, node by node.
class Values {
  public:
    Values(std::uint64_t seed, int nodes, std::size_t count, Random& random)
        : operation_(any_operation(random)) {
        for (int node = 0; node < nodes; ++node) {
            values_.push_back(contributions(seed, node, count));
            sums_.push_back(values_.back());
            if (node == 0) continue;
            operation_.combine(sums_.back().data(), sums_[std::size_t(node) - 1].data(),
                               values_.back().data(), count, nullptr);
        }
    }
    const Operation& operation() const { return operation_; }
    std::size_t count() const { return values_[0].size(); }
    std::vector<Affine>& of(int node) { return values_[std::size_t(node)]; }
    const std::vector<Affine>& of(int node) const { return values_[std::size_t(node)]; }
    const std::vector<Affine>& up_to(int node) const { return sums_[std::size_t(node)]; }
    const std::vector<Affine>& all() const { return sums_.back(); }
    std::string describe() const {
        return fmt::format("{} elements{}{}", count(), operation_.commutative ? "" : ", in order",
                           operation_.whole ? ", whole" : "");
    }

  private:
    Operation operation_;
    std::vector<std::vector<Affine>> values_;
    std::vector<std::vector<Affine>> sums_;
};

class AllreduceTask final : public Task<Allreduce> {
  public:
    AllreduceTask(Team& team, Random& random)
        : Task(team, random),
          values_(seed_of_values(), team.size(), any_size(random, 1500), random) {
        for (int node = 0; node < team.size(); ++node) {
            // A vector that is not empty has a result apart, or is reduced in place.
            const bool apart = values_.count() != 0 && random.below(2) == 0;
            results_.emplace_back(apart ? values_.count() : 0);
        }
    }
    void start(int node) override {
        mine(node).start(result_of(node).data(), values_.of(node).data(), values_.count(),
                         values_.operation(), algorithm());
    }
    std::string wrong() const override {
        return first_wrong([&](int node) {
            const auto& apart = results_[std::size_t(node)];
            return (apart.empty() ? values_.of(node) : apart) == values_.all();
        });
    }
    std::string describe() const override {
        return fmt::format("allreduce of {}, {}", values_.describe(), by());
    }

  private:
    std::vector<Affine>& result_of(int node) {
        auto& apart = results_[std::size_t(node)];
        return apart.empty() ? values_.of(node) : apart;
    }

    Values values_;
    std::vector<std::vector<Affine>> results_;  // by node; empty if in place
};

class BarrierTask final : public Task<Allreduce> {
  public:
    using Task::Task;
    void start(int node) override {
        mine(node).start_barrier();
        ++started_;
        // No rank may leave before the last has entered.
        if (started_ < size() && mine(node).complete()) early_ = true;
    }
    std::string wrong() const override { return early_ ? "a member left too early" : ""; }
    std::string describe() const override { return "barrier"; }

  private:
    int started_ = 0;
    bool early_ = false;
};

class ReduceTask final : public Task<Reduce> {
  public:
    ReduceTask(Team& team, Random& random)
        : Task(team, random),
          root_(int(random.below(std::uint64_t(team.size())))),
          in_place_(random.below(2) == 0),
          values_(seed_of_values(), team.size(), any_size(random, 1500), random),
          result_(values_.count()) {}
    void start(int node) override {
        void* result = node != root_ || in_place_ ? nullptr : result_.data();
        mine(node).start(result, values_.of(node).data(), values_.count(), values_.operation(),
                         root_, algorithm());
    }
    std::string wrong() const override {
        return (in_place_ ? values_.of(root_) : result_) == values_.all()
                   ? ""
                   : "the root has a wrong answer";
    }
    std::string describe() const override {
        return fmt::format("reduce of {} to node {}{}, {}", values_.describe(), root_,
                           in_place_ ? " in place" : "", by());
    }

  private:
    int root_;
    bool in_place_;
    Values values_;
    std::vector<Affine> result_;
};

class ScanTask final : public Task<Scan> {
  public:
    ScanTask(Team& team, Random& random)
        : Task(team, random),
          values_(seed_of_values(), team.size(), any_size(random, 1500), random),
          kind_(random.below(2) == 0 ? ScanKind::inclusive : ScanKind::exclusive) {}
    void start(int node) override {
        mine(node).start(values_.of(node).data(), values_.count(), values_.operation(), kind_,
                         algorithm());
    }
    std::string wrong() const override {
        return first_wrong([&](int node) {
            const int last = kind_ == ScanKind::inclusive ? node : std::max(node - 1, 0);
            return values_.of(node) == values_.up_to(last);
        });
    }
    std::string describe() const override {
        return fmt::format("scan of {}, kind {}, {}", values_.describe(), int(kind_), by());
    }

  private:
    Values values_;
    ScanKind kind_;
};

class ReduceScatterTask final : public Task<ReduceScatter> {
  public:
    ReduceScatterTask(Team& team, Random& random)
        : Task(team, random),
          counts_(any_counts(team.size(), random)),
          values_(seed_of_values(), team.size(),
                  std::accumulate(counts_.begin(), counts_.end(), std::size_t(0)), random),
          result_(values_.count() + 1) {
        std::exclusive_scan(counts_.begin(), counts_.end(), std::back_inserter(offsets_),
                            std::size_t(0));
    }
    void start(int node) override {
        mine(node).start(result_.data() + offsets_[std::size_t(node)], values_.of(node).data(),
                         counts_, values_.operation(), algorithm());
    }
    std::string wrong() const override {
        return std::equal(values_.all().begin(), values_.all().end(), result_.begin())
                   ? ""
                   : "a block of the result is wrong";
    }
    std::string describe() const override {
        return fmt::format("reduce-scatter of {}, {}", values_.describe(), by());
    }

  private:
    static Sizes any_counts(int nodes, Random& random) {
        const bool even = random.below(2) == 0;
        const std::size_t most = any_block(random, nodes) / sizeof(Affine) / 4;
        Sizes counts(std::size_t(nodes), most);
        if (!even)
            for (std::size_t& count : counts) count = std::size_t(random.below(2 * most + 1));
        return counts;
    }

    Sizes counts_;
    Sizes offsets_;
    Values values_;
    std::vector<Affine> result_;
};

}  // namespace

std::vector<TaskMaker> tasks_of_reductions() {
    return {{&allreduce::algorithms(), make<AllreduceTask>},
            {&allreduce::algorithms(), make<BarrierTask>},
            {&reduce::algorithms(), make<ReduceTask>},
            {&reduce_scatter::algorithms(), make<ReduceScatterTask>},
            {&scan::algorithms(), make<ScanTask>}};
}

}  // namespace torusmp::collectives::testing
