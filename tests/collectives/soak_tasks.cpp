#include "collectives/soak_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "collectives/affine.h"

namespace torusmp::collectives::testing {
namespace {

using core::Rank;
using core::testing::fill;
using core::testing::filled;
using Bytes = std::vector<std::byte>;
using Sizes = std::vector<std::size_t>;

template <class Form>
Form any_form(Random& random, Form last) {
    if (random.below(2) == 0) return Form::automatic;
    return Form(random.below(std::uint64_t(last) + 1));
}

// Mostly small, now and then well above the eager limit of the job; at most `most`.
std::size_t any_size(Random& random, std::size_t most) {
    std::size_t size = 0;
    switch (random.below(8)) {
        case 0:
            size = 0;
            break;
        case 1:
            size = std::size_t(random.below(40000));
            break;
        case 2:
        case 3:
            size = std::size_t(random.below(4000));
            break;
        default:
            size = 1 + std::size_t(random.below(100));
    }
    return std::min(size, most);
}

// Bytes of one member's block, so that all blocks of a member are no more than 64 KiB or so.
std::size_t any_block(Random& random, int members) {
    return any_size(random, 64 * 1024 / std::size_t(members));
}

// Blocks of all nodes, apart from each other.
struct Laid {
    Sizes sizes;
    Sizes offsets;
    Bytes memory;
    Laid() = default;
    explicit Laid(Sizes of_blocks) : sizes(std::move(of_blocks)) {
        std::size_t end = 1;
        for (const std::size_t size : sizes) {
            offsets.push_back(end);
            end += size + 1;
        }
        memory.resize(end);
    }
    std::byte* at(int node) { return memory.data() + offsets[std::size_t(node)]; }
    const std::byte* at(int node) const { return memory.data() + offsets[std::size_t(node)]; }
    std::size_t size(int node) const { return sizes[std::size_t(node)]; }
    Blocks blocks() const { return Blocks::each(sizes, offsets); }
};

// What all tasks share: the schedules they borrow, and a seed for what they send.
template <class ScheduleType>
class Task : public SoakTask {
  public:
    Task(Team& team, Random& random)
        : team_(&team),
          bench_(&std::get<Bench<ScheduleType>>(team.benches)),
          crew_(bench_->take(team.groups)),
          seed_(random.next()) {}
    ~Task() override { bench_->give_back(crew_); }
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;

    const Schedule& schedule(int node) const override { return (*crew_)[std::size_t(node)]; }
    Team& team() const override { return *team_; }

  protected:
    ScheduleType& mine(int node) { return (*crew_)[std::size_t(node)]; }
    int size() const { return team_->size(); }
    // Of the block that one node has for another.
    std::uint64_t seed(int from, int to = 0) const {
        return seed_ + std::uint64_t(from) * 4096 + std::uint64_t(to);
    }
    std::uint64_t seed_of_values() const { return seed_; }

    template <class Right>
    std::string first_wrong(Right&& right) const {
        for (int node = 0; node < size(); ++node)
            if (!right(node)) return fmt::format("node {} has a wrong answer", node);
        return {};
    }

  private:
    Team* team_;
    Bench<ScheduleType>* bench_;
    typename Bench<ScheduleType>::Crew* crew_;
    std::uint64_t seed_;
};

class BroadcastTask final : public Task<Broadcast> {
  public:
    BroadcastTask(Team& team, Random& random)
        : Task(team, random),
          root_(int(random.below(std::uint64_t(team.size())))),
          form_(any_form(random, BroadcastForm::disjoint)),
          data_(std::size_t(team.size()), Bytes(any_size(random, 16 * 1024) + 1)) {
        fill(data_[std::size_t(root_)].data(), data_[0].size(), seed(root_));
    }
    void start(int node) override {
        mine(node).start(data_[std::size_t(node)].data(), data_[0].size(), root_, form_);
    }
    std::string wrong() const override {
        return first_wrong([&](int node) {
            return filled(data_[std::size_t(node)].data(), data_[0].size(), seed(root_));
        });
    }
    std::string describe() const override {
        return fmt::format("broadcast of {} bytes from node {}, form {}", data_[0].size(), root_,
                           int(form_));
    }

