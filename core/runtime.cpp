#include "core/runtime.h"

#include <fmt/format.h>
#include <sched.h>

#include <stdexcept>

namespace torusmp::core {
namespace {

using transport::Clock;

// Ports by use: links by direction, then one for each rank that connects directly.
constexpr std::uint32_t direct_port_base = 2 * routing::max_dimensions;

// Direct peers that are no neighbours get fewer slots: there may be many of them.
constexpr int most_far_tokens = 16;

// Polls without the clock between two looks at it.
constexpr unsigned polls_per_look = 64;
// Turns given to other ranks before sleeping, where ranks outnumber cores.
constexpr unsigned yields_when_crowded = 16;

inline void pause() {
    __builtin_ia32_pause();
}

void check(const Options& options) {
    const auto refuse = [](std::string_view what, auto found, std::string_view expected) {
        throw std::invalid_argument(
            fmt::format("{}: found {}, expected {}", what, found, expected));
    };
    if (options.rank < 0 || options.rank >= options.torus.size())
        refuse("rank", options.rank, fmt::format("0 to {}", options.torus.size() - 1));
    if (options.tokens < 2 || options.tokens > transport::max_tokens)
        refuse("tokens", options.tokens, fmt::format("2 to {}", transport::max_tokens));
    if (options.relay_tokens < 2 || options.relay_tokens > transport::max_tokens)
        refuse("relay tokens", options.relay_tokens, fmt::format("2 to {}", transport::max_tokens));
    for (Rank rank : options.direct)
        if (rank < 0 || rank >= options.torus.size())
            refuse("direct rank", rank, fmt::format("0 to {}", options.torus.size() - 1));
}

}  // namespace

Runtime::Runtime(Options options, const InterfaceFactory& make_interface)
    : options_((check(options), std::move(options))),
      locking_(options_.threads || options_.progress_thread) {
    loopback_ = std::make_unique<Loopback>(options_.tokens);
    peers_.resize(std::size_t(size()));
    for (Rank rank = 0; rank < size(); ++rank) peers_[rank].rank = rank;

    auto self = std::make_unique<Connection>();
    self->channel = loopback_.get();
    self->peer = options_.rank;
    self->all_tokens = self->tokens = transport::TokenWord(options_.tokens);
    self->grant_at[0] = std::uint8_t(std::max(1, options_.tokens / 2));
    loopback_->owner = self.get();
    peers_[options_.rank].via = peers_[options_.rank].comes_by = self.get();
    connections_.push_back(std::move(self));

    interface_ = make_interface(port_options());
}

Runtime::~Runtime() {
    stopping_ = true;
    if (progress_thread_.joinable()) {
        interface_->wake();
        progress_thread_.join();
    }
    std::vector<Unexpected*> left;
    matching_.for_each_unexpected([&](Unexpected& message) { left.push_back(&message); });
    for (Unexpected* message : left) pool_.give(message, sizeof(Unexpected) + message->bytes);
    for (Peer& peer : peers_)
        for (const auto& flow : peer.receive_flows)
            while (Unexpected* message = flow->unexpected) {
                flow->unexpected = message->next_in_flow;
                pool_.give(message, sizeof(Unexpected) + message->bytes);
            }
    for (const auto& connection : connections_) {
        while (!connection->messages.empty())
            connection->messages.pop()->drop(*this, Error::cancelled);
        while (!connection->streams.empty())
            connection->streams.pop()->drop(*this, Error::cancelled);
    }
}

int Runtime::tokens_between(Rank a, Rank b) const {
    return options_.torus.distance(a, b) <= 1 ? options_.tokens
                                              : std::min(options_.tokens, most_far_tokens);
}

std::vector<transport::PortOptions> Runtime::port_options() const {
    std::vector<transport::PortOptions> ports;
    // The largest packet: a piece of a large message with its header, or a body of core's own.
    const std::size_t slot_bytes = options_.fragment() + sizeof(DataBody);
    for (Rank rank : options_.direct) {
        if (rank == options_.rank) continue;
        transport::PortOptions port{direct_port_base + std::uint32_t(rank), 1, {}, slot_bytes};
        port.tokens[0] = std::uint8_t(tokens_between(options_.rank, rank));
        ports.push_back(port);
    }
    if (!options_.direct.empty()) return ports;
    for (int i = 0; i < 2 * options_.torus.dimensions(); ++i) {
        const auto direction = routing::Direction::from_index(i);
        if (!options_.torus.neighbour(options_.rank, direction)) continue;
        transport::PortOptions port{std::uint32_t(i), options_.torus.dimensions(), {}, slot_bytes};
        port.tokens.fill(0);
        for (int k = 0; k < port.classes; ++k)
            port.tokens[k] = std::uint8_t(k == 0 ? options_.tokens : options_.relay_tokens);
        ports.push_back(port);
    }
    return ports;
}

Connection& Runtime::open_connection(Rank peer, std::optional<routing::Direction> link) {
    transport::ChannelOptions ports;
    ports.local_port = link ? std::uint32_t(link->index()) : direct_port_base + std::uint32_t(peer);
    ports.remote_port = link ? std::uint32_t(link->opposite().index())
                             : direct_port_base + std::uint32_t(options_.rank);
    auto owned = std::make_unique<Connection>();
    Connection& connection = *owned;
    connections_.push_back(std::move(owned));
    connection.peer = peer;
    connection.link = link;
    connection.classes = link ? options_.torus.dimensions() : 1;
    for (int k = 0; k < connection.classes; ++k) {
        const int tokens = !link    ? tokens_between(options_.rank, peer)
                           : k == 0 ? options_.tokens
                                    : options_.relay_tokens;
        connection.all_tokens += transport::TokenWord(tokens) * transport::token_of(k);
        connection.grant_at[k] = std::uint8_t(std::max(1, tokens / 2));
    }
    connection.tokens = connection.all_tokens;
    const bool ring = link && options_.torus.is_ring(link->dimension);
    connection.tokens_to_enter = connection.tokens_to_turn = ring ? 2 : 1;
    if (!link) peers_[peer].via = peers_[peer].comes_by = &connection;
    connection.channel = &interface_->connect(addresses_[peer], ports);
    connection.channel->owner = &connection;
    return connection;
}

void Runtime::connect(std::vector<std::vector<std::byte>> addresses_by_rank) {
    Guard guard(*this);
    if (addresses_by_rank.size() != peers_.size())
        throw std::invalid_argument(
            fmt::format("addresses: found {}, expected one for each of {} ranks",
                        addresses_by_rank.size(), peers_.size()));
    addresses_ = std::move(addresses_by_rank);
    const bool direct = !options_.direct.empty();
    for (int i = 0; i < 2 * options_.torus.dimensions(); ++i) {
        const auto direction = routing::Direction::from_index(i);
        const auto neighbour = options_.torus.neighbour(options_.rank, direction);
        if (!neighbour) continue;
        if (!direct)
            links_[i] = &open_connection(*neighbour, direction);
        else if (peers_[*neighbour].via == nullptr)
            open_connection(*neighbour, std::nullopt);
    }
    if (!direct)
        for (Peer& peer : peers_) {
            const auto path = options_.torus.path(peer.rank, options_.rank);
            if (path.empty()) continue;
            peer.via = links_[options_.torus.next_hop(options_.rank, peer.rank)->direction.index()];
            peer.comes_by = links_[path.back().direction.opposite().index()];
        }
    if (options_.progress_thread)
        progress_thread_ = std::thread([this] { progress_thread_main(); });
}

void Runtime::on_connect(std::uint32_t port) {
    const std::uint32_t rank = port - direct_port_base;
    if (port < direct_port_base || rank >= peers_.size() || peers_[rank].via != nullptr) return;
    open_connection(Rank(rank), std::nullopt);
    stirred_ = true;
}

void Runtime::open(Request& request, Buffer buffer, Rank peer) {
    request.buffer_ = buffer;
    request.peer_ = peer;
    request.status_ = Status{};
    request.complete_.store(false, std::memory_order_relaxed);
    ++open_requests_;
}

void Runtime::complete(Request& request, Error error) {
    request.status_.error = error;
    --open_requests_;
    request.complete_.store(true, std::memory_order_release);
}

bool Runtime::progress() {
    Guard guard(*this);
    return progress_unlocked();
}

bool Runtime::progress_unlocked() {
    bool moved = interface_->poll(*this) > 0;
    moved |= std::exchange(stirred_, false);
    if (!loopback_->empty()) moved |= loopback_->poll(*this) > 0;
    if (!backlog_.empty()) moved |= flush_backlog();
    if (moved && !tasks_.empty()) advance_tasks();
    if (moved) moves_.store(moves_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    if (report_wanted_.load(std::memory_order_relaxed)) [[unlikely]] {
        report_wanted_ = false;
        log(report());
    }
    // Others may sleep although what they wait for has just been done here.
    if (moved && sleepers_ != 0) interface_->wake();
    return moved;
}

bool Runtime::advance_tasks() {
    // A task may add tasks; those wait for the next turn.
    bool finished = false;
    for (std::size_t i = 0; i < tasks_.size();) {
        Task* task = tasks_[i];
        if (task->advance()) {
            tasks_.erase(tasks_.begin() + std::ptrdiff_t(i));
            finished = true;
        } else {
            ++i;
        }
    }
    return finished;
}

void Runtime::add_task(Task& task) {
    Guard guard(*this);
    if (!task.advance()) tasks_.push_back(&task);
}

void Runtime::wait(Request& request, std::string_view what) {
    if (request.complete()) return;
    wait_until([&] { return request.complete(); }, what);
}

void Runtime::Waiter::turn() {
    runtime_.progress();
    // Another thread may have moved what this one waits for, since it last looked.
    if (const std::uint64_t moves = runtime_.moves_.load(std::memory_order_acquire);
        moves != moves_seen_) {
        moves_seen_ = moves;
        idle_turns_ = 0;
        began_ = {};
        return;
    }
    ++idle_turns_;
    const Options& options = runtime_.options_;
    if (options.oversubscribed) {
        // The peer can only answer when it has the core: hand it over, and sleep if that does not
        // help. Waking a sleeper costs more than a few turns of all ranks.
        if (idle_turns_ <= yields_when_crowded) {
            sched_yield();
            return;
        }
    } else if (idle_turns_ % polls_per_look != 0) {
        pause();
        return;
    }
    const auto now = Clock::now();
    if (began_ == Clock::time_point{}) began_ = warned_ = now;
    if (!options.oversubscribed && now - began_ < options.spin) return;
    if (options.watchdog.count() != 0 && now - warned_ >= options.watchdog) {
        const double seconds = std::chrono::duration<double>(now - began_).count();
        runtime_.log(fmt::format("{} has waited for {:.1f} s in {}\n{}",
                                 runtime_.name_of(runtime_.rank()), seconds, what_,
                                 runtime_.report()));
        warned_ = now;
    }
    runtime_.sleep_until(
        options.watchdog.count() != 0 ? warned_ + options.watchdog : Clock::time_point::max(),
        moves_seen_);
}

// Sleeps unless something has moved since the caller saw `moves_seen`: with several threads that
// may have been what it waits for, and nobody would wake it again.
void Runtime::sleep_until(Clock::time_point deadline, std::uint64_t moves_seen) {
    {
        Guard guard(*this);
        interface_->prepare_sleep();
        progress_unlocked();
        if (moves_.load(std::memory_order_relaxed) != moves_seen) {
            // Who sleeps already has been woken by progress_unlocked(), where it moved something.
            if (sleepers_ == 0) interface_->cancel_sleep();
            return;
        }
        ++sleepers_;
    }
    interface_->sleep(deadline);
    Guard guard(*this);
    --sleepers_;
}

void Runtime::progress_thread_main() {
    while (!stopping_) {
        const std::uint64_t moves = moves_.load(std::memory_order_acquire);
        if (progress())
            std::this_thread::yield();
        else
            sleep_until(Clock::time_point::max(), moves);
    }
}

void Runtime::request_report() noexcept {
    report_wanted_ = true;
    interface_->wake();
}

void* Runtime::allocate(std::size_t bytes, std::size_t alignment) {
    Guard guard(*this);
    return interface_->allocate(bytes, alignment);
}

void Runtime::free(void* memory) {
    Guard guard(*this);
    interface_->free(memory);
}

}  // namespace torusmp::core
