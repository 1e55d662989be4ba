// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/tool/events.h"

#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <limits>
#include <string>

#include "job/front_ends.h"
#include "mpi11/environment/info.h"
#include "mpi11/environment/instance.h"
#include "mpi11/tool/tool.h"

namespace torusmp::mpi::tool {
namespace {

constexpr int elements = 3;  // of each event, MPI_COUNT

struct Kind {
    const char *name, *help, *category;
};
enum : int { cable_died, cable_returned, link_detours, unexpected_full };
constexpr std::array<Kind, 4> kinds{
    {{"link.died", "A cable has died: dimension, sign (+1 or -1), rank at the other end.",
      "link counters"},
     {"link.returned", "A link uses its cable again: dimension, sign, rank at the other end.",
      "link counters"},
     {"link.detours", "A link uses other cables: dimension, sign, rank at the other end.",
      "link counters"},
     {"unexpected.full",
      "Unexpected messages use more memory than transport.unexpected, so a rank holds its messages: "
      "that rank of the job, the bytes in use, the limit.",
      "message counters"}}};

MPI_Count nanoseconds() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

struct Instance {
    int kind;
    std::array<MPI_Count, elements> data;
    MPI_Count time;
};

// Levels of safety, weakest guarantee of the callback first.
constexpr std::array<MPI_T_cb_safety, 4> levels{
    MPI_T_CB_REQUIRE_NONE, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_T_CB_REQUIRE_THREAD_SAFE,
    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE};
constexpr std::size_t first_direct = 2;

std::size_t level_of(MPI_T_cb_safety safety) {
    return std::size_t(index_of(levels, [&](MPI_T_cb_safety known) { return known == safety; }));
}

struct Callback {
    MPI_T_event_cb_function* function = nullptr;
    void* user_data = nullptr;
};

struct Registration {
    explicit Registration(int of) : kind(of) {}
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;
    // The last use is over.
    ~Registration() {
        if (free_function != nullptr)
            free_function(handle(), MPI_T_CB_REQUIRE_NONE, free_user_data);
    }
    MPI_T_event_registration handle() { return reinterpret_cast<MPI_T_event_registration>(this); }

    const int kind;
    std::array<Callback, levels.size()> callbacks;  // by level
    MPI_T_event_dropped_cb_function* dropped_function = nullptr;
    MPI_Count dropped = 0;
    MPI_T_event_free_cb_function* free_function = nullptr;
    void* free_user_data = nullptr;
};

using Held = std::shared_ptr<Registration>;

// The callback to call for a level, or a stronger one.
const Callback* callback_for(const Registration& registration, std::size_t from, std::size_t to) {
    for (std::size_t level = from; level < to; ++level)
        if (registration.callbacks[level].function != nullptr)
            return &registration.callbacks[level];
    return nullptr;
}

class Events {
  public:
    static Events& only() {
        static Events* const made = std::make_unique<Events>().release();
        return *made;
    }

    MPI_T_event_registration add(int kind) {
        const std::lock_guard lock(mutex_);
        registrations_.push_back(std::make_shared<Registration>(kind));
        return registrations_.back()->handle();
    }
    Held find(MPI_T_event_registration handle) {
        const std::lock_guard lock(mutex_);
        for (const Held& held : registrations_)
            if (held->handle() == handle) return held;
        refuse(MPI_T_ERR_INVALID_HANDLE);
    }
    // change(Registration&)
    template <class Change>
    void change(MPI_T_event_registration handle, Change&& change) {
        const Held held = find(handle);
        const std::lock_guard lock(mutex_);
        change(*held);
    }
    void remove(MPI_T_event_registration handle) {
        const Held held = find(handle);  // ends behind the lock
        const std::lock_guard lock(mutex_);
        std::erase(registrations_, held);
        std::erase_if(waiting_, [&](const Waiting& waiting) { return waiting.held == held; });
    }

