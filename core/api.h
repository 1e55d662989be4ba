// SPDX-License-Identifier: BSD-3-Clause
// The Runtime: one rank of a torus, its connections and everything in flight.
//
// This is the facade over core's modules that the front ends build on. A Runtime is an ordinary
// object; a process may hold hundreds (the tests do, over the sim transport). It owns its transport
// interfaces and all protocol state; requests, buffers and layouts belong to the caller until they
// are complete.
//
// Threads: if Options::threads is false, only one thread at a time may call, and no lock is taken.
// If it is true, any thread may call at any time. request_report() may be called from a signal
// handler.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/connection/connection.h"
#include "core/inspection.h"
#include "core/match/unexpected.h"
#include "core/notes/notes.h"
#include "core/options.h"
#include "core/progress/companions.h"
#include "core/progress/progress.h"
#include "core/progress/task.h"
#include "core/request.h"
#include "core/sharing/shared_memory.h"
#include "core/survivors/survivors.h"
#include "core/waits/waits.h"

namespace torusmp::core {

class Core;
namespace rma {
class Windows;
}

// Declared channels (QMP). All messages of one flow between two ranks match in the order in which
// they are started, without regard to tags: the n-th started send matches the n-th started receive.
// A flow lives as long as the Runtime; opening it again returns the same one.
class Flows final {
  public:
    explicit Flows(Core& core) : core_(core) {}

    // `kind` distinguishes flows between the same two ranks in one context; both ends pass the same
    // value.
    SendFlow& open_send(Rank dest, Context context, std::uint32_t kind) const;
    ReceiveFlow& open_receive(Rank source, Context context, std::uint32_t kind) const;
    // `followed` means that another send to that rank is started next, so the two may leave
    // together.
    void start(SendFlow& flow, SendRequest& request, Buffer buffer, bool followed = false) const;
    void start(ReceiveFlow& flow, ReceiveRequest& request, Buffer buffer) const;

  private:
    Core& core_;
};

class Runtime final {
  public:
    using InterfaceFactory = core::InterfaceFactory;
    using LinkTransport = core::LinkTransport;

    // Opens the interfaces with the ports this rank needs: one interface for the ranks in
    // Options::direct and one for each link transport that carries something; without link
    // transports the first interface serves all ranks. All ranks list the same link transports in
    // the same order. Memory is allocated by the first interface that exists. The caller then
    // exchanges the addresses of all ranks (bootstrap) and passes them to connect(). Throws
    // std::invalid_argument for impossible options and std::runtime_error if a transport cannot be
    // opened.
    explicit Runtime(Options options, const InterfaceFactory& make_interface,
                     std::vector<LinkTransport> link_transports = {});
    ~Runtime();
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    std::vector<std::byte> address() const;
    // Starts to connect the links. An unreachable peer is reported as a fault when the Runtime next
    // runs; the same holds for a connection that is made later, on first use.
    void connect(std::vector<std::vector<std::byte>> addresses_by_rank);
    // Waits until all links are up, however long their other ends take; then starts the progress
    // thread. Throws std::runtime_error that names the link that does not come up and the reason;
    // if keeps_going is set, the failure is reported like any other fault instead.
    void await_links(bool keeps_going);
    // Announces to all peers that this rank will send nothing more; see transport::Interface.
    // Afterwards the caller may only allocate and free memory.
    void say_goodbye();

    const Options& options() const { return options_; }
    Rank rank() const { return options_.rank; }
    int size() const { return options_.torus.size(); }
    const routing::Torus& torus() const { return options_.torus; }
    const Inspection& state() const { return state_; }
    Notes& notes() { return notes_; }
    const Flows& flows() const { return flows_; }
    const Survivors& survivors() const { return survivors_; }

