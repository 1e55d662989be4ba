// SPDX-License-Identifier: BSD-3-Clause
// Making and freeing windows, and the memory of dynamic ones (MPI-5.0, section 12.2).
//
// All windows have a Control for each member. Those of the members of one host are in a block that
// the first of them makes and all map; behind them is the memory of windows that have some made for
// them. Without such a block, each member has its own, and others reach it by packets.
#include <algorithm>
#include <cstring>
#include <new>

#include "core/transport/api/memory.h"
#include "mpi11/comm/agreement.h"
#include "mpi11/comm/creation.h"
#include "mpi11/entry.h"
#include "mpi11/error/check.h"
#include "mpi11/ft/shrink.h"
#include "mpi11/pt2pt/request.h"
#include "mpi11/rma/arithmetic.h"
#include "mpi11/rma/window.h"

namespace torusmp::mpi::windows {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t line = 64;
constexpr int setup_tag = 1;

// Whether the memory of a window is made for it.
bool makes_memory(int flavor) {
    return flavor == MPI_WIN_FLAVOR_ALLOCATE || flavor == MPI_WIN_FLAVOR_SHARED;
}

std::size_t rounded(std::size_t bytes, std::size_t to) {
    return (bytes + to - 1) / to * to;
}

// The proposal of a member before anything is made.
struct Wish {
    Window::Member member;
    int error = MPI_SUCCESS;
    int separate = 0;  // the info's alloc_shared_noncontig
    int may_lose = library().process->keeps_going() ? 1 : 0;
};

struct Plan {
    const char* call;
    int flavor;
    void* base;  // of the program
    Window::Member member;
    MPI_Info info;
};

// Collective. Throws Failure on all members if the arguments of one are wrong.
std::vector<Wish> agree_on_wishes(Communicator& comm, const Plan& plan,
                                  const Info::Entries& hints) {
    std::vector<Wish> wishes(std::size_t(comm.size()));
    Wish& own = wishes[std::size_t(comm.rank())];
    own.member = plan.member;
    const bool has_memory = plan.flavor != MPI_WIN_FLAVOR_DYNAMIC;
    if (has_memory && plan.member.size < 0) own.error = MPI_ERR_SIZE;
    if (has_memory && plan.member.unit <= 0) own.error = MPI_ERR_DISP;
    if (plan.flavor == MPI_WIN_FLAVOR_CREATE && plan.base == nullptr && plan.member.size > 0)
        own.error = MPI_ERR_BASE;
    for (const auto& [key, value] : hints)
        if (key == "alloc_shared_noncontig") own.separate = value == "true" ? 1 : 0;
    if (comm.size() > 1) gather_all(comm, wishes.data(), sizeof(Wish), plan.call);
    for (std::size_t rank = 0; rank < wishes.size(); ++rank) {
        const Wish& wish = wishes[rank];
        if (wish.error == MPI_ERR_SIZE)
            fail(wish.error, "found size {} on rank {}, expected 0 or more bytes", wish.member.size,
                 rank);
        if (wish.error == MPI_ERR_DISP)
            fail(wish.error, "found displacement unit {} on rank {}, expected 1 or more",
                 wish.member.unit, rank);
        if (wish.error == MPI_ERR_BASE)
            fail(wish.error, "found a null base for {} bytes on rank {}", wish.member.size, rank);
    }
    return wishes;
}

// Where the parts of this host's members are in their block.
struct Offsets {
    std::vector<int> mates;           // members of the window on this host
    std::vector<std::size_t> memory;  // by position among them
    std::size_t control = 0;          // bytes of a Control and the Signals behind it
    std::size_t signals = 0;          // where the Signals begin
    std::size_t names = 0;            // of the program's memory
    std::size_t bytes = 0;
};

Offsets lay_out(const Window& window, const std::vector<Wish>& wishes) {
    Offsets offsets;
    const core::Inspection& state = window.comm->runtime().state();
    const Rank host = state.host_of(window.comm->runtime().rank());
    for (int member = 0; member < window.size(); ++member)
        if (state.host_of(window.comm->peer(member)) == host) offsets.mates.push_back(member);
    const bool made = makes_memory(window.flavor);
    // The memory of a shared window is one piece, unless the program allows otherwise.
    const bool together = window.flavor == MPI_WIN_FLAVOR_SHARED && wishes.front().separate == 0;
    offsets.signals = core::rma::Control::bytes(offsets.mates.size());
    offsets.control = rounded(offsets.signals + core::rma::Signals::bytes(offsets.mates.size()),
                              alignof(core::rma::Control));
    offsets.names = offsets.mates.size() * offsets.control;
    offsets.bytes = offsets.names + offsets.mates.size() * sizeof(core::SharedMemory::Name);
    // Memory starts at a page. Large blocks of the program mostly start 16 bytes after one, and
    // copies take up to half as long again if the target is a few cache lines further in its page.
    constexpr std::size_t header = core::SharedMemory::header_bytes;
    if (made) offsets.bytes = rounded(header + offsets.bytes, page) - header;
    for (const int member : offsets.mates) {
        const auto size = std::size_t(wishes[std::size_t(member)].member.size);
        offsets.memory.push_back(offsets.bytes);
        if (!made) continue;
        offsets.bytes += together ? size : rounded(size, size < page ? line : page);
    }
    return offsets;
}

struct Setup {
    core::SharedMemory::Name name;
    int made = 0;
};

// Makes the block, or maps the one that the first member of this host has made. Returns whether
// there is one.
bool share_block(Window& window, const Offsets& offsets, const char* call) {
    core::Runtime& machine = window.comm->runtime();
    Communicator& comm = *window.comm;
    const Context context = comm.context(Traffic::messages);
    if (offsets.mates.size() < 2 || !machine.shared().possible()) return false;
    Setup setup;
    if (offsets.mates.front() != comm.rank()) {
        const Rank maker = comm.peer(offsets.mates.front());
        core::ReceiveRequest receive;
        machine.receive(receive, {&setup, sizeof setup}, maker, context, setup_tag);
        wait_for(machine, receive, call);
        const auto lock = machine.lock();
        return setup.made != 0 && machine.shared().map(*window.block, maker, setup.name);
    }
    {
        const auto lock = machine.lock();
        setup.made =
            machine.shared().make(*window.block, offsets.bytes, int(offsets.mates.size()) - 1) ? 1
                                                                                               : 0;
    }
    if (setup.made != 0)
        std::memset(window.block->memory(), 0, offsets.mates.size() * offsets.control);
    for (std::size_t i = 0; i < offsets.mates.size() && setup.made != 0; ++i) {
        std::byte* const place = window.block->memory() + i * offsets.control;
        ::new (place) core::rma::Control(std::uint32_t(offsets.mates.size()));
        ::new (place + offsets.signals) core::rma::Signals(offsets.mates.size());
    }
    for (std::size_t i = 1; i < offsets.mates.size(); ++i) {
        const Rank mate = comm.peer(offsets.mates[i]);
        if (setup.made != 0) {
            const auto lock = machine.lock();
            setup.name = machine.shared().name_for(*window.block, mate);
        }
        core::SendRequest send;
        machine.send(send, core::Buffer(&setup, sizeof setup), mate, context, setup_tag);
        wait_for(machine, send, call);
    }
    return setup.made != 0;
}

void use_block(Window& window, const Offsets& offsets) {
    std::byte* const start = window.block->memory();
    const bool made = makes_memory(window.flavor);
    for (std::size_t i = 0; i < offsets.mates.size(); ++i) {
        const int member = offsets.mates[i];
        core::rma::Window::Part& part = window.core.parts[std::size_t(member)];
        part.control = reinterpret_cast<core::rma::Control*>(start + i * offsets.control);
        part.signals =
            reinterpret_cast<core::rma::Signals*>(start + i * offsets.control + offsets.signals);
        part.place = std::uint32_t(i);
        if (made) part.memory = start + offsets.memory[i];
        if (member == window.core.self) window.core.place = std::uint32_t(i);
        window.core.mates.push_back(window.comm->peer(member));
    }
}

// Memory and Control of a member that shares neither.
int make_alone(Window& window) {
    window.own_control = std::make_unique<core::rma::Control>();
    core::rma::Window::Part& own = window.core.parts[std::size_t(window.core.self)];
    own.control = window.own_control.get();
    if (!makes_memory(window.flavor)) return MPI_SUCCESS;
    if (window.flavor == MPI_WIN_FLAVOR_SHARED && window.size() > 1) return MPI_ERR_RMA_SHARED;
    const auto size = std::size_t(window.members[std::size_t(window.core.self)].size);
    window.memory =
        window.comm->runtime().allocate(std::max<std::size_t>(size, 1), size < page ? line : page);
    own.memory = static_cast<std::byte*>(window.memory);
    return window.memory != nullptr ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

void check_one_host(const Window& window) {
    if (window.flavor != MPI_WIN_FLAVOR_SHARED) return;
    for (const Rank rank : window.comm->members())
        if (window.comm->runtime().state().host_of(rank) !=
            window.comm->runtime().state().host_of(window.comm->runtime().rank()))
            fail(MPI_ERR_RMA_SHARED,
                 "found members on several hosts, expected the members of one host, as from "
                 "MPI_Comm_split_type with MPI_COMM_TYPE_SHARED");
}

// Collective: the members' ids of the window, and whether each of them has what it needs.
void exchange_ids(Window& window, const char* call, int error) {
    struct Word {
        std::uint32_t id;
        int error;
    };
    std::vector<Word> words(std::size_t(window.size()));
    words[std::size_t(window.core.self)] = {window.core.id, error};
    if (window.size() > 1) gather_all(*window.comm, words.data(), sizeof(Word), call);
    for (std::size_t rank = 0; rank < words.size(); ++rank) {
        window.core.parts[rank].id = words[rank].id;
        if (words[rank].error == MPI_ERR_RMA_SHARED)
            fail(MPI_ERR_RMA_SHARED,
                 "rank {} cannot share memory with the others of its host: they reach each other "
                 "over links (transport.local), or shared memory is used up (ulimit -v)",
                 rank);
        if (words[rank].error != MPI_SUCCESS)
            fail(words[rank].error, "rank {} cannot allocate its {} bytes", rank,
                 window.members[rank].size);
    }
}

// The name of the memory of a place, which the members of a host publish in their common block
// (MPI_Win_create).
std::byte* name_place(const Window& window, const Offsets& offsets, std::size_t place) {
    return window.block->memory() + offsets.names + place * sizeof(core::SharedMemory::Name);
}

void publish_memory(const Window& window, const Offsets& offsets) {
    const core::rma::Window::Part& own = window.core.parts[std::size_t(window.core.self)];
    const auto name =
        window.comm->runtime().windows().name_of({own.memory, std::size_t(own.bytes)});
    std::memcpy(name_place(window, offsets, window.core.place), &name, sizeof name);
}

void reach_memory(Window& window, const Offsets& offsets) {
    for (std::size_t place = 0; place < offsets.mates.size(); ++place) {
        if (place == window.core.place) continue;
        core::SharedMemory::Name name;
        std::memcpy(&name, name_place(window, offsets, place), sizeof name);
        window.comm->runtime().windows().reach(window.core, offsets.mates[place], name);
    }
}

void fill(Window& window, const Plan& plan, const std::vector<Wish>& wishes) {
    check_one_host(window);
    for (std::size_t rank = 0; rank < wishes.size(); ++rank) {
        window.members[rank] = wishes[rank].member;
        window.core.parts[rank].bytes = std::uint64_t(wishes[rank].member.size);
    }
    window.core.find = find_arithmetic;
    window.core.context = window.comm->context(Traffic::messages);
    const Offsets offsets = lay_out(window, wishes);
    int error = MPI_SUCCESS;
    const bool shares = share_block(window, offsets, plan.call);
    if (shares)
        use_block(window, offsets);
    else
        error = make_alone(window);
    core::rma::Window::Part& own = window.core.parts[std::size_t(window.core.self)];
    if (window.flavor == MPI_WIN_FLAVOR_CREATE) own.memory = static_cast<std::byte*>(plan.base);
    const bool reaches = shares && window.flavor == MPI_WIN_FLAVOR_CREATE;
    if (reaches) publish_memory(window, offsets);
    window.comm->runtime().windows().add(window.core);
    exchange_ids(window, plan.call, error);
    if (reaches) reach_memory(window, offsets);
    window.set_predefined_attributes(own.memory);
}

// Waits until accesses of other members that are under way have left this rank's memory.
void await_served(const Window& window, const char* call) {
    window.comm->runtime().wait_until([&] { return window.core.served == 0; }, call);
}

// Returns the memory of this process.
void* make_window(MPI_Comm handle, const Plan& plan, MPI_Win* win) {
    check_output("win", win);
    *win = MPI_WIN_NULL;
    Communicator& comm = checked<Communicator>(handle);
    if (comm.inter())
        fail(MPI_ERR_COMM, "found an inter-communicator, expected an intra-communicator");
    const Info::Entries hints = entries_of(plan.info);
    const std::vector<Wish> wishes = agree_on_wishes(comm, plan, hints);
    Window& window = make<Window>(make_alike(comm, plan.call), plan.flavor);
    try {
        window.hints = hints;
        window.may_lose = std::any_of(wishes.begin(), wishes.end(),
                                      [](const Wish& wish) { return wish.may_lose != 0; });
        fill(window, plan, wishes);
    } catch (const std::exception& error) {
        stay_away(*window.comm, error);
        await_served(window, plan.call);
        release(window);
        throw;
    }
    *win = handle_of(window);
    return window.core.parts[std::size_t(window.core.self)].memory;
}

int make_from(const char* call, MPI_Comm comm, const Plan& plan, MPI_Win* win, void* baseptr) {
    return api(call, comm, [&](Communicator&) {
        if (makes_memory(plan.flavor)) check_output("baseptr", baseptr);
        void* const memory = make_window(comm, plan, win);
        if (baseptr != nullptr) *static_cast<void**>(baseptr) = memory;
    });
}

template <class Unit>
int query(const char* call, MPI_Win win, int rank, MPI_Aint* size, Unit* unit, void* baseptr) {
    return window_api(call, win, [&](Window& window) {
        check_output("size", size);
        check_output("disp_unit", unit);
        check_output("baseptr", baseptr);
        check_target(window, rank);
        if (window.dynamic()) fail(MPI_ERR_RMA_FLAVOR, "found a window of MPI_Win_create_dynamic");
        for (int member = 0; rank == MPI_PROC_NULL && member < window.size(); ++member)
            if (window.members[std::size_t(member)].size > 0) rank = member;
        const bool reached = rank != MPI_PROC_NULL &&
                             window.core.parts[std::size_t(rank)].memory != nullptr &&
                             window.members[std::size_t(rank)].size > 0;
        *size = reached ? window.members[std::size_t(rank)].size : 0;
        *unit = Unit(rank != MPI_PROC_NULL ? window.members[std::size_t(rank)].unit : 1);
        *static_cast<void**>(baseptr) =
            reached ? window.core.parts[std::size_t(rank)].memory : nullptr;
    });
}

void check_dynamic(const Window& window) {
    if (!window.dynamic())
        fail(MPI_ERR_RMA_FLAVOR, "found a window that was not made by MPI_Win_create_dynamic");
}

void attach(Window& window, void* base, MPI_Aint size) {
    check_dynamic(window);
    if (size < 0) fail(MPI_ERR_SIZE, "found size {}, expected 0 or more bytes", size);
    if (base == nullptr && size > 0) fail(MPI_ERR_BASE, "found a null base for {} bytes", size);
    if (size == 0) return;
    const auto lock = window.comm->runtime().lock();
    auto& attached = window.core.attached;
    const auto* const start = static_cast<const std::byte*>(base);
    const auto next = attached.lower_bound(start);
    const bool meets_next = next != attached.end() && next->first < start + size;
    const bool meets_former =
        next != attached.begin() && std::prev(next)->first + std::prev(next)->second > start;
    if (meets_next || meets_former)
        fail(MPI_ERR_RMA_ATTACH, "found memory of which a part is already attached");
    attached.emplace(start, std::size_t(size));
}

void detach(Window& window, const void* base) {
    check_dynamic(window);
    const auto lock = window.comm->runtime().lock();
    // Memory of size 0 is not kept.
    if (window.core.attached.erase(static_cast<const std::byte*>(base)) == 0 && base == nullptr)
        fail(MPI_ERR_BASE, "found a null base, expected one that was attached");
}

void free_window(MPI_Win* win, Window& window) {
    constexpr const char* call = "MPI_Win_free";
    const bool open = window.started || window.exposed || window.locks != 0 || window.lock_all;
    if (open && !window.revoked())
        fail(MPI_ERR_RMA_SYNC, "found an open epoch, which must end first");
    delete_attributes(window);
    try {
        complete_all(window, call);
    } catch (const Failure&) {
        // The program frees a window whose members have died, or which they have revoked.
        if (!window.may_lose && !window.revoked()) throw;
    }
    meet(*window.comm, window.may_lose, call);
    await_served(window, call);
    *win = MPI_WIN_NULL;
    release(window);
}

}  // namespace
}  // namespace torusmp::mpi::windows

