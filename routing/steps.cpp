// SPDX-License-Identifier: BSD-3-Clause
#include "routing/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "routing/ways.h"

namespace torusmp::routing {

namespace {

constexpr int none = -1;

// The queues of all arcs, as lists through the messages.
class Queues {
  public:
    Queues(const Torus& torus, std::size_t messages)
        : ways_(std::size_t(2 * torus.dimensions())),
          queues_(std::size_t(torus.size()) * ways_),
          behind_(messages, none) {}

    void join(Rank rank, Direction direction, int message) {
        const std::size_t arc = std::size_t(rank) * ways_ + std::size_t(direction.index());
        Queue& queue = queues_[arc];
        behind_[std::size_t(message)] = none;
        if (queue.length++ == 0) {
            queue.first = message;
            busy_.push_back(arc);
        } else {
            behind_[std::size_t(queue.last)] = message;
        }
        queue.last = message;
    }

    // Moves one message from each non-empty arc.
    void step(std::vector<int>& moved, Replay& result) {
        std::size_t still_busy = 0;
        for (const std::size_t arc : busy_) {
            Queue& queue = queues_[arc];
            moved.push_back(queue.first);
            result.most_on_an_arc = std::max(result.most_on_an_arc, ++queue.carried);
            queue.first = behind_[std::size_t(queue.first)];
            result.collisions += --queue.length;
            if (queue.length > 0) busy_[still_busy++] = arc;
        }
        busy_.resize(still_busy);
    }

    bool idle() const { return busy_.empty(); }

  private:
    struct Queue {
        int first = none;
        int last = none;
        int length = 0;
        int carried = 0;
    };
    std::size_t ways_;
    std::vector<Queue> queues_;
    std::vector<int> behind_;  // by message: the next in the same queue
    std::vector<std::size_t> busy_;
};

class Player {
  public:
    Player(const Torus& torus, std::span<const Message> messages)
        : torus_(torus),
          messages_(messages),
          queues_(torus, messages.size()),
          hops_done_(messages.size(), 0),
          waits_for_(messages.size(), 0),
          releases_(messages.size()) {
        for (int m = 0; m < int(messages.size()); ++m) {
            check(m);
            for (const int before : at(m).after) releases_[std::size_t(before)].push_back(m);
            waits_for_[std::size_t(m)] = int(at(m).after.size());
            if (waits_for_[std::size_t(m)] == 0) leave_later(m, 0);
        }
    }

    Replay play() {
        std::int64_t hops = 0;
        std::vector<int> moved;
        for (int step = 0; arrived_ < messages_.size(); ++step) {
            leave(step);
            moved.clear();
            queues_.step(moved, result_);
            if (moved.empty() && std::size_t(step) >= leaving_.size()) {
                throw std::invalid_argument(
                    fmt::format("{} of {} messages can never leave: each waits for another of them",
                                messages_.size() - arrived_, messages_.size()));
            }
            hops += std::int64_t(moved.size());
            std::sort(moved.begin(), moved.end());
            for (const int m : moved) advance(m, step);
        }
        result_.mean_on_an_arc = arcs() == 0 ? 0 : double(hops) / double(arcs());
        return result_;
    }

  private:
    const Message& at(int message) const { return messages_[std::size_t(message)]; }

    void check(int message) const {
        const Message& m = at(message);
        Rank here = m.from;
        bool sound = !m.path.empty() && here >= 0 && here < torus_.size() && m.release >= 0;
        for (std::size_t i = 0; sound && i < m.path.size(); ++i) {
            sound = torus_.neighbour(here, m.path[i].direction) == m.path[i].rank;
            here = m.path[i].rank;
        }
        for (const int before : m.after) {
            sound &= before >= 0 && std::size_t(before) < messages_.size();
        }
        if (!sound) {
            throw std::invalid_argument(
                fmt::format("message {} from rank {} has no path over links of {}, or waits for a "
                            "message that is not there",
                            message, m.from, torus_.describe()));
        }
    }

    void leave_later(int message, int step) {
        const auto when = std::size_t(std::max(step, at(message).release));
        if (leaving_.size() <= when) leaving_.resize(when + 1);
        leaving_[when].push_back(message);
    }

    void leave(int step) {
        if (std::size_t(step) >= leaving_.size()) return;
        auto& leaving = leaving_[std::size_t(step)];
        std::sort(leaving.begin(), leaving.end());
        for (const int m : leaving) queues_.join(at(m).from, at(m).path.front().direction, m);
    }

    void advance(int message, int step) {
        const auto done = std::size_t(++hops_done_[std::size_t(message)]);
        const std::vector<Hop>& path = at(message).path;
        if (done == 1) result_.sent = step + 1;
        if (done < path.size()) {
            queues_.join(path[done - 1].rank, path[done].direction, message);
            return;
        }
        ++arrived_;
        result_.steps = step + 1;
        for (const int next : releases_[std::size_t(message)]) {
            if (--waits_for_[std::size_t(next)] == 0) leave_later(next, step + 1);
        }
    }

    int arcs() const {
        int count = 0;
        for (Rank rank = 0; rank < torus_.size(); ++rank) {
            for (int way = 0; way < 2 * torus_.dimensions(); ++way) {
                count += torus_.neighbour(rank, Direction::from_index(way)) ? 1 : 0;
            }
        }
        return count;
    }

