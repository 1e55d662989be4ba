// SPDX-License-Identifier: BSD-3-Clause
// Daemons of a torus whose cables die and come back while ranks run. All frames between the head
// and the daemons arrive once and in order, whichever connections are lost at whichever frame.
#include "programs/torus_run/tree/tree_repair.h"

#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <random>
#include <set>

#include "programs/torus_run/front/order.h"
#include "programs/torus_run/streams/packing.h"
#include "routing/detours.h"

namespace torusmp::torus_run::tree_repair_test {
namespace {

constexpr unsigned schedules = 300;

using routing::Rank;
using routing::Torus;

struct Sent {
    DaemonFrame kind;
    std::uint32_t node;  // that it goes to, or comes from
    SharedBytes bytes;
};

// Between two daemons. Each end learns by itself that it is dead.
struct Connection {
    bool alive = true;
    std::deque<Sent> down, up;
};

SharedBytes number(std::uint64_t value) {
    return share(Packer().add(value).take());
}
std::uint64_t number_in(const Frame& frame) {
    return Unpacker(frame.body).get<std::uint64_t>();
}
Frame frame_of(const Sent& sent) {
    Frame frame;
    frame.header = {std::uint32_t(sent.kind), sent.node, 0};
    if (sent.bytes) frame.body = *sent.bytes;
    return frame;
}

// One for each direction and addressee, in the order in which they were sent: 1, 2, ...
struct Row {
    std::uint64_t sent = 0, arrived = 0;
};

class Daemons : private TreeRepair::Listener {
  public:
    Daemons(const Torus& torus, int head, unsigned seed)
        : dice(seed),
          torus_(torus),
          head_(head),
          ways_(spanning_tree(torus, head), torus),
          nodes_(std::size_t(torus.size())),
          repair_(ways_, head, std::chrono::seconds(1), *this) {
        for (int node = 0; node < torus.size(); ++node) {
            ways_.greeted(node);
            at(node).parents = ways_.parents();
            if (node != head) connect(ways_.parents()[std::size_t(node)], node);
        }
    }

    void step() {
        now += std::chrono::microseconds(10);
        switch (dice() % 8) {
            case 0:
                return head_speaks();
            case 1:
                return node_speaks();
            case 2:
                return notice();
            case 3:
                return try_one();
            case 4:
                return dice() % 16 == 0 ? beat() : void();
            default:
                return deliver();
        }
    }

    // The cable of a pair of neighbours dies, with all that is in it, or comes back. The rest joins
    // them all.
    void cut_one() {
        std::vector<std::pair<int, int>> living;
        for (int a = 0; a < torus_.size(); ++a)
            for (int i = 0; i < 2 * torus_.dimensions(); ++i)
                if (const auto b = torus_.neighbour(a, routing::Direction::from_index(i)))
                    if (a < *b && dead_.count({a, *b}) == 0) living.push_back({a, *b});
        if (living.empty()) return;
        const auto pair = living[dice() % living.size()];
        dead_.insert(pair);
        if (!joined()) {
            dead_.erase(pair);
            return;
        }
        lose_connections(pair);
    }
    // All cables of a node.
    void cut_node(int node) {
        for (int i = 0; i < 2 * torus_.dimensions(); ++i)
            if (const auto other = torus_.neighbour(node, routing::Direction::from_index(i))) {
                const auto pair = std::minmax({node, *other});
                dead_.insert(pair);
                lose_connections(pair);
            }
    }
    void heal_all() { dead_.clear(); }
    void heal_one() {
        if (dead_.empty()) return;
        dead_.erase(std::next(dead_.begin(), std::ptrdiff_t(dice() % dead_.size())));
    }