using namespace torusmp::mpi;

TORUSMP_ENTRIES(Win_create,
                (void* base, MPI_Aint size, Displacement disp_unit, MPI_Info info, MPI_Comm comm,
                 MPI_Win* win),
                windows::make_from(name, comm,
                                   {name, MPI_WIN_FLAVOR_CREATE, base, {size, disp_unit}, info},
                                   win, nullptr))
TORUSMP_ENTRIES(Win_allocate,
                (MPI_Aint size, Displacement disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr,
                 MPI_Win* win),
                windows::make_from(
                    name, comm, {name, MPI_WIN_FLAVOR_ALLOCATE, nullptr, {size, disp_unit}, info},
                    win, baseptr))
TORUSMP_ENTRIES(Win_allocate_shared,
                (MPI_Aint size, Displacement disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr,
                 MPI_Win* win),
                windows::make_from(name, comm,
                                   {name, MPI_WIN_FLAVOR_SHARED, nullptr, {size, disp_unit}, info},
                                   win, baseptr))
TORUSMP_ENTRIES(Win_shared_query,
                (MPI_Win win, int rank, MPI_Aint* size, Displacement* disp_unit, void* baseptr),
                windows::query(name, win, rank, size, disp_unit, baseptr))

extern "C" {

#pragma weak MPI_Win_create_dynamic = PMPI_Win_create_dynamic
int PMPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win* win) {
    constexpr const char* call = "MPI_Win_create_dynamic";
    return windows::make_from(call, comm, {call, MPI_WIN_FLAVOR_DYNAMIC, nullptr, {0, 1}, info},
                              win, nullptr);
}

#pragma weak MPI_Win_attach = PMPI_Win_attach
int PMPI_Win_attach(MPI_Win win, void* base, MPI_Aint size) {
    return window_api("MPI_Win_attach", win,
                      [&](Window& window) { windows::attach(window, base, size); });
}

#pragma weak MPI_Win_detach = PMPI_Win_detach
int PMPI_Win_detach(MPI_Win win, const void* base) {
    return window_api("MPI_Win_detach", win,
                      [&](Window& window) { windows::detach(window, base); });
}

#pragma weak MPI_Win_free = PMPI_Win_free
int PMPI_Win_free(MPI_Win* win) {
    // The error handler may still need it.
    Window* const window = win == nullptr ? nullptr : find_even_revoked<Window>(*win);
    const Reference<Window> hold =
        window == nullptr ? Reference<Window>() : Reference<Window>(*window);
    return window_api("MPI_Win_free", win == nullptr ? MPI_WIN_NULL : *win,
                      [&](Window& freed) { windows::free_window(win, freed); });
}
}
