// SPDX-License-Identifier: BSD-3-Clause
// The waits of one rank, as a plain value: the waiting calls, the open messages and collectives,
// and the unexpected messages. Every module adds what it holds; reports of one rank are this value
// as text, and the launcher compares the values of all ranks.
//
// Made under the Runtime's lock; afterwards any thread may use it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/request.h"

namespace torusmp::core {

struct Waits {
    // Raised with every change of the encoding.
    static constexpr std::uint32_t version = 4;
    // For each kind of entry; entries beyond this are only counted.
    static constexpr std::size_t most = 4096;

    // A waiting call of the program. Several threads may each be in one.
    struct Call {
        std::string name;
        double seconds = 0;  // since anything moved
        bool any = false;    // one of the awaited is enough; otherwise all are needed
        friend bool operator==(const Call&, const Call&) = default;
    };

    struct Operation {
        enum class Kind : std::uint8_t {
            receive,
            send,
            probe,
            idle_receive,  // persistent or declared, and not started
            idle_send,
            access  // to a window of the peer; it waits for the peer's library to run
        };
        enum class Stage : std::uint8_t {
            unmet,   // a receive without a message, or a send whose receive has not started
            moving,  // its bytes are in flight
            queued   // a send whose packets wait for their turn or for a credit
        };
        Kind kind = Kind::receive;
        Stage stage = Stage::unmet;
        bool channel = false;  // a declared channel, where tags are ignored
        int call = -1;         // the call that awaits it; -1 if none
        Rank peer = any_source;
        Context context = 0;
        Tag tag = any_tag;
        std::uint64_t bytes = 0;   // of the message, or room for it
        std::uint64_t done = 0;    // bytes that have arrived
        const void* id = nullptr;  // the request; local only, not encoded
    };

    // A message, or the request of one, that has arrived and that no receive has matched.
    struct Message {
        bool channel = false;
        bool at_sender = false;  // only its request has arrived
        Rank source = any_source;
        Context context = 0;
        Tag tag = any_tag;
        std::uint64_t bytes = 0;
    };

    struct Collective {
        static constexpr std::uint64_t any_bytes = ~std::uint64_t{0};
        std::string name = {};
        Context context = 0;
        Tag tag = 0;  // the same on all members
        int call = -1;
        int root = -1;  // a member; -1 if none
        std::uint64_t bytes = any_bytes;
        std::string what = {};  // "MPI_SUM of integers of 4 B"
        std::vector<Rank> receives_from = {}, sends_to = {};
        std::string known = {};  // what members have reported to each other about it
        const void* id = nullptr;
    };

    // Packets that wait for a credit of a connection, and why they wait.
    struct Queue {
        std::string name = {};
        Rank peer = any_source;
        std::uint32_t credits = 0, of = 0;
        bool relays = false, down = false;
    };

    // Counts of sequenced packets between this rank and another: all that programs can observe.
    struct Traffic {
        Rank peer = any_source;
        std::uint32_t sent = 0, taken = 0;
    };

    // A link or connection with data that its other end has not confirmed.
    struct Link {
        std::string name = {};
        Rank peer = any_source;
        int direction = -1;       // routing::Direction::index(); -1 if not a link of the torus
        std::uint64_t bytes = 0;  // as far as is known
        double silent = 0;        // seconds without an answer, although it was asked again
        bool apart = false;       // the other end is unreachable now
    };

    // The meaning of a context to the program.
    struct Group {
        Context context = 0;
        std::string name;
        bool messages = false;      // the program's own messages, not those of collectives
        Tag last = -1;              // tag of the last collective started on it; -1 if not known
        std::vector<Rank> members;  // empty if not known
    };

    Rank rank = 0;
    int ranks = 1;
    bool meeting = false;  // waits for all ranks of the job
    std::vector<Call> calls;
    std::vector<Operation> operations;
    std::vector<Message> messages;
    std::vector<Collective> collectives;
    std::vector<Queue> queues;
    std::vector<Traffic> traffic;  // by peer, ascending
    std::vector<Link> links;
    std::vector<Group> groups;
    // A call that polls and returns, such as MPI_Test, and what it looks for; empty if there is
    // none.
    std::string looks_in;
    std::vector<Operation> sought;
    std::vector<std::string> notes;     // lines about reordering, detours and the like
    std::vector<std::string> counters;  // of transports
    std::vector<std::string> trace;     // the last lines, see base/trace.h
    std::uint64_t left_out = 0;         // entries beyond `most`

    void add(Operation operation) { put(operations, std::move(operation)); }
    void add(Message message) { put(messages, message); }
    // Adds a collective; each rank that it waits for, or sends to, is listed once.
    void add(Collective collective);
    // Finds the group by its context, or adds it.
    Group& group(Context context);
    const Group* find_group(Context context) const;
    Traffic traffic_with(Rank other) const;
    // True if there is nothing that a wait could be about.
    bool idle() const {
        return operations.empty() && collectives.empty() && queues.empty() && notes.empty();
    }

  private:
    template <class Entry>
    void put(std::vector<Entry>& entries, Entry entry) {
        if (entries.size() < most)
            entries.push_back(std::move(entry));
        else
            ++left_out;
    }
};

// Why a rank reports what it waits for.
enum class WaitsWanted {
    text,    // a user asked this process for a report
    answer,  // the launcher has asked all ranks
    overdue  // it has waited for longer than Options::watchdog
};

std::vector<std::byte> encode(const Waits& waits);
// nullopt for bytes that encode() does not produce, that have another version, or that name ranks
// which the job does not have.
std::optional<Waits> decode_waits(std::span<const std::byte> bytes, int ranks);

// The report of one rank, many lines. `name_of` returns the name of a rank in messages.
std::string describe(const Waits& waits, const std::function<std::string(Rank)>& name_of);
// "allreduce waits for rank 1, 4; sends to rank 2"
std::string describe(const Waits::Collective& collective);

// A source of waits above core.
class Reporter {
  public:
    // Called under the Runtime's lock.
    virtual void report(Waits& waits) const = 0;

  protected:
    ~Reporter() = default;
};

// The awaited events of a waiting call; used only while it waits long, and under the Runtime's
// lock.
class Awaited {
  public:
    struct List {
        bool any = false;                          // one is enough
        std::vector<const void*> ids;              // incomplete requests and tasks
        std::vector<Waits::Operation> operations;  // operations without a request

        bool has(const void* id) const {
            return id != nullptr && std::find(ids.begin(), ids.end(), id) != ids.end();
        }
    };
    virtual void list(List& list) const = 0;
    // The request, if there is only one.
    virtual const Request* request() const { return nullptr; }

  protected:
    ~Awaited() = default;
};

class AwaitedRequest final : public Awaited {
  public:
    explicit AwaitedRequest(const Request& request) : request_(request) {}
    void list(List& list) const override { list.ids.push_back(&request_); }
    const Request* request() const override { return &request_; }

  private:
    const Request& request_;
};

}  // namespace torusmp::core
