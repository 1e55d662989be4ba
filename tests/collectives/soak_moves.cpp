// SPDX-License-Identifier: BSD-3-Clause
// Tasks of the soak that move blocks.
#include "collectives/soak_task.h"

namespace torusmp::collectives::testing {
namespace {

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
    std::byte* at(int member) { return memory.data() + offsets[std::size_t(member)]; }
    const std::byte* at(int member) const { return memory.data() + offsets[std::size_t(member)]; }
    std::size_t size(int member) const { return sizes[std::size_t(member)]; }
    Blocks blocks() const { return Blocks::each(sizes, offsets); }
};

class BroadcastTask final : public Task<Broadcast> {
  public:
    BroadcastTask(Team& team, Random& random)
        : Task(team, random),
          root_(int(random.below(std::uint64_t(team.size())))),
          data_(std::size_t(team.size()), Bytes(any_size(random, 16 * 1024) + 1)) {
        fill(data_[std::size_t(root_)].data(), data_[0].size(), seed(root_));
    }
    void start(int member) override {
        mine(member).start(data_[std::size_t(member)].data(), data_[0].size(), root_, algorithm());
    }
    std::string wrong() const override {
        return first_wrong([&](int member) {
            return filled(data_[std::size_t(member)].data(), data_[0].size(), seed(root_));
        });
    }
    std::string describe() const override {
        return fmt::format("broadcast of {} bytes from member {}, {}", data_[0].size(), root_,
                           by());
    }

  private:
    int root_;
    std::vector<Bytes> data_;
};

Sizes any_sizes(int nodes, Random& random) {
    const std::size_t most = any_block(random, nodes);
    Sizes sizes(std::size_t(nodes), most);
    for (std::size_t& size : sizes) size = std::size_t(random.below(2 * most + 1));
    return sizes;
}

class AllgatherTask final : public Task<Allgather> {
  public:
    AllgatherTask(Team& team, Random& random) : Task(team, random) {
        const Sizes sizes = any_sizes(team.size(), random);
        for (int member = 0; member < team.size(); ++member) {
            in_.emplace_back(sizes);
            fill(in_.back().at(member), sizes[std::size_t(member)], seed(member));
        }
    }
    void start(int member) override {
        Laid& in = in_[std::size_t(member)];
        mine(member).start(in.memory.data(), in.blocks(), nullptr, algorithm());
    }
    std::string wrong() const override {
        return first_wrong([&](int member) {
            const Laid& in = in_[std::size_t(member)];
            bool right = true;
            for (int from = 0; from < size(); ++from)
                right = right && filled(in.at(from), in.size(from), seed(from));
            return right;
        });
    }
    std::string describe() const override {
        return fmt::format("allgather of {} bytes, {}", in_[0].memory.size(), by());
    }

  private:
    std::vector<Laid> in_;
};

class AlltoallTask final : public Task<Alltoall> {
  public:
    AlltoallTask(Team& team, Random& random)
        : Task(team, random), even_(random.below(2) == 0), block_(any_block(random, team.size())) {
        for (int member = 0; member < team.size(); ++member) {
            Sizes out;
            Sizes in;
            for (int other = 0; other < team.size(); ++other) {
                out.push_back(size_of(member, other));
                in.push_back(size_of(other, member));
            }
            out_.emplace_back(std::move(out));
            in_.emplace_back(std::move(in));
            for (int to = 0; to < team.size(); ++to)
                fill(out_.back().memory.data() + start_of(out_.back(), to), out_.back().size(to),
                     seed(member, to));
        }
    }
    void start(int member) override {
        Laid& out = out_[std::size_t(member)];
        Laid& in = in_[std::size_t(member)];
        if (even_)
            mine(member).start(in.memory.data(), Blocks::even(block_), out.memory.data(),
                               Blocks::even(block_), algorithm());
        else
            mine(member).start(in.memory.data(), in.blocks(), out.memory.data(), out.blocks());
    }
    std::string wrong() const override {
        return first_wrong([&](int member) {
            const Laid& in = in_[std::size_t(member)];
            bool right = true;
            for (int from = 0; from < size(); ++from)
                right = right && filled(in.memory.data() + start_of(in, from), in.size(from),
                                        seed(from, member));
            return right;
        });
    }
    std::string describe() const override {
        return even_ ? fmt::format("alltoall of blocks of {} bytes, {}", block_, by())
                     : fmt::format("alltoall of blocks up to {} bytes", 2 * block_);
    }

