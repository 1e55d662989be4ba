// The Runtime: one rank of a torus, its connections and everything in flight.
//
// This is what the front ends stand on. A Runtime is an ordinary object; a process may hold
// hundreds (the tests do, over the sim transport). It owns its transport interface and all protocol
// state; requests, buffers and layouts belong to the caller until they are complete.
//
// Threads: with Options::threads false, one thread at a time may call, and no lock is taken. With
// it true any thread may call at any time. request_report() may be called from a signal handler.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/connection.h"
#include "core/id_table.h"
#include "core/loopback.h"
#include "core/matching.h"
#include "core/nowhere.h"
#include "core/peer.h"
#include "core/pool.h"
#include "core/request.h"
#include "core/rivals.h"
#include "core/transport/transport.h"
#include "routing/torus.h"

namespace torusmp::core {

// Ports by use: links by direction, then one for each rank that connects directly.
inline constexpr std::uint32_t direct_port_base = 2 * routing::max_dimensions;

struct Options {
    routing::Torus torus;
    Rank rank = 0;
    // Ranks that are reached directly, without a link: those of this host, this one included. The
    // others are reached over the links, beyond the neighbours by relay. Empty: links only.
    std::vector<Rank> direct;
    std::size_t eager_limit = 16384;  // bytes; messages of this size and more go by remote write
    // Messages of this size and more are spread over all shortest paths, where links are separate
    // wires.
    std::size_t spread_limit = 65536;  // bytes
    bool far_direct = false;  // ranks beyond the links are reached directly: the network forwards
    std::size_t direct_limit = 2048;  // bytes; flows store from here on where memory is mapped
    int tokens = 64;                  // receive slots of a connection, for packets of its own ends
    int relay_tokens = 16;            // and for each further slot class
    std::chrono::nanoseconds spin = std::chrono::microseconds(20);  // polling before sleeping
    bool oversubscribed = false;   // more ranks than cores: hardly poll, sleep
    bool threads = false;          // several threads call
    bool progress_thread = false;  // relays and remote writes move while the program computes
    std::chrono::nanoseconds watchdog = std::chrono::seconds(60);  // zero: off
    // Where reports of waits and faults go: whole lines without a newline at the end.
    std::function<void(std::string_view)> log;
    std::function<std::string(Rank)> name_of;  // how messages call a rank; default "rank N"
    std::function<void()> on_interrupt = {};   // see Runtime::interrupt()
    // Where faults of links and ranks go, which may end the job for a reason that others know
    // better; none: to log.
    std::function<void(std::string_view)> log_fault = {};

    // The largest body of a packet.
    std::size_t body() const { return std::max<std::size_t>(eager_limit, 4096); }
    // Payload of one packet of a large message: so much that the packet with its headers fills a
    // power of two, and so whole packets of a network that sends those.
    std::size_t fragment() const {
        return body() - sizeof(transport::PacketHeader) - sizeof(DataBody);
    }
};

// Something that the progress engine advances: a collective's schedule. The owner keeps it alive
// until advance() has returned true.
class Task {
  public:
    // Called when anything has moved. True: finished, forget this task.
    virtual bool advance() = 0;
    // What it waits for, for reports.
    virtual std::string describe() const = 0;
    // Called now and then while a wait of this process lasts long: time to find out why.
    virtual void linger() {}

  protected:
    ~Task() = default;
};

// Reads what ranks tell each other in a context beside its messages: rare and short, no receive
// waits for it, and a rank that has no reader for the context ignores it. Called under the
// Runtime's lock.
class NoteReader {
  public:
    // False: such a note cannot be.
    virtual bool on_note(Rank source, Tag tag, transport::ConstBytes note) = 0;
    // The Runtime ends before its reader.
    virtual void on_end() = 0;

  protected:
    ~NoteReader() = default;
};

class Runtime final : private transport::Sink {
  public:
    static constexpr std::size_t longest_note = 320;  // bytes

    using InterfaceFactory = std::function<std::unique_ptr<transport::Interface>(
        const std::vector<transport::PortOptions>&)>;