    void raise(const Instance& instance) {
        std::vector<std::pair<Held, Callback>> direct;
        bool others = false;
        {
            const std::lock_guard lock(mutex_);
            for (const Held& held : registrations_) {
                if (held->kind != instance.kind) continue;
                if (const auto* now = callback_for(*held, first_direct, levels.size()))
                    direct.emplace_back(held, *now);
                else if (callback_for(*held, 0, first_direct) != nullptr)
                    others = keep(held, instance) || others;
            }
        }
        for (const auto& [held, callback] : direct)
            call_back(*held, callback, instance, first_direct);
        if (others) want_attention();
    }
    void deliver() {
        for (;;) {
            Waiting next;
            Callback callback;
            {
                const std::lock_guard lock(mutex_);
                if (waiting_.empty()) return;
                next = std::move(waiting_.front());
                waiting_.pop_front();
                if (const auto* found = callback_for(*next.held, 0, first_direct))
                    callback = *found;
            }
            if (callback.function != nullptr) call_back(*next.held, callback, next.instance, 0);
            tell_dropped(*next.held);
        }
    }

  private:
    static constexpr std::size_t most_waiting = 4096;
    struct Waiting {
        Held held;
        Instance instance;
    };

    bool keep(const Held& held, const Instance& instance) {
        if (waiting_.size() < most_waiting)
            waiting_.push_back({held, instance});
        else
            ++held->dropped;
        return true;
    }
    static void call_back(Registration& held, const Callback& callback, Instance instance,
                          std::size_t level) {
        callback.function(reinterpret_cast<MPI_T_event_instance>(&instance), held.handle(),
                          levels[level], callback.user_data);
    }
    void tell_dropped(Registration& held) {
        MPI_Count count = 0;
        MPI_T_event_dropped_cb_function* function = nullptr;
        {
            const std::lock_guard lock(mutex_);
            if (held.dropped == 0 || held.dropped_function == nullptr) return;
            count = std::exchange(held.dropped, 0);
            function = held.dropped_function;
        }
        function(count, held.handle(), 0, MPI_T_CB_REQUIRE_NONE, nullptr);
    }

    std::mutex mutex_;
    std::vector<Held> registrations_;
    std::deque<Waiting> waiting_;
};

// The last state of each link, by direction. Changed under the Runtime's lock.
std::array<std::atomic<LinkState>, 2 * routing::max_dimensions> last_states{};

void on_link(const routing::LinkNews& news) {
    using State = routing::LinkNews::State;
    last_states[std::size_t(news.direction.index())] = news.state == State::dead ? link_down
                                                       : news.state == State::alive
                                                           ? link_on_cable
                                                           : link_on_detour;
    const int kind = news.state == State::dead    ? cable_died
                     : news.state == State::alive ? cable_returned
                                                  : link_detours;
    Events::only().raise(
        {kind, {news.direction.dimension, news.direction.sign, news.peer}, nanoseconds()});
}

void on_unexpected_full(core::Rank from, std::size_t used, std::size_t limit) {
    Events::only().raise(
        {unexpected_full, {from, MPI_Count(used), MPI_Count(limit)}, nanoseconds()});
}

// Instances live while a callback runs, in which no lock may be taken.
template <class Body>
int on_instance(MPI_T_event_instance instance, Body&& body) noexcept {
    if (instance == nullptr) return MPI_T_ERR_INVALID_HANDLE;
    return body(*reinterpret_cast<const Instance*>(instance));
}

}  // namespace

void watch_job() {
    job::on_link_news = on_link;
    job::on_unexpected_full = on_unexpected_full;
}

void deliver_events() {
    Events::only().deliver();
}

LinkState last_state(routing::Direction link) {
    return last_states[std::size_t(link.index())];
}

std::vector<int> events_of(std::string_view category) {
    std::vector<int> found;
    for (std::size_t i = 0; i < kinds.size(); ++i)
        if (kinds[i].category == category) found.push_back(int(i));
    return found;
}

}  // namespace torusmp::mpi::tool

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_T_event_get_num = PMPI_T_event_get_num
int PMPI_T_event_get_num(int* num_events) {
    return tool::call([&] { tool::required(num_events) = int(tool::kinds.size()); });
}

