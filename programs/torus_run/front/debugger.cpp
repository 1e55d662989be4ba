// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/front/debugger.h"

#include <sys/socket.h>

#include <deque>

#include "programs/torus_run/streams/packing.h"

// Debuggers find these by their names and types.
extern "C" {
struct MPIR_PROCDESC {
    const char* host_name;
    const char* executable_name;
    int pid;
};

#define TORUSMP_SEEN_BY_DEBUGGERS __attribute__((used, visibility("default")))
TORUSMP_SEEN_BY_DEBUGGERS MPIR_PROCDESC* MPIR_proctable = nullptr;
TORUSMP_SEEN_BY_DEBUGGERS int MPIR_proctable_size = 0;
TORUSMP_SEEN_BY_DEBUGGERS volatile int MPIR_being_debugged = 0;
TORUSMP_SEEN_BY_DEBUGGERS volatile int MPIR_debug_state = 0;
TORUSMP_SEEN_BY_DEBUGGERS int MPIR_i_am_starter = 0;
TORUSMP_SEEN_BY_DEBUGGERS int MPIR_partial_attach_ok = 0;

// Debuggers set a breakpoint here.
TORUSMP_SEEN_BY_DEBUGGERS __attribute__((noinline)) void MPIR_Breakpoint() {
    asm volatile("" ::: "memory");
}
}

namespace torusmp::torus_run {
namespace {

constexpr int spawned = 1;  // MPIR_DEBUG_SPAWNED

struct Table {
    std::deque<ProcessEntry> entries;  // owns the texts that the table points to
    std::vector<MPIR_PROCDESC> processes;
};

}  // namespace

bool under_debugger() {
    return MPIR_being_debugged != 0;
}

void send_process_table(int front, const std::vector<ProcessEntry>& ranks) {
    constexpr std::size_t longest_piece = longest_process_table / 2;
    for (std::size_t first = 0; first < ranks.size();) {
        Packer packer;
        std::size_t bytes = 0, end = first;
        for (; end < ranks.size() && bytes < longest_piece; ++end)
            bytes += ranks[end].host.size() + ranks[end].program.size() + 20;
        packer.add(int(ranks.size())).add(int(first)).add(int(end));
        for (; first < end; ++first)
            packer.add(ranks[first].pid).add(ranks[first].host).add(ranks[first].program);
        const auto piece = packer.take();
        // The front may not be reading; torus-run itself does not need the table.
        if (send(front, piece.data(), piece.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return;
    }
}

bool show_to_debugger(std::span<const std::byte> bytes) {
    static Table table;
    try {
        Unpacker unpacker(bytes);
        const int all = unpacker.get<int>(), first = unpacker.get<int>(), end = unpacker.get<int>();
        if (first != 0 && first != int(table.entries.size())) return false;
        if (first == 0) {
            MPIR_proctable_size = 0;
            MPIR_proctable = nullptr;
            table = {};
        }
        for (int i = first; i < end; ++i) {
            ProcessEntry entry;
            entry.pid = unpacker.get<int>();
            entry.host = unpacker.text();
            entry.program = unpacker.text();
            table.entries.push_back(std::move(entry));
        }
        if (end != all) return false;
    } catch (const PackingError&) {
        return false;
    }
    for (const ProcessEntry& entry : table.entries)
        table.processes.push_back({entry.host.c_str(), entry.program.c_str(), entry.pid});
    MPIR_proctable = table.processes.data();
    MPIR_proctable_size = int(table.processes.size());
    MPIR_debug_state = spawned;
    MPIR_Breakpoint();
    return true;
}

}  // namespace torusmp::torus_run