    // What carries connections to ranks that are not in Options::direct.
    struct Wire {
        InterfaceFactory make;
        // Whether it carries this link or, without one, the connection to this far rank; the first
        // wire that does takes it, so both ends must come to the same answer. Empty: all.
        std::function<bool(Rank peer, std::optional<routing::Direction> link)> carries = {};
    };

    // Opens the interfaces with the ports this rank needs: one to the ranks in Options::direct and
    // one for each wire that carries something; without wires the first serves all. All ranks name
    // the same wires in the same order. Memory comes from the first that is there. Then the
    // addresses of all ranks are exchanged (bootstrap) and given to connect(). Throws
    // std::invalid_argument for options that cannot be, std::runtime_error for what a transport
    // refuses.
    explicit Runtime(Options options, const InterfaceFactory& make_interface,
                     std::vector<Wire> wires = {});
    ~Runtime();
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    std::vector<std::byte> address() const;
    // Begins to connect the links. A peer that cannot be reached shows as a fault when the Runtime
    // next runs; so it does where a connection is made later, on first use.
    void connect(std::vector<std::vector<std::byte>> addresses_by_rank);
    // Waits until all links are up, however long their other ends take; a progress thread begins
    // with that. Throws std::runtime_error that names the link that does not come up and says why;
    // keeps_going: it is reported like any other fault instead.
    void await_links(bool keeps_going);
    // Tells all peers that nothing more comes from this rank; see transport::Interface. Only
    // memory may be allocated and freed afterwards.
    void say_farewell();

    Rank rank() const { return options_.rank; }
    int size() const { return options_.torus.size(); }
    const routing::Torus& torus() const { return options_.torus; }
    const Options& options() const { return options_; }
    // The host of a rank, by the lowest rank there; known once connected.
    Rank host_of(Rank rank) const { return hosts_[std::size_t(rank)]; }

    // --- messages matched by context, source and tag (MPI's rules) ---
    // dest and source are ranks of the torus; precondition: in range (source may be any_source).
    void send(SendRequest& request, Buffer buffer, Rank dest, Context context, Tag tag,
              SendMode mode = SendMode::standard);
    // To the neighbour in that direction, over that very link where it is a cable of its own: two
    // ranks in a ring of two share two cables, of which send() would take one for small messages.
    // Matching and order are as with send(). Precondition: there is a neighbour.
    void send_by(SendRequest& request, Buffer buffer, routing::Direction link, Context context,
                 Tag tag);
    void receive(ReceiveRequest& request, Buffer buffer, Rank source, Context context, Tag tag);
    // The first message that such a receive would match, without receiving it.
    std::optional<Status> probe(Rank source, Context context, Tag tag);
    // Takes that message out of matching, for one receive of its own: Unexpected::status() tells
    // of it. Null: there is none yet. It must be received, else it stays in memory.
    Unexpected* claim(Rank source, Context context, Tag tag);
    // Receives a message that was claimed.
    void receive(ReceiveRequest& request, Buffer buffer, Unexpected& claimed);
    // Messages that have come and that no receive has asked for.
    void for_each_unexpected(const std::function<void(Context, const Status&)>& visit) const;
    // Asks to take a receive back. It completes, now or later, as cancelled or with its message: at
    // once where the peer is this rank.
    void cancel(ReceiveRequest& request);
    // Asks to take a matched send back. It completes, now or later, as cancelled if no receive has
    // met it, else as it would have. To this rank itself it is settled which of them at once.
    void cancel(SendRequest& request);

    // --- flows: declared channels (QMP) ---
    // All messages of one flow between two ranks match in the order they are started, without
    // looking at tags: the n-th started send meets the n-th started receive. A flow lives as long
    // as the Runtime; opening it again gives the same one. `kind` tells flows between the same two
    // ranks in one context apart; both ends name the same.
    SendFlow& open_send_flow(Rank dest, Context context, std::uint32_t kind);
    ReceiveFlow& open_receive_flow(Rank source, Context context, std::uint32_t kind);
    void start(SendFlow& flow, SendRequest& request, Buffer buffer);
    void start(ReceiveFlow& flow, ReceiveRequest& request, Buffer buffer);