#pragma weak MPI_T_event_get_info = PMPI_T_event_get_info
int PMPI_T_event_get_info(int event_index, char* name, int* name_len, int* verbosity,
                          MPI_Datatype array_of_datatypes[], MPI_Aint array_of_displacements[],
                          int* num_elements, MPI_T_enum* enumtype, MPI_Info* info, char* desc,
                          int* desc_len, int* bind) {
    return tool::call([&] {
        const tool::Kind& kind = tool::at(tool::kinds, event_index);
        tool::put_text(kind.name, name, name_len);
        tool::put_text(kind.help, desc, desc_len);
        tool::put(verbosity, int(MPI_T_VERBOSITY_USER_BASIC));
        const int room = num_elements != nullptr ? *num_elements : 0;
        for (int i = 0; i < std::min(room, tool::elements); ++i) {
            if (array_of_datatypes != nullptr) array_of_datatypes[i] = MPI_COUNT;
            if (array_of_displacements != nullptr)
                array_of_displacements[i] = MPI_Aint(i * int(sizeof(MPI_Count)));
        }
        tool::put(num_elements, tool::elements);
        tool::put(enumtype, MPI_T_ENUM_NULL);
        if (info != nullptr) *info = handle_of(make<Info>());
        tool::put(bind, int(MPI_T_BIND_NO_OBJECT));
    });
}

#pragma weak MPI_T_event_get_index = PMPI_T_event_get_index
int PMPI_T_event_get_index(const char* name, int* event_index) {
    return tool::call([&] {
        const std::string_view wanted(&tool::required(name));
        tool::required(event_index) =
            tool::index_of(tool::kinds, [&](const auto& kind) { return kind.name == wanted; });
    });
}

#pragma weak MPI_T_event_handle_alloc = PMPI_T_event_handle_alloc
int PMPI_T_event_handle_alloc(int event_index, void*, MPI_Info,
                              MPI_T_event_registration* event_registration) {
    return tool::call([&] {
        tool::at(tool::kinds, event_index);
        tool::required(event_registration) = tool::Events::only().add(event_index);
    });
}

#pragma weak MPI_T_event_handle_free = PMPI_T_event_handle_free
int PMPI_T_event_handle_free(MPI_T_event_registration event_registration, void* user_data,
                             MPI_T_event_free_cb_function free_cb_function) {
    return tool::call([&] {
        tool::Events::only().change(event_registration, [&](tool::Registration& registration) {
            registration.free_function = free_cb_function;
            registration.free_user_data = user_data;
        });
        tool::Events::only().remove(event_registration);
    });
}

#pragma weak MPI_T_event_register_callback = PMPI_T_event_register_callback
int PMPI_T_event_register_callback(MPI_T_event_registration event_registration,
                                   MPI_T_cb_safety cb_safety, MPI_Info, void* user_data,
                                   MPI_T_event_cb_function event_cb_function) {
    return tool::call([&] {
        const std::size_t level = tool::level_of(cb_safety);
        tool::Events::only().change(event_registration, [&](tool::Registration& registration) {
            registration.callbacks[level] = {event_cb_function, user_data};
        });
    });
}

#pragma weak MPI_T_event_set_dropped_handler = PMPI_T_event_set_dropped_handler
int PMPI_T_event_set_dropped_handler(MPI_T_event_registration event_registration,
                                     MPI_T_event_dropped_cb_function dropped_cb_function) {
    return tool::call([&] {
        tool::Events::only().change(event_registration, [&](tool::Registration& registration) {
            registration.dropped_function = dropped_cb_function;
        });
    });
}

// There are no hints for events.
#pragma weak MPI_T_event_handle_set_info = PMPI_T_event_handle_set_info
int PMPI_T_event_handle_set_info(MPI_T_event_registration event_registration, MPI_Info) {
    return tool::call([&] { tool::Events::only().find(event_registration); });
}

#pragma weak MPI_T_event_handle_get_info = PMPI_T_event_handle_get_info
int PMPI_T_event_handle_get_info(MPI_T_event_registration event_registration, MPI_Info* info_used) {
    return tool::call([&] {
        tool::Events::only().find(event_registration);
        tool::required(info_used) = handle_of(make<Info>());
    });
}

