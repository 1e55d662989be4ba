// SPDX-License-Identifier: BSD-3-Clause
// Performance variables: the counters that core keeps in any case, by link and by transport, and
// what it holds of unexpected messages. Those of links are arrays by direction: 0+, 0-, 1+, ... and
// one more for all other connections.
//
// A counter that is started counts for its handle from then on. After MPI_Finalize variables have
// their last values.
#include <array>
#include <cstring>
#include <functional>
#include <string>

#include "core/page/control_page.h"
#include "core/transport/list.h"
#include "mpi11/environment/library.h"
#include "mpi11/tool/events.h"
#include "mpi11/tool/tool.h"

namespace torusmp::mpi::tool {
namespace {

using core::Statistics;
using Value = unsigned long;

struct Counters {
    std::array<Statistics, core::page_ways> links{};
    std::array<int, core::other_ways> states{};
    std::vector<Statistics> transports;
    Value unexpected_messages = 0, unexpected_bytes = 0, faults = 0;
};

void add(Statistics& sum, const Statistics& more);

Counters count() {
    Counters counters;
    const auto list = transport::transports();
    counters.transports.resize(list.size());
    const core::Inspection& state = runtime().state();
    for (const auto& connection : state.connections()) {
        const int way = connection.link ? connection.link->index() : core::other_ways;
        add(counters.links[std::size_t(way)], connection.statistics);
        if (connection.link) {
            const LinkState last = last_state(*connection.link);
            counters.states[std::size_t(way)] = last != link_absent ? last
                                                : connection.down   ? link_down
                                                                    : link_on_cable;
        }
        for (std::size_t i = 0; i < list.size(); ++i)
            if (list[i]->name == connection.transport)
                add(counters.transports[i], connection.statistics);
    }
    state.for_each_unexpected(
        [&](core::Context, const core::Status&) { ++counters.unexpected_messages; });
    counters.unexpected_bytes = state.unexpected_bytes();
    counters.faults = state.faults();
    return counters;
}

// The last values of a job that has ended.
Counters kept;

Counters counters_now() {
    if (hot.runtime == nullptr) {
        kept.transports.resize(transport::transports().size());
        return kept;
    }
    return count();
}

struct Field {
    const char* name;
    std::uint64_t Statistics::*of;
    const char* help;
};
constexpr Field fields[] = {
    {"packets_sent", &Statistics::packets_sent, "Packets sent, relayed ones included."},
    {"bytes_sent", &Statistics::bytes_sent, "Bytes in these packets, without headers."},
    {"packets_received", &Statistics::packets_received, "Packets received."},
    {"bytes_received", &Statistics::bytes_received, "Bytes in these packets, without headers."},
    {"bytes_written", &Statistics::bytes_written, "Bytes written to memory of the peer."},
    {"bytes_read", &Statistics::bytes_read, "Bytes read from memory of the peer."},
    {"packets_relayed", &Statistics::relayed, "Packets sent that came from another link."},
    {"bytes_relayed", &Statistics::bytes_relayed, "Bytes in these packets, without headers."},
    {"rendezvous_messages", &Statistics::rendezvous, "Large messages of this rank."},
    {"bytes_streamed", &Statistics::bytes_streamed, "Bytes of large messages sent in packets."},
    {"packets_of_protocol", &Statistics::control, "Packets of the protocol itself."},
    {"credit_waits", &Statistics::credit_waits,
     "Number of times that a packet waited for a credit."},
    {"packets_resent", &Statistics::resent,
     "Packets and remote writes that were sent again after a cable's death."},
};

void add(Statistics& sum, const Statistics& more) {
    for (const Field& field : fields) sum.*field.of += more.*field.of;
}

constexpr const char* of_links = "link counters";
constexpr const char* of_transports = "transport counters";
constexpr const char* of_messages = "message counters";

struct Variable {
    std::string name, help;
    const char* category;
    int var_class;
    int count;
    std::function<Value(const Counters&, int)> element;