    // --- progress ---
    // Moves everything that can move, without waiting. True when something did.
    bool progress();
    bool test(Request& request) {
        if (request.complete()) return true;
        progress();
        return request.complete();
    }
    // Polls, then sleeps, until the request is complete. `what` names the call in reports.
    void wait(Request& request, std::string_view what = "wait");
    // The same for any condition that progress brings about.
    template <class Done>
    void wait_until(Done&& done, std::string_view what) {
        Waiter waiter(*this, what);
        while (!done()) waiter.turn();
    }
    // What somebody waits for has come about without the Runtime: everybody who waits looks again.
    void stir();
    // A task is advanced once at once and then whenever something has moved.
    void add_task(Task& task);
    // Tells all tasks that this process waits long, in that call, or that it does no more (empty).
    // Long waits do so themselves.
    void linger(std::string_view what);
    // The call in which this process has waited long; empty: in none.
    std::string_view waits_in() const { return waits_in_; }

    // --- notes ---
    void add_reader(Context context, NoteReader& reader);
    void remove_reader(NoteReader& reader);
    // Precondition: no more than longest_note, and not to ourselves.
    void send_note(Rank dest, Context context, Tag tag, transport::ConstBytes note);
    // Makes tasks look for faults: one of them is ended by a note.
    void note_fault() { faults_.fetch_add(1, std::memory_order_relaxed); }
    // Throws away messages that came whole with a tag from `first` to `last`, and that nobody will
    // ever receive.
    void discard(Context context, Tag first, Tag last);

    // --- memory that peers reach at the lowest cost ---
    void* allocate(std::size_t bytes, std::size_t alignment);
    void free(void* memory);

    // --- what goes on ---
    struct ConnectionInfo {
        Rank peer;
        std::optional<routing::Direction> link;  // nothing: a direct connection
        Statistics statistics;
        bool down;
        std::string_view transport;
    };
    std::vector<ConnectionInfo> connections() const;
    // True while nothing of ours is on its way: no queue holds a packet, no request is open.
    bool quiet() const;
    // All tokens of all connections at home: what tests check when everything has arrived.
    bool tokens_home() const;
    // Every pending wait: what, rank, peer, link, tokens held. Many lines.
    std::string report() const;
    // Prints report() through Options::log as soon as the Runtime next runs; async-signal-safe.
    void request_report() noexcept { ask(report_asked); }
    // Calls Options::on_interrupt as soon as the Runtime next runs, by the thread that runs it;
    // from any thread and from signal handlers.
    void interrupt() noexcept { ask(interrupt_asked); }
    // Completes every request to and from a rank that is known to be dead with Error::unreachable.
    void peer_died(Rank peer, std::string_view why);
    // Why a rank cannot be reached: its death, or the dead link and who saw what there.
    std::string fault_of(Rank peer) const;
    // How many ranks and links have been lost, for those who look whether one more has.
    std::uint64_t faults() const { return faults_.load(std::memory_order_relaxed); }
    // A rank because of which not all of these can work together any more: one that is dead, or an
    // end of a dead link that a path between two of them uses. Whether there is one is the same for
    // all of them once all know of the fault. Nothing while all is well.
    std::optional<Rank> lost_in(std::span<const Rank> members) const;

  private:
    friend class SendRequest;
    friend class ControlMessage;
    friend class Strand;

    // One waiting call: decides between polling, sleeping and speaking.
    class Waiter {
      public:
        Waiter(Runtime& runtime, std::string_view what) : runtime_(runtime), what_(what) {}
        ~Waiter() {
            if (lingers_) runtime_.linger({});
        }
        Waiter(const Waiter&) = delete;
        Waiter& operator=(const Waiter&) = delete;
        void turn();

      private:
        void speak(transport::Clock::time_point now);
        transport::Clock::time_point next_word() const;