  private:
    std::size_t size_of(int from, int to) const {
        return even_ ? block_ : std::size_t(Random(seed(from, to)).below(2 * block_ + 1));
    }
    std::size_t start_of(const Laid& laid, int member) const {
        return even_ ? block_ * std::size_t(member) : laid.offsets[std::size_t(member)];
    }

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
          in_place_(random.below(2) == 0),
          out_(any_sizes(team.size(), random)) {
        for (int member = 0; member < team.size(); ++member) {
            fill(out_.at(member), out_.size(member), seed(member));
            in_.emplace_back(out_.size(member));
        }
    }
    void start(int member) override {
        Bytes& in = in_[std::size_t(member)];
        const bool root = member == root_;
        mine(member).start(root && in_place_ ? nullptr : in.data(), in.size(),
                           root ? out_.memory.data() : nullptr, root ? out_.blocks() : Blocks(),
                           root_, algorithm());
    }
    std::string wrong() const override {
        return first_wrong([&](int member) {
            const Bytes& in = in_[std::size_t(member)];
            const bool stays = member == root_ && in_place_;
            return filled(stays ? out_.at(member) : in.data(), in.size(), seed(member));
        });
    }
    std::string describe() const override {
        return fmt::format("scatter of {} bytes from member {}{}, {}", out_.memory.size(), root_,
                           in_place_ ? " in place" : "", by());
    }

  private:
    int root_;
    bool in_place_;
    Laid out_;
    std::vector<Bytes> in_;
};

class GatherTask final : public Task<Gather> {
  public:
    GatherTask(Team& team, Random& random)
        : Task(team, random),
          root_(int(random.below(std::uint64_t(team.size())))),
          in_place_(random.below(2) == 0),
          in_(any_sizes(team.size(), random)) {
        for (int member = 0; member < team.size(); ++member) {
            out_.emplace_back(in_.size(member));
            fill(member == root_ && in_place_ ? in_.at(member) : out_.back().data(),
                 in_.size(member), seed(member));
        }
    }
    void start(int member) override {
        const Bytes& out = out_[std::size_t(member)];
        const bool root = member == root_;
        mine(member).start(root ? in_.memory.data() : nullptr, root ? in_.blocks() : Blocks(),
                           root && in_place_ ? nullptr : out.data(), out.size(), root_,
                           algorithm());
    }
    std::string wrong() const override {
        for (int member = 0; member < size(); ++member)
            if (!filled(in_.at(member), in_.size(member), seed(member)))
                return fmt::format("the block of member {} is wrong", member);
        return {};
    }
    std::string describe() const override {
        return fmt::format("gather of {} bytes to member {}{}, {}", in_.memory.size(), root_,
                           in_place_ ? " in place" : "", by());
    }

  private:
    int root_;
    bool in_place_;
    Laid in_;
    std::vector<Bytes> out_;
};

}  // namespace

std::vector<TaskMaker> tasks_of_moves() {
    return {{&broadcast::algorithms(), make<BroadcastTask>},
            {&scatter::algorithms(), make<ScatterTask>},
            {&gather::algorithms(), make<GatherTask>},
            {&allgather::algorithms(), make<AllgatherTask>},
            {&alltoall::algorithms(), make<AlltoallTask>}};
}

}  // namespace torusmp::collectives::testing
