// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/attribute/attributes.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <map>
#include <utility>

#include "config/geometry.h"
#include "job/processors.h"
#include "launch/environment.h"
#include "launch/settings.h"
#include "mpi11/attribute/attribute_calls.h"
#include "mpi11/comm/communicator.h"
#include "mpi11/datatype/datatype.h"
#include "mpi11/error/error.h"
#include "mpi11/error/error_codes.h"
#include "mpi11/rma/window.h"

namespace torusmp::mpi {
namespace {

// Keys by number. A key that the program has freed stays valid while an attribute uses it (MPI-1.1,
// section 5.7.1). Numbers are never reused.
class Keyvals {
  public:
    int add(Keyval keyval) {
        const SharedLock lock(mutex_);
        keyval.number = ++last_;
        held_.emplace(last_, std::make_shared<const Keyval>(keyval));
        return last_;
    }
    std::shared_ptr<const Keyval> find(int number) {
        const SharedLock lock(mutex_);
        if (const auto held = held_.find(number); held != held_.end()) return held->second;
        const auto freed = freed_.find(number);
        return freed == freed_.end() ? nullptr : freed->second.lock();
    }
    void free(int number) {
        const SharedLock lock(mutex_);
        const auto held = held_.find(number);
        if (held == held_.end()) return;  // freed again while still in use: nothing left to release
        std::erase_if(freed_, [](const auto& one) { return one.second.expired(); });
        freed_.emplace(number, held->second);
        held_.erase(held);
    }

  private:
    std::mutex mutex_;
    int last_ = 0x1000;
    std::map<int, std::shared_ptr<const Keyval>> held_;
    std::map<int, std::weak_ptr<const Keyval>> freed_;
};

Keyvals& keyvals() {
    static Keyvals* const only = std::make_unique<Keyvals>().release();
    return *only;
}

bool is_predefined(int number) {
    return number >= MPI_TAG_UB && number <= MPI_FT;
}

constexpr const char* noun(Keyval::Of of) {
    return of == Keyval::Of::communicator ? "communicators"
           : of == Keyval::Of::datatype   ? "datatypes"
                                          : "windows";
}

// A key of the program for objects of this kind.
std::shared_ptr<const Keyval> checked_keyval(int number, Keyval::Of of) {
    if (number == MPI_KEYVAL_INVALID) fail(MPI_ERR_KEYVAL, "found MPI_KEYVAL_INVALID");
    if (is_predefined(number))
        fail(MPI_ERR_KEYVAL, "found the predefined key {}, which cannot be changed", number);
    auto keyval = keyvals().find(number);
    if (keyval == nullptr)
        fail(MPI_ERR_KEYVAL, "found {}, which is not a key or has been freed", number);
    if (keyval->of != of)
        fail(MPI_ERR_KEYVAL, "found key {}, which is for {}, expected one for {}", number,
             noun(keyval->of), noun(of));
    return keyval;
}

void check_outcome(int code, const char* which, const Keyval& keyval) {
    if (code == MPI_SUCCESS) return;
    fail(code, "the {} function of attribute key {} returned {}", which, keyval.number, code);
}

// Created with the first attribute.
template <class Owner>
Attributes& attributes_of(Owner& owner) {
    static std::mutex mutex;
    const SharedLock lock(mutex);
    if (owner.attributes == nullptr) owner.attributes = std::make_shared<Attributes>();
    return *owner.attributes;
}

// Calls the delete function, and removes the attribute if the function agrees.
template <class Owner>
void remove(Owner& owner, const std::shared_ptr<const Attributes::Entry>& entry) {
    check_outcome(call_delete(*entry, handle_of(owner)), "delete", *entry->keyval);
    owner.attributes->put(entry->keyval->number, nullptr);
}

std::shared_ptr<const Attributes::Entry> make_entry(std::shared_ptr<const Keyval> keyval,
                                                    AttributeValue value) {
    auto entry = std::make_shared<Attributes::Entry>();
    entry->keyval = std::move(keyval);
    entry->value = value;
    entry->integer = int(value.bits);
    entry->address = value.bits;
    return entry;
}

}  // namespace

int add_keyval(Keyval keyval) {
    return keyvals().add(keyval);
}

void free_keyval(int number, Keyval::Of of) {
    checked_keyval(number, of);
    keyvals().free(number);
}

std::vector<std::shared_ptr<const Attributes::Entry>> Attributes::entries() const {
    const SharedLock lock(mutex_);
    return entries_;
}

std::shared_ptr<const Attributes::Entry> Attributes::find(int number) const {
    const SharedLock lock(mutex_);
    for (const auto& entry : entries_)
        if (entry->keyval->number == number) return entry;
    return nullptr;
}

void Attributes::put(int number, std::shared_ptr<const Entry> entry) {
    const SharedLock lock(mutex_);
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& known) {
        return known->keyval->number == number;
    });
    if (found != entries_.end()) entries_.erase(found);
    if (entry != nullptr) entries_.push_back(std::move(entry));
}

template <class Owner>
void set_attribute(Owner& owner, int number, AttributeValue value) {
    auto keyval = checked_keyval(number, of_owner<Owner>);
    Attributes& attributes = attributes_of(owner);
    if (const auto old = attributes.find(number)) remove(owner, old);
    attributes.put(number, make_entry(std::move(keyval), value));
}