        Runtime& runtime_;
        std::string_view what_;
        unsigned idle_turns_ = 0;
        std::uint64_t moves_seen_ = ~std::uint64_t{0};  // none: so the first turn never sleeps
        std::uint64_t notes_seen_ = 0;
        transport::Clock::time_point began_{};      // to wait for anything to move
        transport::Clock::time_point warned_{};     // by the watchdog
        transport::Clock::time_point linger_at_{};  // next, whatever moves until then
        std::chrono::nanoseconds linger_step_{};
        bool lingers_ = false;
    };

    // Taken by every entry; costs one predictable branch where only one thread calls.
    class Guard {
      public:
        explicit Guard(const Runtime& runtime)
            : mutex_(runtime.locking_ ? &runtime.mutex_ : nullptr) {
            if (mutex_ != nullptr) mutex_->lock();
        }
        ~Guard() {
            if (mutex_ != nullptr) mutex_->unlock();
        }
        Guard(const Guard&) = delete;
        Guard& operator=(const Guard&) = delete;

      private:
        std::recursive_mutex* mutex_;
    };

    // transport::Sink
    transport::Verdict on_packet(transport::Channel& channel, const transport::PacketHeader& header,
                                 const std::byte* payload) override;
    void on_notice(transport::Channel& channel, std::uint64_t notice) override;
    void on_transfer(transport::Channel& channel, std::uint64_t cookie, bool ok) override;
    void on_connect(std::uint32_t port) override;
    void on_down(transport::Channel& channel, std::string_view why) override;

    // runtime.cpp: setup and progress
    bool all_direct() const { return options_.direct.size() == peers_.size(); }
    void open_interfaces(const InterfaceFactory& make_interface);
    std::size_t carrier_of(Rank peer, std::optional<routing::Direction> link) const;
    transport::ConstBytes address_of(Rank peer, std::size_t carrier) const;
    void learn_hosts();
    std::vector<transport::PortOptions> port_options(std::size_t carrier) const;
    void route(Peer& peer);
    bool arrives_by(Peer& peer, const Connection& connection);
    int tokens_between(Rank a, Rank b) const;
    Connection& open_connection(Rank peer, std::optional<routing::Direction> link);
    Connection& connection_to(Peer& peer) {
        return peer.via != nullptr ? *peer.via : open_connection(peer.rank, std::nullopt);
    }
    // The way of this very message.
    Connection& way_of(SendRequest& request) {
        return request.link_ != nullptr ? *request.link_ : connection_to(peers_[request.peer_]);
    }
    bool progress_unlocked();
    bool poll_interfaces();
    void ask(unsigned what) noexcept;
    void answer_asked();
    void sleep_in_interfaces(transport::Clock::time_point deadline);
    void wake_sleepers() noexcept;
    void settle_with_oneself(const Request& request);
    bool advance_tasks();
    void sleep_until(transport::Clock::time_point deadline, std::uint64_t moves_seen);
    void progress_thread_main();
    void end_progress_thread();
    void open(Request& request, Buffer buffer, Rank peer);
    void complete(Request& request, Error error = Error::none);

    // report.cpp
    void log(std::string_view text) const;
    std::string name_of(Rank rank) const;
    std::string name_of(const Connection& connection) const;

    // connection.cpp: packets, tokens, queues
    static bool may_enter(const Connection& connection) {
        return transport::tokens_in(connection.tokens, 0) >= connection.tokens_to_enter;
    }
    void take_token(Connection& connection, transport::PacketHeader& header);
    void transmit(Connection& connection, transport::PacketHeader& header,
                  transport::ConstBytes payload);
    void transmit_packed(Connection& connection, transport::PacketHeader& header,
                         transport::ConstBytes prefix, const Buffer& buffer, std::size_t from,
                         std::size_t bytes);
    void transmit_message(Connection& connection, transport::PacketHeader& header,
                          const Buffer& buffer);
    void slot_taken(Connection& connection, int slot_class);
    void collect_grants(Connection& connection);
    transport::PacketHeader header_to(Peer& peer, PacketKind kind, std::size_t bytes);
    // Sends, or queues, a packet with a body of core's own.
    void send_control(Peer& peer, PacketKind kind, transport::ConstBytes body,
                      std::uint32_t context = 0, Tag tag = 0);
    void send_over(Connection& connection, Peer& peer, PacketKind kind, transport::ConstBytes body,
                   std::uint32_t context, Tag tag);
    template <class Body>
    void send_body(Peer& peer, PacketKind kind, const Body& body, std::uint32_t context = 0,
                   Tag tag = 0) {
        send_control(peer, kind, std::as_bytes(std::span(&body, 1)), context, tag);
    }
    enum class Lane { message, stream };
    void enqueue(Connection& connection, Outgoing& item, Lane lane);
    bool flush(Connection& connection);
    bool flush_backlog();
    bool emit(SendRequest& request, Connection& connection);
    bool emit_piece(SendRequest& request, Connection& connection);
    transport::Place place_of(const SendRequest& request, Peer& peer, const Connection& connection);
    void spread(SendRequest& request, Peer& peer);
    static void forget_strands(SendRequest& request);

