#include "fault_soak_round.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/packets.h"
#include "job.h"
#include "routing/ways.h"

namespace torusmp::core::testing {

using transport::PacketHeader;

namespace {

// Far more turns than any round needs: if it is not done by then it runs in circles.
constexpr std::uint64_t most_turns = 3'000'000;
// Virtual time from the last fault until the last request has ended. Messages take microseconds, a
// link is known to be dead after at most one millisecond, a slowed link takes up to two.
constexpr double most_milliseconds = 1000;

constexpr Context wildcard_context = 2;  // here receives take from anybody
constexpr std::size_t largest_message = 8192;
// Ports of direct connections, as core numbers them: behind the links of all directions.
constexpr std::uint32_t direct_ports = 2 * routing::max_dimensions;

enum class Way {
    matched,   // by context, source and tag
    flow,      // a declared channel
    tried,     // its receive is cancelled at some moment, and posted again where that succeeded
    probed,    // its receive is posted when a probe has found it
    wildcard,  // a receive from anybody takes it
    lonely     // a receive that nobody sends to; cancelled in the end
};

struct Message {
    std::size_t number = 0;
    Way way = Way::matched;
    Rank from = 0;
    Rank to = 0;
    Context context = 0;
    Tag tag = 0;
    std::size_t bytes = 0;
    bool synchronous = false;
    bool sent = false;
    bool posted = false;
    bool cancel_asked = false;
    bool delivered = false;  // wildcard: it came
    std::unique_ptr<std::byte[]> out;
    std::unique_ptr<std::byte[]> in;
    bool out_reused = false;  // complete, and its memory was used for something else
    bool in_reused = false;
    SendRequest send;
    ReceiveRequest receive;
};

// A receive from anybody, posted again whenever it has ended.
struct Server {
    Rank at = 0;
    std::unique_ptr<std::byte[]> room;
    ReceiveRequest receive;
    bool open = false;
};

// What a wildcard receive ended with, judged when it is known who was cut off.
struct Delivery {
    Rank at;
    Status status;
    bool right_bytes;
};

JobOptions random_job(std::uint64_t seed, sim::Random& random) {
    JobOptions options;
    options.seed = seed;
    const auto dimensions = 1 + random.below(3);
    const int most = dimensions == 1 ? 9 : dimensions == 2 ? 4 : 3;
    options.dims.clear();
    for (std::uint64_t d = 0; d < dimensions; ++d) {
        // Size 2 is special in a torus, two links to one neighbour; size 1 has none.
        const auto kind = random.below(10);
        options.dims.push_back(kind < 4 ? 2 : kind == 4 ? 1 : int(random.between(2, most)));
        options.periodic.push_back(random.below(4) != 0);
    }
    if (std::all_of(options.dims.begin(), options.dims.end(), [](int n) { return n == 1; }))
        options.dims[0] = 2 + int(random.below(4));
    options.direct = random.below(4) == 0;
    options.eager_limit = 128u << random.below(5);
    options.credits = int(random.below(2) == 0 ? 2 : 2 + random.below(7));
    options.relay_credits = int(random.below(2) == 0 ? 2 : 2 + random.below(3));
    options.world.write = sim::Remote(random.below(4));
    options.world.read = sim::Remote(random.below(4));
    options.world.places = random.below(2) == 0;
    options.link_transports = int(random.below(3));
    if (random.below(3) == 0)
        options.world.packet = {sim::Time(500), sim::Time(4000), 0.02, sim::Time(100'000)};
    return options;
}

std::size_t random_length(sim::Random& random, std::size_t eager_limit) {
    const auto kind = random.below(20);
    if (kind == 0) return 0;
    if (kind < 11) return std::size_t(random.below(100));
    if (kind < 14) return std::size_t(random.below(eager_limit));
    if (kind < 16) return eager_limit - 1 + std::size_t(random.below(3));
    return std::min<std::size_t>(largest_message,
                                 eager_limit + std::size_t(random.below(5 * eager_limit)));
}

bool mentions(std::string_view line, const std::string& name) {
    for (auto at = line.find(name); at != line.npos; at = line.find(name, at + 1)) {
        const auto end = at + name.size();
        if (end == line.size() || line[end] < '0' || line[end] > '9') return true;
    }
    return false;
}

std::string name(Rank rank) {
    return fmt::format("rank {}", rank);
}

class Round {
  public:
    explicit Round(std::uint64_t seed);
    RoundResult run();

  private:
    struct DeadLink {
        Rank at;
        routing::Direction direction;
    };

    void plan_messages();
    void step();
    void issue_send(Message& message);
    void issue_receive(Message& message);
    void post(Message& message);
    bool tend(Message& message);
    bool tend(Server& server);
    void open(Server& server);
    void settle();
    void turn();

    void strike();
    std::optional<Rank> some_rank();
    bool kill_rank();
    bool capture_rank();
    bool connected(Rank from, Rank to);
    bool cut_link();
    bool slow_link();
    void attack();
    bool forge(PacketHeader& header, Rank enemy, Rank at, std::uint32_t port);
    void end_captured();

    bool crosses_fault(Rank from, Rank to) const;
    bool cut(Rank a, Rank b) const;
    bool involved(Rank a, Rank b, const std::vector<bool>& ranks) const;
    bool known_fault(std::string_view line) const;
    void judge();
    void judge_error(const Message& message, const Request& request, Rank on, bool sending);
    void judge_receive(const Message& message);
    void judge_wildcards();
    void judge_log();
    void judge_what_is_left();
    void exchange_afterwards();
    void bad(const std::string& what);
    std::string name_of(const Message& message) const;

    bool said(Rank on, const std::string& about) const;

    RoundResult result_;
    sim::Random random_;
    std::uint64_t seed_;
    std::size_t eager_limit_ = 0;
    bool direct_ = false;
    std::vector<std::unique_ptr<Message>> messages_;
    std::vector<std::unique_ptr<Server>> servers_;
    std::vector<Delivery> deliveries_;
    std::vector<std::unique_ptr<std::byte[]>> abandoned_;
    std::size_t sends_ = 0;     // messages whose send was issued, or passed over
    std::size_t receives_ = 0;  // the same of receives
    std::uint64_t turns_ = 0;
    std::vector<bool> dead_;  // killed or captured
    std::vector<bool> captured_;
    std::vector<DeadLink> dead_links_;
    std::vector<std::pair<Rank, Rank>> dead_pairs_;  // direct connections that were cut
    bool closing_ = false;                           // the servers are asked to end
    sim::Time last_fault_{0};
    std::unique_ptr<Job> job_;  // last: gone before the requests
};

Round::Round(std::uint64_t seed) : random_(seed * 7 + 3), seed_(seed) {
    const JobOptions options = random_job(seed, random_);
    direct_ = options.direct;
    eager_limit_ = options.eager_limit;
    job_ = std::make_unique<Job>(options);
    dead_.assign(std::size_t(job_->size()), false);
    captured_ = dead_;
    result_.scene = fmt::format("torus {}{}, eager limit {}, credits {} and {}, write {}, read {}",
                                job_->torus().describe(), direct_ ? ", direct" : "", eager_limit_,
                                options.credits, options.relay_credits, int(options.world.write),
                                int(options.world.read));
    plan_messages();
}

void Round::bad(const std::string& what) {
    if (result_.failure.empty()) result_.failure = what;
}

std::string Round::name_of(const Message& m) const {
    static constexpr const char* ways[] = {"matched", "flow",     "cancelled and posted again",
                                           "probed",  "wildcard", "lonely"};
    return fmt::format("message {} ({}, {} -> {}, context {}, tag {}, {} bytes{})", m.number,
                       ways[int(m.way)], m.from, m.to, m.context, m.tag, m.bytes,
                       m.synchronous ? ", synchronous" : "");
}

// ---- traffic ----

void Round::plan_messages() {
    const auto ranks = std::uint64_t(job_->size());
    const auto count = std::size_t(40 + random_.below(30 * ranks));
    const bool wildcards = random_.below(3) == 0;
    for (std::size_t n = 0; n < count; ++n) {
        messages_.push_back(std::make_unique<Message>());
        Message& m = *messages_.back();
        m.number = n;
        m.from = Rank(random_.below(ranks));
        m.to = Rank(random_.below(ranks));
        m.bytes = random_length(random_, eager_limit_);
        const auto kind = random_.below(20);
        m.way = kind < 9                   ? Way::matched
                : kind < 14                ? Way::flow
                : kind < 16                ? Way::tried
                : kind < 18                ? Way::probed
                : kind == 18 || !wildcards ? Way::lonely
                                           : Way::wildcard;
        const bool own_tag = m.way != Way::matched && m.way != Way::flow;
        m.context = m.way == Way::wildcard ? wildcard_context : Context(random_.below(2));
        m.tag = own_tag ? Tag(1000 + n) : Tag(random_.below(3));
        m.synchronous = m.way != Way::flow && random_.below(12) == 0;
    }
    if (!wildcards) return;
    for (Rank rank = 0; rank < job_->size(); ++rank) {
        servers_.push_back(std::make_unique<Server>());
        servers_.back()->at = rank;
        servers_.back()->room.reset(new std::byte[largest_message]);
        open(*servers_.back());
    }
}

void Round::issue_send(Message& m) {
    if (m.way == Way::lonely || !job_->alive(m.from)) return;
    m.sent = true;
    m.out.reset(new std::byte[m.bytes]);
    fill(m.out.get(), m.bytes, seed_ + m.number);
    const Buffer buffer(static_cast<const void*>(m.out.get()), m.bytes);
    Runtime& runtime = (*job_)[m.from];
    if (m.way == Way::flow)
        runtime.flows().start(runtime.flows().open_send(m.to, m.context, std::uint32_t(m.tag)),
                              m.send, buffer);
    else
        runtime.send(m.send, buffer, m.to, m.context, m.tag,
                     m.synchronous ? SendMode::synchronous : SendMode::standard);
}

void Round::issue_receive(Message& m) {
    if (m.way == Way::wildcard || m.way == Way::probed || !job_->alive(m.to)) return;
    post(m);
}

void Round::post(Message& m) {
    m.posted = true;
    if (!m.in) m.in.reset(new std::byte[m.bytes]);
    const Buffer buffer(m.in.get(), m.bytes);
    Runtime& runtime = (*job_)[m.to];
    if (m.way == Way::flow)
        runtime.flows().start(runtime.flows().open_receive(m.from, m.context, std::uint32_t(m.tag)),
                              m.receive, buffer);
    else
        runtime.receive(m.receive, buffer, m.from, m.context, m.tag);
}

void Round::open(Server& server) {
    if (!job_->alive(server.at)) return;
    (*job_)[server.at].receive(server.receive, Buffer(server.room.get(), largest_message),
                               any_source, wildcard_context, any_tag);
    server.open = true;
}

// What the program of a rank would do next about this message. True: something was done.
bool Round::tend(Message& m) {
    bool done = false;
    // Memory of what has ended is the caller's: whatever still reads or writes it is found out.
    if (m.sent && !m.out_reused && m.send.complete()) {
        std::memset(m.out.get(), 0xdd, m.bytes);
        m.out_reused = true;
    }
    if (!job_->alive(m.to)) return false;
    if (m.way == Way::probed && !m.posted) {
        const auto found = (*job_)[m.to].probe(m.from, m.context, m.tag);
        if (!found && !closing_) return false;
        if (found && (found->source != m.from || found->tag != m.tag || found->bytes != m.bytes) &&
            !involved(m.from, m.to, captured_))
            bad(fmt::format("{}: a probe found {} bytes from {} with tag {}", name_of(m),
                            found->bytes, found->source, found->tag));
        post(m);
        return true;
    }
    if (m.way == Way::tried && m.posted && !m.cancel_asked) {
        m.cancel_asked = true;
        (*job_)[m.to].cancel(m.receive);
        done = true;
    }
    if (m.way == Way::tried && m.posted && m.receive.complete() &&
        m.receive.status().error == Error::cancelled) {
        ++result_.cancelled;
        post(m);
        return true;
    }
    if (m.way == Way::lonely && m.posted && closing_ && !m.cancel_asked) {
        m.cancel_asked = true;
        (*job_)[m.to].cancel(m.receive);
        done = true;
    }
    if (m.posted && !m.in_reused && m.receive.complete() &&
        m.receive.status().error != Error::none) {
        std::memset(m.in.get(), 0xee, m.bytes);
        m.in_reused = true;
    }
    return done;
}

bool Round::tend(Server& server) {
    if (!job_->alive(server.at) || !server.open) return false;
    if (!server.receive.complete()) {
        if (closing_) (*job_)[server.at].cancel(server.receive);
        return server.receive.complete();
    }
    server.open = false;
    const Status& status = server.receive.status();
    if (status.error == Error::cancelled) {
        ++result_.cancelled;
        return false;
    }
    bool right = false;
    const auto number = std::size_t(status.tag - 1000);
    if (status.error == Error::none && status.tag >= 1000 && number < messages_.size()) {
        Message& m = *messages_[number];
        right = m.way == Way::wildcard && m.from == status.source && m.to == server.at &&
                m.bytes == status.bytes && !m.delivered &&
                filled(server.room.get(), m.bytes, seed_ + number);
        m.delivered = m.delivered || right;
    }
    deliveries_.push_back({server.at, status, right});
    ++result_.requests;
    // An enemy that was told of this memory before it was captured may still write there.
    if (status.error != Error::none) {
        abandoned_.push_back(std::move(server.room));
        server.room.reset(new std::byte[largest_message]);
    }
    open(server);
    return true;
}

void Round::turn() {
    if (++turns_ > most_turns)
        throw std::runtime_error(fmt::format("still moving after {} turns", turns_));
    job_->turn();
}

void Round::step() {
    const auto half = [&] { return random_.below(2) == 0; };
    if (sends_ < messages_.size() && half()) issue_send(*messages_[sends_++]);
    if (receives_ < messages_.size() && half()) issue_receive(*messages_[receives_++]);
    tend(*messages_[std::size_t(random_.below(messages_.size()))]);
    if (!servers_.empty()) tend(*servers_[std::size_t(random_.below(servers_.size()))]);
    turn();
}

// Until nothing moves by itself and no program has anything to do.
void Round::settle() {
    for (bool more = true; more;) {
        while (job_->turn())
            if (++turns_ > most_turns)
                throw std::runtime_error(fmt::format("still moving after {} turns", turns_));
        more = false;
        for (auto& message : messages_) more = tend(*message) || more;
        for (auto& server : servers_) more = tend(*server) || more;
    }
}

// ---- faults ----

std::optional<Rank> Round::some_rank() {
    // Somebody must be left to judge.
    if (std::count(dead_.begin(), dead_.end(), false) <= 2) return std::nullopt;
    for (int tries = 0; tries < 100; ++tries) {
        const Rank rank = Rank(random_.below(std::uint64_t(job_->size())));
        if (!dead_[std::size_t(rank)]) return rank;
    }
    return std::nullopt;
}

bool Round::kill_rank() {
    const auto victim = some_rank();
    if (!victim) return false;
    dead_[std::size_t(*victim)] = true;
    job_->kill(*victim);
    result_.scene += fmt::format("; {} killed", name(*victim));
    return true;
}

bool Round::capture_rank() {
    const auto victim = some_rank();
    if (!victim) return false;
    dead_[std::size_t(*victim)] = captured_[std::size_t(*victim)] = true;
    job_->capture(*victim);
    result_.scene += fmt::format("; {} captured", name(*victim));
    return true;
}

bool Round::connected(Rank from, Rank to) {
    if (from == to || !job_->alive(to)) return false;
    const auto all = (*job_)[from].state().connections();
    return std::any_of(all.begin(), all.end(),
                       [&](const auto& c) { return c.peer == to && !c.down; });
}

bool Round::cut_link() {
    for (int tries = 0; tries < 40; ++tries) {
        const Rank rank = Rank(random_.below(std::uint64_t(job_->size())));
        if (dead_[std::size_t(rank)]) continue;
        try {
            if (direct_) {
                const Rank other = Rank(random_.below(std::uint64_t(job_->size())));
                // A connection that only one end has opened does not count: the other end would
                // never learn of its death.
                if (!connected(rank, other) || !connected(other, rank)) continue;
                const auto port = direct_ports + std::uint32_t(other);
                job_->world().kill_link(job_->interface(rank, port), port);
                dead_pairs_.emplace_back(rank, other);
                result_.scene += fmt::format("; connection {}-{} cut", rank, other);
                return true;
            }
            const auto direction = routing::Direction::from_index(
                int(random_.below(std::uint64_t(2 * job_->torus().dimensions()))));
            const auto other = job_->torus().neighbour(rank, direction);
            if (!other) continue;
            job_->kill_link(rank, direction);
            dead_links_.push_back({rank, direction});
            dead_links_.push_back({*other, direction.opposite()});
            result_.scene += fmt::format("; link {}{}{} to {} cut", rank, direction.dimension,
                                         direction.sign > 0 ? '+' : '-', *other);
            return true;
        } catch (const std::invalid_argument&) {
            continue;  // dead already, or never opened
        }
    }
    return false;
}

bool Round::slow_link() {
    for (int tries = 0; tries < 40; ++tries) {
        const Rank rank = Rank(random_.below(std::uint64_t(job_->size())));
        const auto ports =
            direct_ ? std::uint64_t(job_->size()) : std::uint64_t(2 * job_->torus().dimensions());
        const auto port = std::uint32_t(random_.below(ports)) + (direct_ ? direct_ports : 0);
        try {
            const sim::Time low(random_.between(10'000, 1'000'000));
            job_->world().set_delay(job_->interface(rank, port), port, {low, 2 * low, 0.0, {}});
            result_.scene += fmt::format("; port {} of {} slowed", port, name(rank));
            return true;
        } catch (const std::invalid_argument&) {
            continue;
        }
    }
    return false;
}

void Round::strike() {
    const Fault fault = Fault(random_.below(fault_kinds));
    bool done = false;
    switch (fault) {
        case Fault::rank_killed:
            done = kill_rank();
            break;
        case Fault::rank_captured:
            done = capture_rank();
            break;
        case Fault::link_cut:
            done = cut_link();
            break;
        case Fault::link_slowed:
            done = slow_link();
            break;
    }
    if (!done) return;
    ++result_.faults[std::size_t(fault)];
    last_fault_ = job_->world().now();
}

// A packet that a captured rank may send to a neighbour. Anything is allowed except three lies that
// are known to be believed: that a link between others is dead, a packet in the name of a rank
// whose packets to there do not pass the enemy, and a wrong virtual channel in a packet that goes
// on to others.
bool Round::forge(PacketHeader& header, Rank enemy, Rank at, std::uint32_t port) {
    const auto ranks = std::uint64_t(job_->size());
    const auto rank_or_nonsense = [&](Rank usual) {
        const auto kind = random_.below(20);
        return std::uint32_t(kind == 0  ? random_.next()
                             : kind < 4 ? random_.below(ranks)
                                        : std::uint64_t(usual));
    };
    header.kind = std::uint8_t(random_.below(20) == 0
                                   ? random_.next()
                                   : random_.below(std::uint64_t(PacketKind::last_kind) + 1));
    header.source = rank_or_nonsense(enemy);
    header.destination = rank_or_nonsense(at);
    header.virtual_channel = std::uint8_t(random_.below(10) == 0 ? random_.below(9) : 0);
    header.grants = random_.below(15) == 0 ? random_.next() : random_.below(40) == 0 ? 1 : 0;
    header.hops = std::uint8_t(random_.below(4));
    header.context = std::uint32_t(random_.below(4));
    header.tag = Tag(random_.below(3));
    header.sequence = std::uint32_t(random_.below(8) == 0 ? random_.next() : random_.below(12));
    if (direct_ || header.destination == std::uint32_t(at) || header.source >= ranks ||
        header.destination >= ranks)
        return true;
    // On its way to somebody else.
    const auto into = routing::Direction::from_index(int(port)).opposite();
    Rank here = Rank(header.source);
    int dimension = -1;
    int turns = -1;
    for (const auto& hop : job_->torus().path(here, Rank(header.destination))) {
        if (std::exchange(dimension, hop.direction.dimension) != hop.direction.dimension) ++turns;
        header.virtual_channel = std::uint8_t(turns);
        if (here == enemy && hop.rank == at && hop.direction == into) return true;
        here = hop.rank;
    }
    return false;
}

// Each captured rank says something to one of its peers.
void Round::attack() {
    for (Rank enemy = 0; enemy < job_->size(); ++enemy) {
        if (!captured_[std::size_t(enemy)] || random_.below(6) != 0) continue;
        const Rank at = Rank(random_.below(std::uint64_t(job_->size())));
        std::uint32_t port = direct_ports + std::uint32_t(enemy);
        if (!direct_) {
            port = std::uint32_t(random_.below(std::uint64_t(2 * job_->torus().dimensions())));
            const auto direction = routing::Direction::from_index(int(port));
            if (job_->torus().neighbour(at, direction) != enemy) continue;
        }
        PacketHeader header{};
        if (dead_[std::size_t(at)] || !forge(header, enemy, at, port)) continue;
        std::vector<std::uint32_t> words(
            std::size_t(random_.below(4) == 0 ? random_.below(60) : 2 * random_.below(13)));
        for (std::uint32_t& word : words) {
            const auto kind = random_.below(5);
            word = kind == 0   ? std::uint32_t(random_.next())
                   : kind == 1 ? std::uint32_t(random_.below(4) | (1 + random_.below(3)) << 20)
                   : kind == 2 ? std::uint32_t(random_.below(2000))
                               : std::uint32_t(random_.below(3));
        }
        if (PacketKind(header.kind) == PacketKind::link_dead) {
            words.assign({std::uint32_t(enemy), std::uint32_t(random_.below(8))});
        }
        try {
            job_->world().inject(job_->interface(at, port), port, header,
                                 std::as_bytes(std::span(words)));
            ++result_.hostile_packets;
        } catch (const std::invalid_argument&) {
            continue;  // that link is gone
        }
    }
}

// A captured rank that answers nobody is considered dead after a while, as by a timeout.
void Round::end_captured() {
    for (Rank rank = 0; rank < job_->size(); ++rank) {
        if (!captured_[std::size_t(rank)]) continue;
        job_->end_captured(rank);
        last_fault_ = job_->world().now();
        if (!direct_) continue;
        for (Rank other = 0; other < job_->size(); ++other)
            if (job_->alive(other)) (*job_)[other].peer_died(rank, "it does not answer");
    }
}

// ---- judging ----

// Large messages take every shortest path, so each of them counts.
bool Round::crosses_fault(Rank from, Rank to) const {
    for (const auto first : routing::first_directions(job_->torus(), from, to)) {
        Rank here = from;
        for (const auto& hop : routing::path_by(job_->torus(), from, to, first)) {
            for (const DeadLink& link : dead_links_)
                if (link.at == here && link.direction == hop.direction) return true;
            here = hop.rank;
            if (dead_[std::size_t(here)]) return true;
        }
    }
    return false;
}

// Whether two ranks can no longer talk with each other.
bool Round::cut(Rank a, Rank b) const {
    if (dead_[std::size_t(a)] || dead_[std::size_t(b)]) return true;
    if (!direct_) return crosses_fault(a, b) || crosses_fault(b, a);
    return std::any_of(dead_pairs_.begin(), dead_pairs_.end(), [&](const auto& pair) {
        return pair == std::pair(a, b) || pair == std::pair(b, a);
    });
}

// Whether what two ranks say to each other goes to, or by, one of these.
bool Round::involved(Rank a, Rank b, const std::vector<bool>& ranks) const {
    if (ranks[std::size_t(a)] || ranks[std::size_t(b)]) return true;
    if (direct_) return false;
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
        for (const auto first : routing::first_directions(job_->torus(), from, to))
            for (const auto& hop : routing::path_by(job_->torus(), from, to, first))
                if (ranks[std::size_t(hop.rank)]) return true;
    return false;
}

bool Round::said(Rank on, const std::string& about) const {
    const std::string prefix = fmt::format("{}: ", on);
    return std::any_of(job_->log().begin(), job_->log().end(), [&](const std::string& line) {
        return line.rfind(prefix, 0) == 0 && mentions(line, about);
    });
}

void Round::judge_error(const Message& m, const Request& request, Rank on, bool sending) {
    const Error error = request.status().error;
    const char* end = sending ? "send" : "receive";
    const Rank peer = sending ? m.to : m.from;
    if (error == Error::unreachable) ++result_.unreachable;
    if (error == Error::protocol) ++result_.protocol;
    if (error == Error::none) return;
    const bool hostile = involved(m.from, m.to, captured_);
    if (error == Error::cancelled && m.way == Way::lonely) {
        ++result_.cancelled;
        return;
    }
    if (error != Error::unreachable &&
        !(hostile && (error == Error::protocol || error == Error::truncated)))
        return bad(fmt::format("{}: the {} ended with '{}'", name_of(m), end, describe(error)));
    if (!cut(m.from, m.to))
        return bad(fmt::format("{}: the {} ended with '{}' although the two can reach each other",
                               name_of(m), end, describe(error)));
    if (request.peer() != peer)
        return bad(
            fmt::format("{}: the error of the {} names rank {}", name_of(m), end, request.peer()));
    if (error == Error::truncated) return;
    const std::string why = (*job_)[on].state().fault_of(peer);
    if (why == describe(Error::unreachable) || !known_fault(why))
        bad(fmt::format("{}: the {} ended with '{}', but {} gives no reason of {}: {}", name_of(m),
                        end, describe(error), name(on), name(peer), why));
}

void Round::judge_receive(const Message& m) {
    const Status& status = m.receive.status();
    judge_error(m, m.receive, m.to, false);
    const bool hostile = involved(m.from, m.to, captured_);
    if (hostile) return;  // whatever came in its name
    if (status.error == Error::none) {
        if (m.way == Way::lonely)
            bad(fmt::format("{}: something came", name_of(m)));
        else if (status.bytes != m.bytes || status.source != m.from ||
                 (m.way != Way::flow && status.tag != m.tag))
            bad(fmt::format("{}: {} bytes came from rank {} with tag {}", name_of(m), status.bytes,
                            status.source, status.tag));
        else if (!filled(m.in.get(), m.bytes, seed_ + m.number))
            bad(fmt::format("{}: wrong bytes came", name_of(m)));
    } else if (m.in_reused && !std::all_of(m.in.get(), m.in.get() + m.bytes, [](std::byte byte) {
                   return byte == std::byte{0xee};
               })) {
        bad(fmt::format("{}: its memory was written to after it had ended", name_of(m)));
    }
}

void Round::judge_wildcards() {
    for (const Delivery& delivery : deliveries_) {
        const Status& status = delivery.status;
        const Rank source = status.source;
        if (source < 0 || source >= job_->size()) {
            bad(fmt::format("a receive from anybody at {} ended with '{}' and names rank {}",
                            name(delivery.at), describe(status.error), source));
            continue;
        }
        if (status.error == Error::unreachable) ++result_.unreachable;
        if (status.error == Error::protocol) ++result_.protocol;
        const bool hostile = involved(source, delivery.at, captured_);
        if (!hostile && status.error == Error::none && !delivery.right_bytes)
            bad(
                fmt::format("a receive from anybody at {} got {} bytes from {} with tag {}, which "
                            "nobody sent so",
                            name(delivery.at), status.bytes, name(source), status.tag));
        if (status.error != Error::none && !cut(source, delivery.at))
            bad(
                fmt::format("a receive from anybody at {} ended with '{}' for {}, which it can "
                            "reach",
                            name(delivery.at), describe(status.error), name(source)));
    }
    for (const auto& server : servers_)
        if (job_->alive(server->at) && server->open)
            bad(fmt::format("a cancelled receive from anybody at {} never ended",
                            name(server->at)));
    for (const auto& m : messages_)
        if (m->way == Way::wildcard && m->sent && !m->delivered && !cut(m->from, m->to))
            bad(fmt::format("{}: it never came", name_of(*m)));
}

// Whether a line that explains an error by a dead link names one that is dead.
bool Round::known_fault(std::string_view line) const {
    constexpr std::string_view words = "the link between rank ";
    const auto at = line.find(words);
    if (at == line.npos) return true;
    int a = -1;
    int b = -1;
    if (std::sscanf(std::string(line.substr(at + words.size())).c_str(), "%d and rank %d", &a,
                    &b) != 2 ||
        a < 0 || b < 0 || a >= job_->size() || b >= job_->size())
        return false;
    if (dead_[std::size_t(a)] || dead_[std::size_t(b)]) return true;
    for (const DeadLink& link : dead_links_)
        if (link.at == a && job_->torus().neighbour(a, link.direction) == b) return true;
    return false;
}

void Round::judge_log() {
    for (const std::string& line : job_->log())
        if (!known_fault(line)) bad("the log blames a link that lives: " + line);
    // Each surviving neighbour names the rank that dies.
    for (Rank victim = 0; victim < job_->size(); ++victim) {
        if (!dead_[std::size_t(victim)]) continue;
        for (int i = 0; i < 2 * job_->torus().dimensions(); ++i) {
            const auto other = job_->torus().neighbour(victim, routing::Direction::from_index(i));
            if (other && job_->alive(*other) && !said(*other, name(victim)))
                bad(fmt::format("{} never said anything of its dead neighbour {}", name(*other),
                                name(victim)));
        }
    }
    const auto names_other_end = [&](Rank at, Rank other) {
        if (job_->alive(at) && !said(at, name(other)))
            bad(fmt::format("{} never named {}, to which its link was cut", name(at), name(other)));
    };
    for (const DeadLink& link : dead_links_)
        names_other_end(link.at, *job_->torus().neighbour(link.at, link.direction));
}

void Round::judge_what_is_left() {
    if (!job_->quiet()) bad("something still waits");
    if (!job_->credits_home()) bad("credits are missing");
    if (job_->world().in_flight() != 0) bad("packets are left on live links");
}

void Round::judge() {
    for (const auto& message : messages_) {
        const Message& m = *message;
        if (m.sent && job_->alive(m.from)) {
            ++result_.requests;
            if (!m.send.complete())
                bad(fmt::format("{}: the send never ended", name_of(m)));
            else
                judge_error(m, m.send, m.from, true);
        }
        if (m.posted && job_->alive(m.to)) {
            ++result_.requests;
            if (!m.receive.complete())
                bad(fmt::format("{}: the receive never ended", name_of(m)));
            else
                judge_receive(m);
        }
    }
    judge_wildcards();
    judge_log();
    judge_what_is_left();
}

// When all has settled every rank knows whom it can reach: a message between any two succeeds
// exactly then, and fails at once otherwise.
void Round::exchange_afterwards() {
    constexpr Context context = 9;
    const std::size_t first = messages_.size();
    for (Rank from = 0; from < job_->size(); ++from)
        for (Rank to = 0; to < job_->size(); ++to) {
            messages_.push_back(std::make_unique<Message>());
            Message& m = *messages_.back();
            m.number = messages_.size() - 1;
            m.from = from;
            m.to = to;
            m.context = context;
            m.bytes = random_.below(2) == 0 ? 20 : 3 * eager_limit_;
            issue_send(m);
            issue_receive(m);
        }
    settle();
    for (std::size_t n = first; n < messages_.size(); ++n) {
        const Message& m = *messages_[n];
        const Error expected = cut(m.from, m.to) ? Error::unreachable : Error::none;
        const auto look = [&](const Request& request, const char* end) {
            ++result_.requests;
            if (!request.complete())
                bad(fmt::format("afterwards, {}: the {} never ended", name_of(m), end));
            else if (request.status().error != expected)
                bad(fmt::format("afterwards, {}: the {} ended with '{}', expected '{}'", name_of(m),
                                end, describe(request.status().error), describe(expected)));
        };
        if (m.sent) look(m.send, "send");
        if (m.posted) look(m.receive, "receive");
        if (m.posted && expected == Error::none && m.receive.complete() &&
            !filled(m.in.get(), m.bytes, seed_ + m.number))
            bad(fmt::format("afterwards, {}: wrong bytes came", name_of(m)));
    }
}

RoundResult Round::run() try {
    const auto faults = 1 + random_.below(4);
    const std::size_t span = messages_.size() * 4 / faults;
    for (std::uint64_t n = 0; n < faults; ++n) {
        // Now and then several at the same moment.
        const auto steps = random_.below(4) == 0 ? 0 : random_.below(span + 1);
        for (auto left = steps; left > 0; --left) {
            step();
            attack();
        }
        strike();
    }
    while (sends_ < messages_.size() || receives_ < messages_.size()) {
        step();
        attack();
    }
    for (int n = 0; n < 30; ++n) {
        turn();
        attack();
    }
    end_captured();
    settle();
    closing_ = true;
    settle();
    result_.slowest_ms = double((job_->world().now() - last_fault_).count()) / 1e6;
    if (result_.count() != 0 && result_.slowest_ms > most_milliseconds)
        bad(fmt::format("the last request ended {:.0f} ms after the last fault, expected {:.0f}",
                        result_.slowest_ms, most_milliseconds));
    judge();
    if (result_.failure.empty()) {
        exchange_afterwards();
        judge_what_is_left();
    }
    if (!result_.failure.empty()) result_.failure += fmt::format("\n{}", job_->report());
    return result_;
} catch (const std::exception& error) {
    bad(error.what());
    result_.failure += fmt::format("\n{}", job_->report());
    return result_;
}

}  // namespace

std::string_view describe(Fault fault) {
    switch (fault) {
        case Fault::rank_killed:
            return "ranks killed";
        case Fault::link_cut:
            return "links cut";
        case Fault::rank_captured:
            return "ranks captured";
        case Fault::link_slowed:
            return "links slowed";
    }
    return "";
}

std::uint64_t RoundResult::count() const {
    return std::accumulate(faults.begin(), faults.end(), std::uint64_t{0});
}

RoundResult run_fault_round(std::uint64_t seed) {
    return Round(seed).run();
}

}  // namespace torusmp::core::testing