    // --- messages matched by context, source and tag (MPI's rules) ---
    // dest and source are ranks of the torus. Precondition: both are in range (source may be
    // any_source).
    void send(SendRequest& request, const Buffer& buffer, Rank dest, Context context, Tag tag,
              SendMode mode = SendMode::standard);
    // Shortcut for a standard send of one block: a small message leaves immediately, without a
    // request. Returns false, having done nothing, if the message is large or cannot leave
    // immediately.
    bool send_at_once(transport::ConstBytes message, Rank dest, Context context, Tag tag);
    // Sends to the neighbour in that direction, over exactly that link if it has a cable of its
    // own: two ranks in a ring of two share two cables, of which send() would use one for small
    // messages. Matching and order are as with send(). Precondition: there is a neighbour.
    void send_by(SendRequest& request, const Buffer& buffer, routing::Direction link,
                 Context context, Tag tag);
    void receive(ReceiveRequest& request, const Buffer& buffer, Rank source, Context context,
                 Tag tag);
    // Shortcut for a receive into one block of memory.
    void receive_block(ReceiveRequest& request, transport::Bytes block, Rank source,
                       Context context, Tag tag);
    // The first message that such a receive would match. The message is not received.
    std::optional<Status> probe(Rank source, Context context, Tag tag);
    // Takes that message out of matching, so that only one particular receive can get it;
    // Unexpected::status() describes it. Null if there is none yet. A claimed message stays in
    // memory until it is received.
    Unexpected* claim(Rank source, Context context, Tag tag);
    // Receives a claimed message.
    void receive(ReceiveRequest& request, const Buffer& buffer, Unexpected& claimed);
    // Requests cancellation of a receive. The receive completes, now or later, as cancelled or with
    // its message; it completes immediately if the peer is this rank.
    void cancel(ReceiveRequest& request);
    // Requests cancellation of a matched send. The send completes, now or later: as cancelled if no
    // receive has matched it, otherwise normally. For a send to this rank itself this is decided
    // immediately.
    void cancel(SendRequest& request);
    // See Cancellation.
    void abandon(SendRequest& request);

    // --- progress ---
    // Moves everything that can move, without waiting. Returns true if something moved.
    bool progress();
    // This Runtime is one of several of its process from now on, until it leaves them again; see
    // Companions. Throws std::runtime_error.
    void join(Companions& companions);
    void leave(Companions& companions);
    // progress() inside a call that programs repeat until something has changed: yields the core if
    // nothing moved and ranks share cores, but not where the rank is alone on its host.
    void progress_repeatedly();
    // The same in a call such as MPI_Test, on any host: reports name what the call is looking for.
    void progress_for(std::string_view call, const Awaited& sought);
    // Polls, then sleeps, until the request is complete. `what` names the call in reports.
    void wait(Request& request, std::string_view what = "wait") {
        const AwaitedRequest awaited(request);
        wait_until([&] { return request.complete(); }, what, &awaited);
    }
    // Polls, then sleeps, until `done` returns true; for any condition that progress can fulfil.
    // `awaited` describes the condition for reports.
    template <class Done>
    void wait_until(Done&& done, std::string_view what, const Awaited* awaited = nullptr) {
        if (done()) return;
        progress_.poll();  // often it has already arrived
        if (done()) return;
        Progress::Waiter waiter(progress_, what, awaited);
        do waiter.turn();
        while (!done());
    }
    // Wakes all waiting threads to check their conditions again, after an event outside the
    // Runtime.
    void recheck() { progress_.recheck(); }
    // For callers that use state of the progress engine in several steps.
    Progress::Guard lock() const { return Progress::Guard(progress_); }
    // Advances a task immediately, and then again whenever something has moved.
    void add_task(Task& task);

    // Publishes what this rank is doing outside of memory, such as "writing /scratch/x", for
    // reports of its waits and of its death. `number` is not 0, and identifies this text. Takes no
    // lock unless the text differs from the last one. If several threads do something, the last
    // call counts.
    void begin_deed(std::uint64_t number, std::string_view text);
    void end_deed();

    // --- memory that peers reach at the lowest cost ---
    void* allocate(std::size_t bytes, std::size_t alignment);
    void free(void* memory);
    // Memory that this rank shares with others of its host; see SharedMemory.
    SharedMemory& shared() { return shared_; }

    // Memory that other ranks access without a call of this one.
    rma::Windows& windows() { return windows_; }

    // --- from outside ---
    // Prints the report through Options::log as soon as the Runtime next runs; async-signal-safe.
    void request_report() noexcept;
    // Requests a report for the launcher: what is waited for goes to Options::on_waits.
    void request_answer() noexcept;
    // The reporter is called for every report until it is removed.
    void add_reporter(const Reporter& reporter);
    void remove_reporter(const Reporter& reporter);
    // Calls Options::on_interrupt as soon as the Runtime next runs, on the thread that runs it. May
    // be called from any thread and from signal handlers.
    void interrupt() noexcept;
    // Completes every request to and from a rank that is known to be dead with Error::unreachable.
    void peer_died(Rank peer, std::string_view why);
    // The launcher has had the time to report all deaths up to now: peers that are lost and not
    // reported live, and are cut off from this rank.
    void deaths_are_known();

  private:
    const std::unique_ptr<Core> core_;
    const Options& options_;
    Progress& progress_;
    Notes& notes_;
    SharedMemory& shared_;
    rma::Windows& windows_;
    const Inspection state_;
    const Flows flows_;
    const Survivors survivors_;
};

}  // namespace torusmp::core