    // relay.cpp
    transport::Verdict relay(Connection& in, const transport::PacketHeader& header,
                             const std::byte* payload);
    bool relay_into_place(Connection& out, transport::PacketHeader& header,
                          const std::byte* payload);

    // dispatch.cpp: order, and who handles what. false: the packet is not what the protocol allows
    bool dispatch(Connection& connection, const transport::PacketHeader& header,
                  const std::byte* payload);
    bool handle(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool stash(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool deliver_stashed(Peer& peer);

    // eager.cpp
    void start_send(SendRequest& request, Buffer buffer, Rank dest, Connection* link,
                    Context context, Tag tag, SendMode mode);
    bool on_eager(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    void finish_eager(ReceiveRequest& request, Rank source, Tag tag, const std::byte* payload,
                      std::size_t bytes);
    Unexpected& make_unexpected(Rank source, Context context, Tag tag, const std::byte* payload,
                                std::size_t bytes);
    Unexpected& make_unexpected(Rank source, Context context, Tag tag, const RequestBody& request);
    void take_unexpected(ReceiveRequest& request, Unexpected& message);

    // rendezvous.cpp; what concerns layouts in scattered.cpp
    void ask(SendRequest& request, Peer& peer);
    void begin_write(SendRequest& request, std::uint32_t landing,
                     const transport::RemoteMemory& memory, bool tell_matched);
    transport::Transfer write_to(SendRequest& request, Peer& peer,
                                 const transport::RemoteMemory& memory);
    using Cables = std::array<Connection*, 2>;
    int links_to(const Peer& peer, Cables& links) const;
    int links_to(const Peer& peer, const transport::RemoteMemory& memory, Cables& links) const;
    static bool may_land(const ReceiveRequest& request, const Peer& peer);
    void tell_written(SendRequest& request, Connection& connection);
    transport::Transfer write_part(SendRequest& request, Connection& connection,
                                   const transport::RemoteMemory& memory, std::size_t from,
                                   std::size_t bytes);
    transport::Transfer write_layout(SendRequest& request, Connection& connection,
                                     const transport::RemoteMemory& memory);
    transport::Transfer write_pieces(SendRequest& request, Connection& connection,
                                     const transport::RemoteMemory& memory);
    static transport::Transfer read_layout(ReceiveRequest& request, Connection& connection,
                                           const transport::RemoteMemory& memory,
                                           std::size_t bytes);
    void stop_waiting(SendRequest& request);
    SendRequest* take_answered(const Peer& peer, std::uint32_t departure);
    void finish_send(SendRequest& request, Error error = Error::none);
    void answer(ReceiveRequest& request, Rank source, Tag tag, const RequestBody& body);
    transport::RemoteMemory open_landing(ReceiveRequest& request, Peer& peer);
    void close_landing(ReceiveRequest& request);
    void finish_landing(ReceiveRequest& request);
    void finish_if_landed(ReceiveRequest& request);
    bool on_request(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool on_clear(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool on_matched(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool on_data(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool on_written(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool part_written(Peer& peer, const WrittenBody& body);
    bool on_pulled(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);

    // announce.cpp: receiver-announced remote writes
    bool worth_announcing(const ReceiveRequest& request);
    void announce(ReceiveRequest& request);
    std::optional<Announcement> take_announcement(MatchState& match, Context context, Tag tag);
    bool on_announce(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool on_refuse(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool on_withdraw(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool on_withdrawn(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool on_retract(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool on_retracted(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);

    // flow.cpp
    SendFlow& send_flow(Peer& peer, FlowKey key);
    ReceiveFlow& receive_flow(Peer& peer, FlowKey key);
    ReceiveRequest* next_started(ReceiveFlow& flow);
    void keep_in_flow(ReceiveFlow& flow, Unexpected& message);
    bool on_flow_open(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool on_flow_eager(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool on_flow_request(Peer& peer, const transport::PacketHeader& header,
                         const std::byte* payload);
    bool on_flow_ready(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);

    // notes.cpp
    bool on_note(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);

    // fault.cpp
    bool on_link_dead(Connection& connection, const std::byte* payload, std::size_t bytes);
    // `sight`: who saw what, where another rank did.
    void close(Connection& connection, Error error, std::string_view why, std::string sight = {});
    void close_unreached();
    void tell_fault(const std::string& text);
    void link_dead(Rank at, routing::Direction direction, const Connection* heard_from,
                   const std::string& sight);
    bool crosses(Rank from, Rank to, Rank at, routing::Direction direction) const;
    void fail_peer(Peer& peer, Error error, std::string why);

    Options options_;
    bool locking_ = false;
    mutable std::recursive_mutex mutex_;
    std::vector<Wire> wires_;
    // To the ranks in Options::direct, or to all; then one a wire. Null: it has nothing to carry.
    std::vector<std::unique_ptr<transport::Interface>> carriers_;
    std::vector<transport::Interface*> interfaces_;  // those that are there
    std::unique_ptr<Loopback> loopback_;             // to ourselves
    std::vector<bool> local_;                        // by rank: in Options::direct
    std::vector<std::vector<std::byte>> addresses_;
    std::vector<Rank> hosts_;  // by rank

    std::vector<Peer> peers_;  // by rank
    std::vector<std::unique_ptr<Connection>> connections_;
    std::array<Connection*, 2 * routing::max_dimensions> links_{};
    std::vector<Connection*> backlog_;  // connections whose queues hold something
    Nowhere nowhere_;
    // Connections that could not be made, and why: closed at the next turn, not while a send is
    // being started.
    std::vector<std::pair<Connection*, std::string>> unreached_;

    Matching matching_;
    Pool pool_;
    IdTable<SendRequest> departures_;
    IdTable<ReceiveRequest> landings_;
    std::vector<Task*> tasks_;
    std::vector<std::pair<Context, NoteReader*>> readers_;
    std::string_view waits_in_;
    bool note_came_ = false;  // in this poll
    struct DeadLink {
        Rank at;
        routing::Direction direction;
        Rank suspect;      // the end that has not spoken: of a dead rank, each of its links says so
        std::string what;  // "the link between rank 3 and rank 7 is dead; rank 3 saw: ..."
    };
    std::vector<DeadLink> dead_links_;
    std::atomic<std::uint64_t> faults_{0};
    bool starting_ = false;  // links are awaited, and a fault is the error of the start:
    std::vector<std::string> start_troubles_;
    std::uint64_t open_requests_ = 0;
    bool stirred_ = false;   // there is news that is no packet
    bool asleep_ = false;    // a thread sleeps in the interfaces, for all
    int others_asleep_ = 0;  // and these until anybody moves something
    std::condition_variable_any moved_;
    std::atomic<std::uint64_t> moves_{0};  // polls that moved something
    std::atomic<std::uint64_t> notes_{0};  // and of them, those that brought notes
    std::atomic<std::int64_t> spin_{0};    // ns of polling before sleep, at most Options::spin
    Rivals rivals_;                        // for the core; used by the thread that sleeps
    unsigned polls_per_look_ = 1;

    static constexpr unsigned report_asked = 1;
    static constexpr unsigned interrupt_asked = 2;
    std::atomic<unsigned> asked_{0};
    std::atomic<bool> stopping_{false};
    std::thread progress_thread_;
};

}  // namespace torusmp::core