template <class Owner>
std::shared_ptr<const Attributes::Entry> get_attribute(Owner& owner, int number) {
    const auto keyval = checked_keyval(number, of_owner<Owner>);
    return attributes_of(owner).find(keyval->number);
}

template <class Owner>
void delete_attribute(Owner& owner, int number) {
    const auto keyval = checked_keyval(number, of_owner<Owner>);
    const auto entry = attributes_of(owner).find(number);
    if (entry == nullptr)
        fail(MPI_ERR_KEYVAL, "found key {}, under which no attribute is set", number);
    remove(owner, entry);
}

template <class Owner>
void delete_attributes(Owner& owner) {
    if (owner.attributes == nullptr) return;
    // A delete function may set or delete others, so the list is read anew each time.
    for (auto all = owner.attributes->entries(); !all.empty(); all = owner.attributes->entries())
        remove(owner, all.back());
}

template <class Owner>
std::shared_ptr<Attributes> copy_attributes(Owner& from) {
    if (from.attributes == nullptr) return nullptr;
    std::shared_ptr<Attributes> copies;
    for (const auto& entry : from.attributes->entries()) {
        AttributeValue value;
        bool flag = false;
        check_outcome(call_copy(*entry, handle_of(from), value, flag), "copy", *entry->keyval);
        if (!flag) continue;
        if (copies == nullptr) copies = std::make_shared<Attributes>();
        copies->put(entry->keyval->number, make_entry(entry->keyval, value));
    }
    return copies;
}

#define TORUSMP_FOR(Owner)                                                        \
    template void set_attribute(Owner&, int, AttributeValue);                     \
    template std::shared_ptr<const Attributes::Entry> get_attribute(Owner&, int); \
    template void delete_attribute(Owner&, int);                                  \
    template void delete_attributes(Owner&);                                      \
    template std::shared_ptr<Attributes> copy_attributes(Owner&)
TORUSMP_FOR(Communicator);
TORUSMP_FOR(Datatype);
TORUSMP_FOR(Window);
#undef TORUSMP_FOR

namespace {

// All processes of one host see the same time.
bool clock_is_shared() {
    const core::Runtime& machine = runtime();
    for (Rank rank = 0; rank < machine.size(); ++rank)
        if (machine.state().host_of(rank) != machine.state().host_of(machine.rank())) return false;
    return true;
}

// The program of the job that this process runs; the launcher reports it if there are several.
int program_number() {
    const char* const text = std::getenv(launch::env_program);
    return text == nullptr ? 0 : std::atoi(text);
}

// The processors of all hosts, which are alike.
int universe_size() {
    const job::Process& process = *library().process;
    if (const int most = process.settings()[launch::setting::universe]; most != 0) return most;
    const auto hosts = std::max<std::size_t>(host_names(process.settings()).size(), 1);
    return std::max(process.size(),
                    int(job::processor_count(job::processors_of_job()) * double(hosts)));
}

int predefined_value(int number) {
    switch (number) {
        case MPI_TAG_UB:
            return std::numeric_limits<core::Tag>::max();
        case MPI_HOST:
            return MPI_PROC_NULL;
        case MPI_IO:
            return MPI_ANY_SOURCE;  // every process can read and write
        case MPI_WTIME_IS_GLOBAL:
            return clock_is_shared() ? 1 : 0;
        case MPI_APPNUM:
            return program_number();
        case MPI_UNIVERSE_SIZE:
            return universe_size();
        case MPI_FT:
            return library().process->keeps_going() ? 1 : 0;
        default:
            return last_used_code();
    }
}

}  // namespace

const Attributes::Entry* predefined_attribute(int number) {
    constexpr std::size_t count = MPI_FT - MPI_TAG_UB + 1;
    using Entries = std::array<Attributes::Entry, count>;
    if (!is_predefined(number)) return nullptr;
    const auto set = [](Attributes::Entry& entry, int value) {
        entry.value = {AttributeValue::Form::integer, value};
        entry.integer = value;
    };
    static Entries* const known = [&] {
        auto made = std::make_unique<Entries>();
        for (std::size_t i = 0; i < count; ++i)
            set((*made)[i], predefined_value(MPI_TAG_UB + int(i)));
        return made.release();
    }();
    Attributes::Entry& entry = (*known)[std::size_t(number - MPI_TAG_UB)];
    if (number != MPI_LASTUSEDCODE) return &entry;
    // The attribute whose value may change. Others may hold its address, so it is only written when
    // it changes.
    static std::mutex mutex;
    const SharedLock lock(mutex);
    if (const int value = predefined_value(number); value != entry.integer) set(entry, value);
    return &entry;
}

void* shown_in_c(const Attributes::Entry& entry) {
    switch (entry.value.form) {
        case AttributeValue::Form::integer:
            return const_cast<int*>(&entry.integer);
        case AttributeValue::Form::address:
            return const_cast<std::intptr_t*>(&entry.address);
        default:
            return reinterpret_cast<void*>(entry.value.bits);
    }
}

}  // namespace torusmp::mpi