    bool counts() const { return var_class == MPI_T_PVAR_CLASS_COUNTER; }
    bool is_state() const { return var_class == MPI_T_PVAR_CLASS_STATE; }
    std::size_t bytes() const {
        return std::size_t(count) * (is_state() ? sizeof(int) : sizeof(Value));
    }
};

std::vector<Variable> make_variables() {
    std::vector<Variable> all;
    for (const Field& field : fields)
        all.push_back({std::string("link.") + field.name, field.help, of_links,
                       MPI_T_PVAR_CLASS_COUNTER, core::page_ways,
                       [&field](const Counters& counters, int way) {
                           return Value(counters.links[std::size_t(way)].*field.of);
                       }});
    all.push_back({"link.state", "Whether each link uses its cable, a detour, or is down.",
                   of_links, MPI_T_PVAR_CLASS_STATE, core::other_ways,
                   [](const Counters& counters, int way) {
                       return Value(counters.states[std::size_t(way)]);
                   }});
    all.push_back({"link.detours", "Links whose cable is dead, and which use other cables.",
                   of_links, MPI_T_PVAR_CLASS_LEVEL, 1, [](const Counters& counters, int) {
                       return Value(std::count(counters.states.begin(), counters.states.end(),
                                               int(link_on_detour)));
                   }});
    const auto transports = transport::transports();
    for (std::size_t i = 0; i < transports.size(); ++i)
        for (const Field& field : fields)
            all.push_back({std::string(transports[i]->name) + "." + field.name, field.help,
                           of_transports, MPI_T_PVAR_CLASS_COUNTER, 1,
                           [i, &field](const Counters& counters, int) {
                               return Value(counters.transports[i].*field.of);
                           }});
    all.push_back({"unexpected.messages",
                   "Messages that have arrived and have not matched a receive.", of_messages,
                   MPI_T_PVAR_CLASS_LEVEL, 1,
                   [](const Counters& counters, int) { return counters.unexpected_messages; }});
    all.push_back({"unexpected.bytes", "Memory that these messages use.", of_messages,
                   MPI_T_PVAR_CLASS_LEVEL, 1,
                   [](const Counters& counters, int) { return counters.unexpected_bytes; }});
    all.push_back({"faults", "Ranks and links lost so far.", of_messages, MPI_T_PVAR_CLASS_COUNTER,
                   1, [](const Counters& counters, int) { return counters.faults; }});
    return all;
}

const std::vector<Variable>& variables() {
    static const auto* const made =
        std::make_unique<std::vector<Variable>>(make_variables()).release();
    return *made;
}

// A variable in a session. Counters have what was counted while they were started.
struct VariableHandle {
    MPI_T_pvar_session session;
    const Variable& variable;
    bool started = false;
    std::vector<Value> before =
        std::vector<Value>(std::size_t(variable.count));  // until the last start
    std::vector<Value> base = std::vector<Value>(std::size_t(variable.count));  // at that start

    Value value(const Counters& counters, int i) const {
        const Value now = variable.element(counters, i);
        if (!variable.counts()) return now;
        return before[std::size_t(i)] + (started ? now - base[std::size_t(i)] : 0);
    }
    void start(const Counters& counters) {
        for (int i = 0; i < variable.count; ++i)
            base[std::size_t(i)] = variable.element(counters, i);
        started = true;
    }
    void stop(const Counters& counters) {
        for (int i = 0; i < variable.count; ++i) before[std::size_t(i)] = value(counters, i);
        started = false;
    }
    void read(const Counters& counters, void* buf) const {
        auto* out = &required(static_cast<std::byte*>(buf));
        for (int i = 0; i < variable.count; ++i) {
            const Value found = value(counters, i);
            if (variable.is_state()) {
                const int state = int(found);
                std::memcpy(out, &state, sizeof state);
                out += sizeof state;
            } else {
                std::memcpy(out, &found, sizeof found);
                out += sizeof found;
            }
        }
    }
    // From the values in buf; from zero without it.
    void write(const Counters& counters, const void* buf) {
        if (!variable.counts()) refuse(MPI_T_ERR_PVAR_NO_WRITE);
        if (buf != nullptr)
            std::memcpy(before.data(), buf, before.size() * sizeof(Value));
        else
            std::fill(before.begin(), before.end(), 0);
        if (started) start(counters);
    }
};
struct PerformanceSession {};

Handles<PerformanceSession, MPI_T_pvar_session> sessions;
Handles<VariableHandle, MPI_T_pvar_handle> variable_handles;

void check_session(MPI_T_pvar_session session) {
    sessions.find(session, MPI_T_ERR_INVALID_SESSION);
}

VariableHandle& found(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
    check_session(session);
    VariableHandle& held = variable_handles.find(handle, MPI_T_ERR_INVALID_HANDLE);
    if (held.session != session) refuse(MPI_T_ERR_INVALID_HANDLE);
    return held;
}

// On one handle, or on all of the session to which it applies.
template <class Body>
int on(MPI_T_pvar_session session, MPI_T_pvar_handle handle, Body&& body) {
    return call([&] {
        const Counters counters = counters_now();
        if (handle != MPI_T_PVAR_ALL_HANDLES) return body(found(session, handle), counters);
        check_session(session);
        for (const auto& held : variable_handles.all())
            if (held->session == session && held->variable.counts()) body(*held, counters);
    });
}

void check_startable(const VariableHandle& handle) {
    if (!handle.variable.counts()) refuse(MPI_T_ERR_PVAR_NO_STARTSTOP);
}

}  // namespace

std::vector<int> performance_variables_of(std::string_view category) {
    std::vector<int> found;
    for (std::size_t i = 0; i < variables().size(); ++i)
        if (variables()[i].category == category) found.push_back(int(i));
    return found;
}

void keep_counters() {
    const std::lock_guard lock(guard());
    kept = count();
}

}  // namespace torusmp::mpi::tool

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_T_pvar_get_num = PMPI_T_pvar_get_num
int PMPI_T_pvar_get_num(int* num_pvar) {
    return tool::call([&] { tool::required(num_pvar) = int(tool::variables().size()); });
}

