#include "core/runtime.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>

#include <cstring>
#include <stdexcept>

#include "routing/ways.h"

namespace torusmp::core {
namespace {

using transport::Clock;

// Direct peers that are no neighbours get fewer slots: there may be many of them.
constexpr int most_far_tokens = 16;

// Polls without the clock between two looks at it, where a poll costs less than a look or more.
constexpr unsigned polls_per_look = 64;
constexpr unsigned kernel_polls_per_look = 4;
// Where others want the core, polling before sleep is cut down to this part of Options::spin.
constexpr int spin_among_rivals = 8;
// Turns given to other ranks before sleeping, where ranks outnumber cores.
constexpr unsigned yields_when_crowded = 16;

// One for the host and one a wire.
constexpr std::size_t most_interfaces = 4;

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

Runtime::Runtime(Options options, const InterfaceFactory& make_interface, std::vector<Wire> wires)
    : options_((check(options), std::move(options))),
      locking_(options_.threads || options_.progress_thread),
      wires_(std::move(wires)) {
    loopback_ = std::make_unique<Loopback>(options_.tokens, [this] {
        if (asleep_) wake_sleepers();
    });
    peers_.resize(std::size_t(size()));
    for (Rank rank = 0; rank < size(); ++rank) peers_[rank].rank = rank;
    local_.resize(peers_.size());
    for (const Rank rank : options_.direct) local_[std::size_t(rank)] = true;

    auto self = std::make_unique<Connection>();
    self->channel = loopback_.get();
    self->peer = options_.rank;
    self->all_tokens = self->tokens = transport::TokenWord(options_.tokens);
    self->grant_at[0] = std::uint8_t(std::max(1, options_.tokens / 2));
    loopback_->owner = self.get();
    peers_[options_.rank].via = peers_[options_.rank].comes_by = self.get();
    connections_.push_back(std::move(self));

    open_interfaces(make_interface);
    polls_per_look_ = polls_per_look;
    for (const transport::Interface* it : interfaces_)
        if (it->polls_kernel()) polls_per_look_ = kernel_polls_per_look;
    spin_ = options_.spin.count();
}

void Runtime::open_interfaces(const InterfaceFactory& make_interface) {
    if (1 + wires_.size() > most_interfaces)
        throw std::invalid_argument(fmt::format("wires: found {}, expected at most {}",
                                                wires_.size(), most_interfaces - 1));
    carriers_.resize(1 + wires_.size());
    for (std::size_t i = 0; i < carriers_.size(); ++i) {
        const auto ports = port_options(i);
        if (ports.empty() && !wires_.empty()) continue;
        carriers_[i] = i == 0 ? make_interface(ports) : wires_[i - 1].make(ports);
        interfaces_.push_back(carriers_[i].get());
    }
    if (!interfaces_.empty()) return;
    // A rank alone has nobody to talk to, but memory to allocate.
    carriers_.front() = make_interface({});
    interfaces_.push_back(carriers_.front().get());
}

Runtime::~Runtime() {
    stopping_ = true;
    if (progress_thread_.joinable()) {
        wake_sleepers();
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

// The host, by its lowest rank; then what each carrier wants its peers to know, with its length in
// front.
std::vector<std::byte> Runtime::address() const {
    std::vector<std::byte> all;
    const auto add = [&](transport::ConstBytes bytes) {
        for (const std::byte byte : bytes) all.push_back(byte);
    };
    const auto add_number = [&](std::size_t value) {
        const auto number = std::uint32_t(value);
        add(std::as_bytes(std::span(&number, 1)));
    };
    Rank lowest = options_.rank;
    for (const Rank rank : options_.direct) lowest = std::min(lowest, rank);
    add_number(std::size_t(lowest));
    for (const auto& carrier : carriers_) {
        const auto bytes = carrier != nullptr ? carrier->address() : std::vector<std::byte>();
        add_number(bytes.size());
        add(bytes);
    }
    return all;
}

namespace {

// Takes a number off the front of an address.
std::uint32_t take_number(transport::ConstBytes& bytes, const std::string& whose) {
    std::uint32_t number = 0;
    if (bytes.size() < sizeof number)
        throw std::runtime_error(fmt::format("the address of {} is cut short", whose));
    std::memcpy(&number, bytes.data(), sizeof number);
    bytes = bytes.subspan(sizeof number);
    return number;
}

}  // namespace

// The part of a peer's address that this carrier of ours understands.
transport::ConstBytes Runtime::address_of(Rank peer, std::size_t carrier) const {
    transport::ConstBytes rest = addresses_[std::size_t(peer)];
    take_number(rest, name_of(peer));
    for (std::size_t i = 0;; ++i) {
        const std::uint32_t length = take_number(rest, name_of(peer));
        if (length > rest.size())
            throw std::runtime_error(fmt::format("the address of {} is cut short", name_of(peer)));
        if (i == carrier) return rest.first(length);
        rest = rest.subspan(length);
    }
}

void Runtime::learn_hosts() {
    for (Rank rank = 0; rank < size(); ++rank) {
        transport::ConstBytes address = addresses_[std::size_t(rank)];
        // One that is dead already has none.
        const auto host =
            address.empty() ? std::uint32_t(rank) : take_number(address, name_of(rank));
        if (host > std::uint32_t(rank))
            throw std::runtime_error(fmt::format(
                "the address of {} names rank {} as the lowest of its host; expected 0 to {}",
                name_of(rank), host, rank));
        hosts_.push_back(Rank(host));
    }
}

// What carries a connection, by its place in carriers_.
std::size_t Runtime::carrier_of(Rank peer, std::optional<routing::Direction> link) const {
    if (local_[std::size_t(peer)] || wires_.empty()) return 0;
    for (std::size_t i = 0; i < wires_.size(); ++i)
        if (!wires_[i].carries || wires_[i].carries(peer, link)) return 1 + i;
    throw std::invalid_argument(fmt::format(
        "none of {} wires carries {} to {}; expected one that does", wires_.size(),
        link ? fmt::format("link {}{}", link->dimension, link->sign > 0 ? '+' : '-') : "packets",
        name_of(peer)));
}

// The ports through which this rank talks by one carrier: one for each link, and one for each rank
// that it reaches without.
std::vector<transport::PortOptions> Runtime::port_options(std::size_t carrier) const {
    std::vector<transport::PortOptions> ports;
    // The largest packet: a piece of a large message with its header, or a body of core's own.
    const std::size_t slot_bytes = options_.body();
    for (Rank rank = 0; rank < size(); ++rank) {
        if (rank == options_.rank || !(local_[std::size_t(rank)] || options_.far_direct)) continue;
        if (!all_direct() && options_.torus.distance(options_.rank, rank) == 1) continue;  // a link
        if (carrier_of(rank, std::nullopt) != carrier) continue;
        transport::PortOptions port{direct_port_base + std::uint32_t(rank), 1, {}, slot_bytes};
        port.tokens[0] = std::uint8_t(tokens_between(options_.rank, rank));
        ports.push_back(port);
    }
    if (all_direct()) return ports;
    for (int i = 0; i < 2 * options_.torus.dimensions(); ++i) {
        const auto direction = routing::Direction::from_index(i);
        const auto neighbour = options_.torus.neighbour(options_.rank, direction);
        if (!neighbour || carrier_of(*neighbour, direction) != carrier) continue;
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
    ports.mutual = link.has_value();
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
    const std::size_t carrier = carrier_of(peer, link);
    connection.interface = carriers_[carrier].get();
    connection.channel = &connection.interface->connect(address_of(peer, carrier), ports);
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
    learn_hosts();
    for (int i = 0; i < 2 * options_.torus.dimensions(); ++i) {
        const auto direction = routing::Direction::from_index(i);
        const auto neighbour = options_.torus.neighbour(options_.rank, direction);
        if (!neighbour) continue;
        if (!all_direct())
            links_[i] = &open_connection(*neighbour, direction);
        else if (peers_[*neighbour].via == nullptr)
            open_connection(*neighbour, std::nullopt);
    }
    if (!all_direct())
        for (Peer& peer : peers_) route(peer);
    if (options_.progress_thread)
        progress_thread_ = std::thread([this] { progress_thread_main(); });
}

// The way to a peer over the links; none where it is reached directly, on first use.
void Runtime::route(Peer& peer) {
    const routing::Torus& torus = options_.torus;
    const Rank self = options_.rank;
    const int distance = torus.distance(self, peer.rank);
    if (distance == 0) return;
    const auto here = torus.coordinates(self);
    const auto there = torus.coordinates(peer.rank);
    for (int d = 0; d < torus.dimensions(); ++d)
        if (here[std::size_t(d)] != there[std::size_t(d)]) peer.unlike |= std::uint8_t(1u << d);
    peer.onward = links_[torus.next_hop(self, peer.rank)->direction.index()];
    if (distance > 1 && (local_[std::size_t(peer.rank)] || options_.far_direct)) return;
    const auto path = torus.path(peer.rank, self);
    peer.via = peer.onward;
    peer.comes_by = links_[path.back().direction.opposite().index()];
    if (distance > 1 && peer.comes_by->channel->places()) peer.placing = peer.comes_by->interface;
    for (const auto direction : routing::first_directions(torus, self, peer.rank))
        if (links_[direction.index()]->interface->separate_links())
            peer.ways_out |= std::uint16_t(1u << direction.index());
    if ((peer.ways_out & (peer.ways_out - 1)) == 0) peer.ways_out = 0;  // one way is no choice
}

// Whether packets of a spread message may come from that peer by that connection.
bool Runtime::arrives_by(Peer& peer, const Connection& connection) {
    if (peer.comes_by == &connection) return true;
    if (!connection.link || peer.comes_by == nullptr || !peer.comes_by->link) return false;
    if (peer.ways_in == 0)
        for (const auto first :
             routing::first_directions(options_.torus, peer.rank, options_.rank)) {
            const auto path = routing::path_by(options_.torus, peer.rank, options_.rank, first);
            peer.ways_in |= std::uint16_t(1u << path.back().direction.opposite().index());
        }
    return (peer.ways_in >> connection.link->index() & 1) != 0;
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

void Runtime::stir() {
    Guard guard(*this);
    stirred_ = true;
    progress_unlocked();
}

bool Runtime::poll_interfaces() {
    bool moved = false;
    for (transport::Interface* it : interfaces_) moved |= it->poll(*this) > 0;
    return moved;
}

bool Runtime::progress_unlocked() {
    bool moved = poll_interfaces();
    moved |= std::exchange(stirred_, false);
    if (!loopback_->empty()) moved |= loopback_->poll(*this) > 0;
    if (!backlog_.empty()) moved |= flush_backlog();
    if (moved && !tasks_.empty()) advance_tasks();
    if (moved) moves_.store(moves_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    if (asked_.load(std::memory_order_relaxed) != 0) [[unlikely]]
        answer_asked();
    // Others may sleep although what they wait for has just been done here.
    if (moved && (asleep_ || others_asleep_ != 0)) wake_sleepers();
    return moved;
}

void Runtime::wake_sleepers() noexcept {
    interfaces_.front()->wake();
    moved_.notify_all();
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
    } else if (idle_turns_ % runtime_.polls_per_look_ != 0) {
        pause();
        return;
    }
    const auto now = Clock::now();
    if (began_ == Clock::time_point{}) began_ = warned_ = now;
    const std::chrono::nanoseconds spin(runtime_.spin_.load(std::memory_order_relaxed));
    if (!options.oversubscribed && now - began_ < spin) return;
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
// may have been what it waits for, and nobody would wake it again. One thread sleeps in the
// interfaces, the others until that one, or any, has moved something.
void Runtime::sleep_until(Clock::time_point deadline, std::uint64_t moves_seen) {
    std::unique_lock<std::recursive_mutex> lock(mutex_, std::defer_lock);
    if (locking_) lock.lock();
    if (asleep_) {
        ++others_asleep_;
        const auto news = [&] { return !asleep_ || moves_ != moves_seen; };
        if (deadline == Clock::time_point::max())
            moved_.wait(lock, news);
        else
            moved_.wait_until(lock, deadline, news);
        --others_asleep_;
        return;
    }
    for (transport::Interface* it : interfaces_) it->prepare_sleep();
    progress_unlocked();
    if (moves_.load(std::memory_order_relaxed) == moves_seen && !stopping_) {
        asleep_ = true;
        if (locking_) lock.unlock();
        sleep_in_interfaces(deadline);
        if (rivals_.slept())
            spin_ = options_.spin.count() / (rivals_.present() ? spin_among_rivals : 1);
        if (locking_) lock.lock();
        asleep_ = false;
        if (others_asleep_ != 0) moved_.notify_all();  // one of them watches from now on
    }
    for (transport::Interface* it : interfaces_) it->cancel_sleep();
}

void Runtime::sleep_in_interfaces(Clock::time_point deadline) {
    if (interfaces_.size() == 1) return interfaces_.front()->sleep(deadline);
    std::array<pollfd, most_interfaces> watched{};
    for (std::size_t i = 0; i < interfaces_.size(); ++i)
        watched[i] = {interfaces_[i]->descriptor(), POLLIN, 0};
    // Interfaces with time limits of their own want to be looked at now and then.
    const auto most = std::chrono::seconds(1);
    const auto left = std::clamp<std::chrono::nanoseconds>(deadline - Clock::now(),
                                                           std::chrono::nanoseconds(0), most);
    const timespec time{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
    ppoll(watched.data(), interfaces_.size(), &time, nullptr);
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

void Runtime::ask(unsigned what) noexcept {
    asked_ |= what;
    interfaces_.front()->wake();
}

void Runtime::answer_asked() {
    const unsigned asked = asked_.exchange(0);
    if ((asked & report_asked) != 0) log(report());
    if ((asked & interrupt_asked) != 0 && options_.on_interrupt) {
        options_.on_interrupt();
        stirred_ = true;  // what it did may have ended a wait
    }
}

void* Runtime::allocate(std::size_t bytes, std::size_t alignment) {
    Guard guard(*this);
    return interfaces_.front()->allocate(bytes, alignment);
}

void Runtime::free(void* memory) {
    Guard guard(*this);
    interfaces_.front()->free(memory);
}

}  // namespace torusmp::core