    // No rank reports anything new.
    void quiet_step() {
        now += std::chrono::microseconds(10);
        notice();
        try_one();
        deliver();
    }
    // Until only time can change anything.
    void rest() {
        int rounds = 0;
        for (bool moves = true; moves;) {
            REQUIRE(++rounds < 10'000);  // nothing goes round in circles
            for (int n = 0; n < 64 * torus_.size(); ++n) quiet_step();
            moves = !tries_.empty();
            for (const auto& [ends, wire] : wires_)
                moves = moves || !wire.alive || !wire.down.empty() || !wire.up.empty();
        }
    }
    void wait(std::chrono::seconds time) {
        for (const auto end = now + time; now < end; now += std::chrono::milliseconds(250)) {
            rest();
            beat();
        }
    }

    // Until nothing is left to do.
    void settle() {
        rest();
        while (any_cut_off()) wait(std::chrono::seconds(1));
        for (int n = 0; n < 4; ++n) {
            beat();
            rest();
        }
    }

    void require_all_arrived() {
        REQUIRE(lost.empty());
        for (int node = 0; node < torus_.size(); ++node) {
            if (node == head_) continue;
            REQUIRE(at(node).up.arrived == at(node).up.sent);
            REQUIRE(at(node).own.arrived == at(node).own.sent);
            REQUIRE(at(node).all == all_sent_);
            REQUIRE(at(node).streams.kept() == 0);
        }
        REQUIRE(repair_.streams().kept() == 0);
    }

    std::mt19937 dice;
    TreeRepair::Clock::time_point now{};
    std::map<int, std::string> lost;  // and why
    int joined_again = 0, in_vain = 0;

  private:
    struct Node {
        NodeStreams streams;
        std::vector<int> parents;  // as far as it has heard
        std::uint64_t version = 0, join_version = 0;
        std::set<int> begun;
        int parent = -1;  // over whose connection it hears the head
        Row up, own;
        std::uint64_t all = 0;
    };
    using Ends = std::pair<int, int>;  // parent and child

    Node& at(int node) { return nodes_[std::size_t(node)]; }

    void lose_connections(const std::pair<int, int>& pair) {
        for (const auto& [from, to] : {pair, std::pair(pair.second, pair.first)})
            if (const auto found = wires_.find({from, to}); found != wires_.end()) {
                found->second.alive = false;
                found->second.down.clear();
                found->second.up.clear();
            }
    }

    bool any_cut_off() const {
        for (int node = 0; node < torus_.size(); ++node)
            if (ways_.is_cut_off(node) && !ways_.is_lost(node)) return true;
        return false;
    }
    bool cable(int a, int b) const { return dead_.count({std::min(a, b), std::max(a, b)}) == 0; }
    bool joined() const {
        std::vector<int> found{0};
        std::vector<bool> seen(std::size_t(torus_.size()));
        seen[0] = true;
        for (std::size_t next = 0; next < found.size(); ++next)
            for (int i = 0; i < 2 * torus_.dimensions(); ++i) {
                const auto other = torus_.neighbour(found[next], routing::Direction::from_index(i));
                if (!other || seen[std::size_t(*other)] || !cable(found[next], *other)) continue;
                seen[std::size_t(*other)] = true;
                found.push_back(*other);
            }
        return int(found.size()) == torus_.size();
    }

    void connect(int parent, int child) {
        wires_[{parent, child}] = {};
        at(child).parent = parent;
    }

    // ---- what daemons do ----

    void head_speaks() {
        const int node = int(dice() % unsigned(torus_.size()));
        if (dice() % 2 == 0)
            repair_.send(DaemonFrame::answer, every_node, number(++all_sent_));
        else if (node != head_)
            repair_.send(DaemonFrame::input, std::uint32_t(node), number(++at(node).own.sent));
    }
    void node_speaks() {
        const int node = int(dice() % unsigned(torus_.size()));
        if (node != head_) send_lasting(node, DaemonFrame::output, number(++at(node).up.sent));
    }
    void beat() {
        repair_.beat(now);
        for (int node = 0; node < torus_.size(); ++node)
            if (node != head_) send_now(node, DaemonFrame::alive, at(node).streams.taken());
    }

    void send_lasting(int node, DaemonFrame kind, const SharedBytes& bytes) {
        send_now(node, DaemonFrame::lasting, at(node).streams.add(kind, bytes));
    }
    void send_now(int node, DaemonFrame kind, const SharedBytes& bytes) {
        pass_up(node, {kind, std::uint32_t(node), bytes});
    }
    void pass_up(int node, const Sent& sent) {
        const auto wire = wires_.find({at(node).parent, node});
        if (wire != wires_.end() && wire->second.alive) wire->second.up.push_back(sent);
    }

    // To a node below, or to all of them, as ChildDaemons does.
    void pass_down(int from, const Sent& sent) {
        const auto next = sent.node == every_node
                              ? std::nullopt
                              : next_on_the_way(at(from).parents, from, int(sent.node));
        for (auto& [ends, wire] : wires_)
            if (ends.first == from && wire.alive &&
                (sent.node == every_node || (next && ends.second == *next)))
                wire.down.push_back(sent);
    }

    void follow(int node, const TreeWays& ways) {
        Node& it = at(node);
        if (ways.version < it.version) return;
        it.version = ways.version;
        it.parents = ways.parents;
        it.begun.clear();
        std::erase_if(tries_, [node](const Ends& ends) { return ends.first == node; });
        if (!is_reached(ways.parents, ways.missing, node)) return;
        for (const int child : ways.missing) {
            if (ways.parents[std::size_t(child)] != node) continue;
            if (wires_.count({node, child}) != 0)
                child_joined(node, child);
            else if (it.begun.insert(child).second)
                tries_.push_back({node, child});
        }
    }
    void child_joined(int parent, int child) {
        if (parent == head_) return repair_.joined(parent, child);
        send_lasting(parent, DaemonFrame::joined, share(Packer().add(child).take()));
    }

    void child_lost(int parent, int child, Cut how) {
        if (parent == head_) return repair_.cut(parent, child, how, "is silent");
        const auto bytes = Packer().add(child).add(std::uint32_t(how)).add("is silent").take();
        send_lasting(parent, DaemonFrame::cut, share(bytes));
    }

    // A daemon is joined by another one, or cannot be.
    void try_one() {
        if (tries_.empty()) return;
        const std::size_t pick = dice() % tries_.size();
        const auto [parent, child] = tries_[pick];
        tries_.erase(tries_.begin() + std::ptrdiff_t(pick));
        at(parent).begun.erase(child);
        Node& it = at(child);
        if (!cable(parent, child) || at(parent).version < it.join_version) {
            ++in_vain;
            return child_lost(parent, child, Cut::no_answer);
        }
        it.join_version = at(parent).version;
        const Ends before{it.parent, child};
        const bool leaves = before.first != parent && wires_.erase(before) != 0;
        connect(parent, child);
        child_joined(parent, child);
        if (leaves) child_lost(before.first, child, Cut::silent);
    }

    // Both ends of a dead connection learn of it, as their timeouts are the same.
    void notice() {
        for (auto it = wires_.begin(); it != wires_.end(); ++it) {
            if (it->second.alive || dice() % 4 != 0) continue;
            const Ends ends = it->first;
            wires_.erase(it);
            return child_lost(ends.first, ends.second, Cut::silent);
        }
    }

    void deliver() {
        std::vector<std::pair<Ends, bool>> ready;
        for (const auto& [ends, wire] : wires_) {
            if (!wire.down.empty()) ready.push_back({ends, true});
            if (!wire.up.empty()) ready.push_back({ends, false});
        }
        if (ready.empty()) return;
        const auto [ends, down] = ready[dice() % ready.size()];
        auto& row = down ? wires_[ends].down : wires_[ends].up;
        const Sent sent = row.front();
        row.pop_front();
        if (down)
            arrived_below(ends.second, sent);
        else if (ends.first == head_)
            arrived_at_head(int(sent.node), frame_of(sent));
        else
            pass_up(ends.first, sent);
    }

    void arrived_at_head(int node, Frame frame) {
        if (!repair_.heard(node, frame)) tree_frame(node, frame);
    }

    void arrived_below(int node, const Sent& sent) {
        Node& it = at(node);
        if (sent.node == every_node || int(sent.node) != node) pass_down(node, sent);
        if (sent.node != every_node && int(sent.node) != node) return;
        const Frame frame = frame_of(sent);
        if (sent.kind == DaemonFrame::ways) return follow(node, decode_ways(frame.body));
        if (sent.kind == DaemonFrame::taken) return it.streams.confirmed(frame.body);
        if (sent.kind == DaemonFrame::resume) {
            it.streams.confirmed(frame.body);
            send_now(node, DaemonFrame::resumed, it.streams.taken());
            return it.streams.again(
                [&](const SharedBytes& bytes) { send_now(node, DaemonFrame::lasting, bytes); });
        }
        REQUIRE(sent.kind == DaemonFrame::lasting);
        const auto inner = it.streams.take(frame.body);
        if (!inner) return;
        if (DaemonFrame(inner->header.kind) == DaemonFrame::answer)
            REQUIRE(number_in(*inner) == ++it.all);
        else
            REQUIRE(number_in(*inner) == ++it.own.arrived);
    }

    // ---- what the head is asked for ----

    void send_down(DaemonFrame kind, std::uint32_t node, const SharedBytes& bytes) override {
        pass_down(head_, {kind, node, bytes});
    }
    void tree_frame(int node, Frame& frame) override {
        if (DaemonFrame(frame.header.kind) == DaemonFrame::output) {
            REQUIRE(number_in(frame) == ++at(node).up.arrived);
        } else {
            REQUIRE(repair_.heard(node, frame));
        }
    }
    void tree_changed(const TreeWays& ways) override {
        send_down(DaemonFrame::ways, every_node, share(encode(ways)));
        follow(head_, ways);
    }
    void node_joined(int, int) override { ++joined_again; }
    void node_lost(int node, const std::string& why) override { lost.emplace(node, why); }

    const Torus torus_;
    const int head_;
    DaemonTree ways_;
    std::vector<Node> nodes_;
    std::map<Ends, Connection> wires_;
    std::set<std::pair<int, int>> dead_;
    std::vector<Ends> tries_;
    std::uint64_t all_sent_ = 0;
    TreeRepair repair_;
};

}  // namespace

TEST_CASE("Frames between daemons arrive once and in order, whichever cables die meanwhile") {
    const std::vector<Torus> tori{Torus(std::vector{3}), Torus(std::vector{4}),
                                  Torus(std::vector{2, 2, 2}), Torus(std::vector{3, 3, 2}),
                                  Torus(std::vector{4, 3}, {false, true})};
    const auto run = [&](unsigned seed) {
        CAPTURE(seed);
        const Torus& torus = tori[seed % tori.size()];
        Daemons daemons(torus, int(seed / 7 % unsigned(torus.size())), seed);
        const auto often = 20 + daemons.dice() % 400;
        for (int n = 0; n < 4000; ++n) {
            if (daemons.dice() % often == 0)
                daemons.dice() % 3 != 0 ? daemons.cut_one() : daemons.heal_one();
            daemons.step();
        }
        daemons.settle();
        daemons.require_all_arrived();
    };
    for (unsigned seed = 1; seed <= schedules; ++seed) run(seed);
    run(369);  // two that were cut off together might hear only each other
    run(472);  // cables come and go faster than the tree is repaired
}

TEST_CASE("A daemon that no cable reaches is lost after the time that it waits itself") {
    const bool comes_back = GENERATE(true, false);
    for (const int head : {0, 1}) {
        CAPTURE(comes_back, head);
        constexpr int victim = 2;
        Daemons daemons(Torus(std::vector{3, 3}), head, 1);
        for (int n = 0; n < 500; ++n) daemons.step();
        daemons.cut_node(victim);
        daemons.wait(std::chrono::seconds(25));  // of 30
        REQUIRE(daemons.lost.empty());
        REQUIRE(daemons.in_vain > 0);
        REQUIRE(daemons.in_vain <= 4 * 12);  // neighbours, and rounds
        if (comes_back) daemons.heal_all();
        daemons.settle();
        if (comes_back) {
            REQUIRE(daemons.joined_again > 0);
            daemons.require_all_arrived();
        } else {
            REQUIRE(daemons.lost.size() == 1);
            REQUIRE(daemons.lost.at(victim) ==
                    "is silent; it was not reached over another cable "
                    "within 30s");
        }
    }
}

}  // namespace torusmp::torus_run::tree_repair_test