    const Torus& torus_;
    std::span<const Message> messages_;
    Queues queues_;
    std::vector<int> hops_done_;
    std::vector<int> waits_for_;
    std::vector<std::vector<int>> releases_;  // by message: those that wait for it
    std::vector<std::vector<int>> leaving_;   // by step
    std::size_t arrived_ = 0;
    Replay result_;
};

Direction entered_by(const SpanningTree& tree, Rank rank) {
    return Direction::from_index(tree.by[std::size_t(rank)]);
}

std::vector<Hop> backwards(Rank from, const std::vector<Hop>& path) {
    std::vector<Hop> back;
    for (std::size_t i = path.size(); i-- > 0;) {
        back.push_back({path[i].direction.opposite(), i > 0 ? path[i - 1].rank : from});
    }
    return back;
}

}  // namespace

Replay replay(const Torus& torus, std::span<const Message> messages) {
    return Player(torus, messages).play();
}

std::vector<Message> broadcast_messages(const SpanningTree& tree) {
    return pipelined_broadcast_messages(std::span(&tree, 1), 1);
}

std::vector<Message> pipelined_broadcast_messages(std::span<const SpanningTree> trees,
                                                  int packets) {
    std::vector<Message> messages;
    for (int packet = 0; packet < packets && !trees.empty(); ++packet) {
        const SpanningTree& tree = trees[std::size_t(packet) % trees.size()];
        const int ranks = int(tree.parent.size());
        // Message i of a packet brings it to the i-th rank that is not the root.
        const auto to = [&, first = int(messages.size())](Rank rank) {
            return first + rank - (rank > tree.root ? 1 : 0);
        };
        const int release = packet / int(trees.size());
        std::vector<Message> of_packet;
        for (Rank rank = 0; rank < ranks; ++rank) {
            if (rank == tree.root) continue;
            const Rank parent = tree.parent[std::size_t(rank)];
            Message message{parent, {{entered_by(tree, rank), rank}}, 0, {}};
            if (parent == tree.root) {
                message.release = release;
            } else {
                message.after.push_back(to(parent));
            }
            of_packet.push_back(std::move(message));
        }
        std::move(of_packet.begin(), of_packet.end(), std::back_inserter(messages));
    }
    return messages;
}

std::vector<Message> reduce_messages(const SpanningTree& tree) {
    std::vector<Message> messages;
    const auto from = [&](Rank rank) { return rank - (rank > tree.root ? 1 : 0); };
    for (Rank rank = 0; rank < Rank(tree.parent.size()); ++rank) {
        if (rank == tree.root) continue;
        const Rank parent = tree.parent[std::size_t(rank)];
        messages.push_back({rank, {{entered_by(tree, rank).opposite(), parent}}, 0, {}});
    }
    for (Rank rank = 0; rank < Rank(tree.parent.size()); ++rank) {
        const Rank parent = tree.parent[std::size_t(rank)];
        if (rank == tree.root || parent == tree.root) continue;
        messages[std::size_t(from(parent))].after.push_back(from(rank));
    }
    return messages;
}

std::vector<Message> scatter_messages(const Partition& partition) {
    std::vector<Message> messages;
    for (const auto& order : partition.order) {
        for (std::size_t i = 0; i < order.size(); ++i) {
            messages.push_back({partition.root, partition.path(order[i]), int(i), {}});
        }
    }
    return messages;
}

std::vector<Message> gather_messages(const Partition& partition) {
    std::vector<Message> messages = scatter_messages(partition);
    int end = 0;
    for (const Message& message : messages) {
        end = std::max(end, message.release + int(message.path.size()));
    }
    for (Message& message : messages) {
        message.from = message.path.back().rank;
        message.release = end - message.release - int(message.path.size());
        message.path = backwards(partition.root, message.path);
    }
    return messages;
}

std::vector<Message> sdf_scatter_messages(const Torus& torus, Rank root, SdfSending sending) {
    std::vector<Message> messages;
    std::array<int, 2 * max_dimensions> left_by{};
    for (Rank rank = 0; rank < torus.size(); ++rank) {
        if (rank == root) continue;
        std::vector<Hop> path = usual_path(torus, root, rank);
        int& by_this_link = left_by[std::size_t(path.front().direction.index())];
        const int release =
            sending == SdfSending::all_links ? by_this_link++ : int(messages.size());
        messages.push_back({root, std::move(path), release, {}});
    }
    return messages;
}

std::vector<Message> sdf_gather_messages(const Torus& torus, Rank root) {
    std::vector<Message> messages;
    for (Rank rank = 0; rank < torus.size(); ++rank) {
        if (rank != root) messages.push_back({rank, usual_path(torus, rank, root), 0, {}});
    }
    return messages;
}

ScatterBounds scatter_bounds(const Partition& partition) {
    ScatterBounds bounds;
    const int links = int(partition.order.size());
    if (links == 0) return bounds;
    bounds.sending = (int(partition.region.size()) - 1 + links - 1) / links;
    for (const auto& order : partition.order) {
        for (std::size_t i = 0; i < order.size(); ++i) {
            const int distance = partition.tree.depth[std::size_t(order[i])];
            bounds.longest_chain = std::max(bounds.longest_chain, int(i) + distance);
        }
    }
    return bounds;
}

}  // namespace torusmp::routing