#pragma weak MPI_T_pvar_get_info = PMPI_T_pvar_get_info
int PMPI_T_pvar_get_info(int pvar_index, char* name, int* name_len, int* verbosity, int* var_class,
                         MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc, int* desc_len,
                         int* bind, int* readonly, int* continuous, int* atomic) {
    return tool::call([&] {
        const tool::Variable& variable = tool::at(tool::variables(), pvar_index);
        tool::put_text(variable.name, name, name_len);
        tool::put(verbosity, int(MPI_T_VERBOSITY_USER_BASIC));
        tool::put(var_class, variable.var_class);
        tool::put(datatype, variable.is_state() ? MPI_INT : MPI_UNSIGNED_LONG);
        tool::put(enumtype, variable.is_state() ? tool::link_states() : MPI_T_ENUM_NULL);
        tool::put_text(variable.help, desc, desc_len);
        tool::put(bind, int(MPI_T_BIND_NO_OBJECT));
        tool::put(readonly, variable.counts() ? 0 : 1);
        tool::put(continuous, variable.counts() ? 0 : 1);
        tool::put(atomic, variable.counts() ? 1 : 0);
    });
}

#pragma weak MPI_T_pvar_get_index = PMPI_T_pvar_get_index
int PMPI_T_pvar_get_index(const char* name, int var_class, int* pvar_index) {
    return tool::call([&] {
        const std::string_view wanted(&tool::required(name));
        tool::required(pvar_index) = tool::index_of(tool::variables(), [&](const auto& variable) {
            return variable.name == wanted && variable.var_class == var_class;
        });
    });
}

#pragma weak MPI_T_pvar_session_create = PMPI_T_pvar_session_create
int PMPI_T_pvar_session_create(MPI_T_pvar_session* session) {
    return tool::call([&] {
        tool::required(session) = tool::sessions.add(std::make_unique<tool::PerformanceSession>());
    });
}

#pragma weak MPI_T_pvar_session_free = PMPI_T_pvar_session_free
int PMPI_T_pvar_session_free(MPI_T_pvar_session* session) {
    return tool::call([&] {
        const MPI_T_pvar_session ended = tool::required(session);
        tool::check_session(ended);
        std::vector<MPI_T_pvar_handle> own;
        for (const auto& held : tool::variable_handles.all())
            if (held->session == ended)
                own.push_back(reinterpret_cast<MPI_T_pvar_handle>(held.get()));
        for (const MPI_T_pvar_handle handle : own)
            tool::variable_handles.end(handle, MPI_T_ERR_INVALID_HANDLE);
        tool::sessions.end(ended, MPI_T_ERR_INVALID_SESSION);
        *session = MPI_T_PVAR_SESSION_NULL;
    });
}

#pragma weak MPI_T_pvar_handle_alloc = PMPI_T_pvar_handle_alloc
int PMPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void*,
                             MPI_T_pvar_handle* handle, int* count) {
    return tool::call([&] {
        tool::check_session(session);
        const tool::Variable& variable = tool::at(tool::variables(), pvar_index);
        tool::put(count, variable.count);
        tool::required(handle) = tool::variable_handles.add(std::unique_ptr<tool::VariableHandle>(
            new tool::VariableHandle{.session = session, .variable = variable}));
    });
}

#pragma weak MPI_T_pvar_handle_free = PMPI_T_pvar_handle_free
int PMPI_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle* handle) {
    return tool::call([&] {
        tool::found(session, tool::required(handle));
        tool::variable_handles.end(*handle, MPI_T_ERR_INVALID_HANDLE);
        *handle = MPI_T_PVAR_HANDLE_NULL;
    });
}

#pragma weak MPI_T_pvar_start = PMPI_T_pvar_start
int PMPI_T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
    return tool::on(session, handle, [](tool::VariableHandle& held, const auto& counters) {
        tool::check_startable(held);
        if (!held.started) held.start(counters);
    });
}

#pragma weak MPI_T_pvar_stop = PMPI_T_pvar_stop
int PMPI_T_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
    return tool::on(session, handle, [](tool::VariableHandle& held, const auto& counters) {
        tool::check_startable(held);
        if (held.started) held.stop(counters);
    });
}

#pragma weak MPI_T_pvar_read = PMPI_T_pvar_read
int PMPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf) {
    return tool::call([&] { tool::found(session, handle).read(tool::counters_now(), buf); });
}

#pragma weak MPI_T_pvar_write = PMPI_T_pvar_write
int PMPI_T_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void* buf) {
    return tool::call([&] {
        tool::required(static_cast<const std::byte*>(buf));
        tool::found(session, handle).write(tool::counters_now(), buf);
    });
}

#pragma weak MPI_T_pvar_reset = PMPI_T_pvar_reset
int PMPI_T_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
    return tool::on(session, handle, [](tool::VariableHandle& held, const auto& counters) {
        held.write(counters, nullptr);
    });
}

#pragma weak MPI_T_pvar_readreset = PMPI_T_pvar_readreset
int PMPI_T_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf) {
    return tool::call([&] {
        tool::VariableHandle& held = tool::found(session, handle);
        const auto counters = tool::counters_now();
        held.read(counters, buf);
        held.write(counters, nullptr);
    });
}
}