#pragma weak MPI_T_event_callback_set_info = PMPI_T_event_callback_set_info
int PMPI_T_event_callback_set_info(MPI_T_event_registration event_registration,
                                   MPI_T_cb_safety cb_safety, MPI_Info) {
    return tool::call([&] {
        tool::level_of(cb_safety);
        tool::Events::only().find(event_registration);
    });
}

#pragma weak MPI_T_event_callback_get_info = PMPI_T_event_callback_get_info
int PMPI_T_event_callback_get_info(MPI_T_event_registration event_registration,
                                   MPI_T_cb_safety cb_safety, MPI_Info* info_used) {
    return tool::call([&] {
        tool::level_of(cb_safety);
        tool::Events::only().find(event_registration);
        tool::required(info_used) = handle_of(make<Info>());
    });
}

#pragma weak MPI_T_event_read = PMPI_T_event_read
int PMPI_T_event_read(MPI_T_event_instance event_instance, int element_index, void* buffer) {
    return tool::on_instance(event_instance, [&](const tool::Instance& instance) {
        if (buffer == nullptr) return MPI_T_ERR_INVALID;
        if (element_index < 0 || element_index >= tool::elements) return MPI_T_ERR_INVALID_INDEX;
        *static_cast<MPI_Count*>(buffer) = instance.data[std::size_t(element_index)];
        return MPI_SUCCESS;
    });
}

#pragma weak MPI_T_event_copy = PMPI_T_event_copy
int PMPI_T_event_copy(MPI_T_event_instance event_instance, void* buffer) {
    return tool::on_instance(event_instance, [&](const tool::Instance& instance) {
        if (buffer == nullptr) return MPI_T_ERR_INVALID;
        std::copy(instance.data.begin(), instance.data.end(), static_cast<MPI_Count*>(buffer));
        return MPI_SUCCESS;
    });
}

#pragma weak MPI_T_event_get_timestamp = PMPI_T_event_get_timestamp
int PMPI_T_event_get_timestamp(MPI_T_event_instance event_instance, MPI_Count* event_timestamp) {
    return tool::on_instance(event_instance, [&](const tool::Instance& instance) {
        tool::put(event_timestamp, instance.time);
        return MPI_SUCCESS;
    });
}

#pragma weak MPI_T_event_get_source = PMPI_T_event_get_source
int PMPI_T_event_get_source(MPI_T_event_instance event_instance, int* source_index) {
    return tool::on_instance(event_instance, [&](const tool::Instance&) {
        tool::put(source_index, 0);
        return MPI_SUCCESS;
    });
}

#pragma weak MPI_T_source_get_num = PMPI_T_source_get_num
int PMPI_T_source_get_num(int* num_sources) {
    return tool::call([&] { tool::required(num_sources) = 1; });
}

#pragma weak MPI_T_source_get_info = PMPI_T_source_get_info
int PMPI_T_source_get_info(int source_index, char* name, int* name_len, char* desc, int* desc_len,
                           MPI_T_source_order* ordering, MPI_Count* ticks_per_second,
                           MPI_Count* max_ticks, MPI_Info* info) {
    return tool::call([&] {
        if (source_index != 0) tool::refuse(MPI_T_ERR_INVALID_INDEX);
        tool::put_text("runtime", name, name_len);
        tool::put_text("The links and messages of this rank.", desc, desc_len);
        tool::put(ordering, MPI_T_SOURCE_ORDERED);
        tool::put(ticks_per_second, MPI_Count(1'000'000'000));
        tool::put(max_ticks, std::numeric_limits<MPI_Count>::max());
        if (info != nullptr) *info = handle_of(make<Info>());
    });
}

#pragma weak MPI_T_source_get_timestamp = PMPI_T_source_get_timestamp
int PMPI_T_source_get_timestamp(int source_index, MPI_Count* timestamp) {
    return tool::call([&] {
        if (source_index != 0) tool::refuse(MPI_T_ERR_INVALID_INDEX);
        tool::required(timestamp) = tool::nanoseconds();
    });
}
}