  private:
    int root_;
    BroadcastForm form_;
    std::vector<Bytes> data_;
};

// ---- reductions: affine maps, which show the order, or their sums, which may go in any ----

void add_affine(void* inout, const void* in, std::size_t count, const void*) {
    for (std::size_t i = 0; i < count; ++i) {
        static_cast<Affine*>(inout)[i].a += static_cast<const Affine*>(in)[i].a;
        static_cast<Affine*>(inout)[i].b += static_cast<const Affine*>(in)[i].b;
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
            sums_.back() = sums_[std::size_t(node) - 1];
            operation_.combine(sums_.back().data(), values_.back().data(), count, nullptr);
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
          values_(seed_of_values(), team.size(), any_size(random, 1500), random),
          form_(any_form(random, ReduceForm::disjoint)) {}
    void start(int node) override {
        mine(node).start(values_.of(node).data(), values_.count(), values_.operation(), form_);
    }
    std::string wrong() const override {
        return first_wrong([&](int node) { return values_.of(node) == values_.all(); });
    }
    std::string describe() const override {
        return fmt::format("allreduce of {}, form {}", values_.describe(), int(form_));
    }

  private:
    Values values_;
    ReduceForm form_;
};

class BarrierTask final : public Task<Allreduce> {
  public:
    using Task::Task;
    void start(int node) override {
        mine(node).start_barrier();
        ++started_;
        // No member may finish before the last one has started.
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
          form_(any_form(random, RootedForm::disjoint)),
          in_place_(random.below(2) == 0),
          values_(seed_of_values(), team.size(), any_size(random, 1500), random),
          result_(values_.count()) {}
    void start(int node) override {
        void* result = node != root_ || in_place_ ? nullptr : result_.data();
        mine(node).start(result, values_.of(node).data(), values_.count(), values_.operation(),
                         root_, form_);
    }
    std::string wrong() const override {
        return (in_place_ ? values_.of(root_) : result_) == values_.all()
                   ? ""
                   : "the root has a wrong answer";
    }
    std::string describe() const override {
        return fmt::format("reduce of {} to node {}{}, form {}", values_.describe(), root_,
                           in_place_ ? " in place" : "", int(form_));
    }

  private:
    int root_;
    RootedForm form_;
    bool in_place_;
    Values values_;
    std::vector<Affine> result_;
};

class ScanTask final : public Task<Scan> {
  public:
    ScanTask(Team& team, Random& random)
        : Task(team, random),
          values_(seed_of_values(), team.size(), any_size(random, 1500), random),
          kind_(random.below(2) == 0 ? ScanKind::inclusive : ScanKind::exclusive),
          form_(any_form(random, ScanForm::chain)) {}
    void start(int node) override {
        mine(node).start(values_.of(node).data(), values_.count(), values_.operation(), kind_,
                         form_);
    }
    std::string wrong() const override {
        return first_wrong([&](int node) {
            const int last = kind_ == ScanKind::inclusive ? node : std::max(node - 1, 0);
            return values_.of(node) == values_.up_to(last);
        });
    }
    std::string describe() const override {
        return fmt::format("scan of {}, kind {}, form {}", values_.describe(), int(kind_),
                           int(form_));
    }

  private:
    Values values_;
    ScanKind kind_;
    ScanForm form_;
};

class ReduceScatterTask final : public Task<ReduceScatter> {
  public:
    ReduceScatterTask(Team& team, Random& random)
        : Task(team, random),
          form_(any_form(random, ReduceScatterForm::tree)),
          counts_(any_counts(team.size(), random)),
          values_(seed_of_values(), team.size(),
                  std::accumulate(counts_.begin(), counts_.end(), std::size_t(0)), random),
          result_(values_.count() + 1) {
        std::exclusive_scan(counts_.begin(), counts_.end(), std::back_inserter(offsets_),
                            std::size_t(0));
    }
    void start(int node) override {
        mine(node).start(result_.data() + offsets_[std::size_t(node)], values_.of(node).data(),
                         counts_, values_.operation(), form_);
    }
    std::string wrong() const override {
        return std::equal(values_.all().begin(), values_.all().end(), result_.begin())
                   ? ""
                   : "a block of the result is wrong";
    }
    std::string describe() const override {
        return fmt::format("reduce-scatter of {}, form {}", values_.describe(), int(form_));
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

    ReduceScatterForm form_;
    Sizes counts_;
    Sizes offsets_;
    Values values_;
    std::vector<Affine> result_;
};

// ---- blocks ----

Sizes any_sizes(int nodes, Random& random) {
    const std::size_t most = any_block(random, nodes);
    Sizes sizes(std::size_t(nodes), most);
    for (std::size_t& size : sizes) size = std::size_t(random.below(2 * most + 1));
    return sizes;
}

class AllgatherTask final : public Task<Allgather> {
  public:
    AllgatherTask(Team& team, Random& random)
        : Task(team, random), form_(any_form(random, GatherAllForm::star)) {
        const Sizes sizes = any_sizes(team.size(), random);
        for (int node = 0; node < team.size(); ++node) {
            in_.emplace_back(sizes);
            fill(in_.back().at(node), sizes[std::size_t(node)], seed(node));
        }
    }
    void start(int node) override {
        Laid& in = in_[std::size_t(node)];
        mine(node).start(in.memory.data(), in.blocks(), nullptr, form_);
    }
    std::string wrong() const override {
        return first_wrong([&](int node) {
            const Laid& in = in_[std::size_t(node)];
            bool right = true;
            for (int from = 0; from < size(); ++from)
                right = right && filled(in.at(from), in.size(from), seed(from));
            return right;
        });
    }
    std::string describe() const override {
        return fmt::format("allgather of {} bytes, form {}", in_[0].memory.size(), int(form_));
    }

  private:
    GatherAllForm form_;
    std::vector<Laid> in_;
};

class AlltoallTask final : public Task<Alltoall> {
  public:
    AlltoallTask(Team& team, Random& random)
        : Task(team, random),
          form_(any_form(random, AlltoallForm::pairs)),
          even_(random.below(2) == 0),
          block_(any_block(random, team.size())) {
        for (int node = 0; node < team.size(); ++node) {
            Sizes out;
            Sizes in;
            for (int other = 0; other < team.size(); ++other) {
                out.push_back(size_of(node, other));
                in.push_back(size_of(other, node));
            }
            out_.emplace_back(std::move(out));
            in_.emplace_back(std::move(in));
            for (int to = 0; to < team.size(); ++to)
                fill(out_.back().memory.data() + start_of(out_.back(), to), out_.back().size(to),
                     seed(node, to));
        }
    }
    void start(int node) override {
        Laid& out = out_[std::size_t(node)];
        Laid& in = in_[std::size_t(node)];
        if (even_)
            mine(node).start(in.memory.data(), Blocks::even(block_), out.memory.data(),
                             Blocks::even(block_), form_);
        else
            mine(node).start(in.memory.data(), in.blocks(), out.memory.data(), out.blocks());
    }
    std::string wrong() const override {
        return first_wrong([&](int node) {
            const Laid& in = in_[std::size_t(node)];
            bool right = true;
            for (int from = 0; from < size(); ++from)
                right = right && filled(in.memory.data() + start_of(in, from), in.size(from),
                                        seed(from, node));
            return right;
        });
    }
    std::string describe() const override {
        return even_ ? fmt::format("alltoall of blocks of {} bytes, form {}", block_, int(form_))
                     : fmt::format("alltoall of blocks up to {} bytes", 2 * block_);
    }

  private:
    std::size_t size_of(int from, int to) const {
        return even_ ? block_ : std::size_t(Random(seed(from, to)).below(2 * block_ + 1));
    }
    std::size_t start_of(const Laid& laid, int node) const {
        return even_ ? block_ * std::size_t(node) : laid.offsets[std::size_t(node)];
    }

    AlltoallForm form_;
    bool even_;
    std::size_t block_;
    std::vector<Laid> out_;
    std::vector<Laid> in_;
};

class ScatterTask final : public Task<Scatter> {
  public:
    ScatterTask(Team& team, Random& random)
        : Task(team, random),
          root_(int(random.below(std::uint64_t(team.size())))),
          form_(any_form(random, ScatterForm::apart)),
          in_place_(random.below(2) == 0),
          out_(any_sizes(team.size(), random)) {
        for (int node = 0; node < team.size(); ++node) {
            fill(out_.at(node), out_.size(node), seed(node));
            in_.emplace_back(out_.size(node));
        }
    }
    void start(int node) override {
        Bytes& in = in_[std::size_t(node)];
        const bool root = node == root_;
        mine(node).start(root && in_place_ ? nullptr : in.data(), in.size(),
                         root ? out_.memory.data() : nullptr, root ? out_.blocks() : Blocks(),
                         root_, form_);
    }
    std::string wrong() const override {
        return first_wrong([&](int node) {
            const Bytes& in = in_[std::size_t(node)];
            const bool stays = node == root_ && in_place_;
            return filled(stays ? out_.at(node) : in.data(), in.size(), seed(node));
        });
    }
    std::string describe() const override {
        return fmt::format("scatter of {} bytes from node {}{}, form {}", out_.memory.size(), root_,
                           in_place_ ? " in place" : "", int(form_));
    }

  private:
    int root_;
    ScatterForm form_;
    bool in_place_;
    Laid out_;
    std::vector<Bytes> in_;
};

class GatherTask final : public Task<Gather> {
  public:
    GatherTask(Team& team, Random& random)
        : Task(team, random),
          root_(int(random.below(std::uint64_t(team.size())))),
          form_(any_form(random, GatherForm::apart)),
          in_place_(random.below(2) == 0),
          in_(any_sizes(team.size(), random)) {
        for (int node = 0; node < team.size(); ++node) {
            out_.emplace_back(in_.size(node));
            fill(node == root_ && in_place_ ? in_.at(node) : out_.back().data(), in_.size(node),
                 seed(node));
        }
    }
    void start(int node) override {
        const Bytes& out = out_[std::size_t(node)];
        const bool root = node == root_;
        mine(node).start(root ? in_.memory.data() : nullptr, root ? in_.blocks() : Blocks(),
                         root && in_place_ ? nullptr : out.data(), out.size(), root_, form_);
    }
    std::string wrong() const override {
        for (int node = 0; node < size(); ++node)
            if (!filled(in_.at(node), in_.size(node), seed(node)))
                return fmt::format("the block of node {} is wrong", node);
        return {};
    }
    std::string describe() const override {
        return fmt::format("gather of {} bytes to node {}{}, form {}", in_.memory.size(), root_,
                           in_place_ ? " in place" : "", int(form_));
    }

  private:
    int root_;
    GatherForm form_;
    bool in_place_;
    Laid in_;
    std::vector<Bytes> out_;
};

template <class TaskType>
std::unique_ptr<SoakTask> make(Team& team, Random& random) {
    return std::make_unique<TaskType>(team, random);
}

template <class Element>
void shuffle(std::vector<Element>& elements, Random& random) {
    for (std::size_t i = elements.size(); i > 1; --i)
        std::swap(elements[i - 1], elements[std::size_t(random.below(i))]);
}

// The ranks whose coordinates in these dimensions are those of a random rank.
std::vector<Rank> slice(const routing::Torus& torus, const std::vector<int>& fixed,
                        Random& random) {
    const auto at = torus.coordinates(Rank(random.below(std::uint64_t(torus.size()))));
    std::vector<Rank> ranks;
    for (Rank rank = 0; rank < torus.size(); ++rank) {
        const auto here = torus.coordinates(rank);
        if (std::all_of(fixed.begin(), fixed.end(),
                        [&](int d) { return here[std::size_t(d)] == at[std::size_t(d)]; }))
            ranks.push_back(rank);
    }
    return ranks;
}

}  // namespace

void Team::sign_on(Job& job, core::Context context) {
    for (const Rank rank : members)
        groups.push_back(std::make_unique<Group>(job[rank], members, context));
}

std::vector<Team> random_teams(const routing::Torus& torus, Random& random) {
    std::vector<Team> teams(5);
    std::vector<Rank> all(std::size_t(torus.size()));
    std::iota(all.begin(), all.end(), 0);
    teams[0].name = "all";
    teams[0].members = all;
    teams[1].name = "all, shuffled";
    shuffle(all, random);
    teams[1].members = all;

    std::vector<int> dimensions(std::size_t(torus.dimensions()));
    std::iota(dimensions.begin(), dimensions.end(), 0);
    shuffle(dimensions, random);
    teams[2].name = "a slice with one dimension fixed";
    teams[2].members = slice(torus, {dimensions.begin(), dimensions.begin() + 1}, random);
    teams[3].name = "a line";
    teams[3].members = slice(torus, {dimensions.begin() + 1, dimensions.end()}, random);
    shuffle(teams[3].members, random);
    teams[4].name = "some ranks";
    shuffle(all, random);
    all.resize(1 + std::size_t(random.below(std::min<std::uint64_t>(all.size(), 40))));
    teams[4].members = all;
    return teams;
}

std::unique_ptr<SoakTask> random_task(Team& team, Random& random) {
    using Make = std::unique_ptr<SoakTask> (*)(Team&, Random&);
    constexpr Make kinds[] = {make<AllgatherTask>,     make<AllreduceTask>, make<AlltoallTask>,
                              make<BarrierTask>,       make<BroadcastTask>, make<GatherTask>,
                              make<ReduceScatterTask>, make<ReduceTask>,    make<ScanTask>,
                              make<ScatterTask>};
    return kinds[random.below(std::size(kinds))](team, random);
}

}  // namespace torusmp::collectives::testing
