// SPDX-License-Identifier: BSD-3-Clause
#include "core/rma/window_actor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace torusmp::core::testing::windows {
namespace {

constexpr std::size_t most_under_way = 8;

std::uint64_t value_of(const std::byte* word) {
    std::uint64_t value = 0;
    std::memcpy(&value, word, 8);
    return value;
}

void add_words(void* result, const void* a, const void* b, std::size_t count, const void*) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t sum = value_of(static_cast<const std::byte*>(a) + 8 * i) +
                                  value_of(static_cast<const std::byte*>(b) + 8 * i);
        std::memcpy(static_cast<std::byte*>(result) + 8 * i, &sum, 8);
    }
}

}  // namespace

bool find(std::uint16_t number, rma::Arithmetic& found) {
    if (number > add) return false;
    found.combine = number == add ? add_words : nullptr;
    found.keeps = number == no_op;
    found.element = 8;
    return true;
}

Actor::Actor(World& world, Rank self)
    : world_(world), self_(self), regions_(std::size_t(world.job.size())) {
    for (Region& region : regions_) {
        region.model.assign(world.region, std::byte{0});
        region.used.assign(world.region, false);
    }
}

Actor::~Actor() = default;

void Actor::fail(std::string text) {
    if (world_.failure.empty()) world_.failure = fmt::format("rank {}: {}", self_, text);
}

std::uint64_t Actor::at(std::uint64_t offset, Rank target) const {
    if (!window.dynamic) return offset;
    return reinterpret_cast<std::uint64_t>(world_.memory[std::size_t(target)].data()) + offset;
}

void Actor::start(Operation& operation, Action action, Rank target) {
    operation.window_ = &window;
    operation.action = action;
    operation.target = int(target);
    world_.job[self_].windows().start(operation);
}

// An access to a part of the region that nothing under way touches.
void Actor::start_region(Rank target) {
    Region& region = regions_[std::size_t(target)];
    if (region.flush != nullptr) return;
    sim::Random& random = world_.random;
    // Blocks of words: `count` of `bytes`, each `stride` behind the one before.
    const std::size_t room = world_.region / 8;
    const std::size_t block = 1 + random.below(random.below(3) == 0 ? room / 2 : 6);
    const std::size_t stride = block + random.below(4);
    const std::size_t first = random.below(room);
    if (first + block > room) return;
    const std::size_t most = 1 + (room - first - block) / stride;
    const std::size_t count = 1 + random.below(std::min<std::size_t>(most, 40));
    for (std::size_t i = 0; i < count; ++i)
        for (std::size_t byte = 0; byte < 8 * block; ++byte)
            if (region.used[8 * (first + i * stride) + byte]) return start_flush(target);
    Access& access = under_way_.emplace_back();
    const std::size_t bytes = 8 * block * count;
    access.there = std::make_unique<Layout>(
        std::vector<Layout::Run>{{0, 8 * block, count, std::ptrdiff_t(8 * stride)}});
    const bool scattered_here = random.below(3) == 0;
    access.memory.assign(bytes * 2 + 64, std::byte{0});
    access.here = std::make_unique<Layout>(std::vector<Layout::Run>{
        {16, 8, bytes / 8, scattered_here ? std::ptrdiff_t{16} : std::ptrdiff_t{8}}});
    const Buffer here(access.memory.data(), *access.here);
    const std::uint64_t offset = head_bytes + std::size_t(self_) * world_.region + 8 * first;
    access.place = {at(offset, target), bytes, nullptr};
    const Buffer place(nullptr, *access.there);
    access.place.layout = place.layout;
    // The model.
    const Buffer model(region.model.data() + 8 * first, *access.there);
    access.expected.resize(bytes);
    model.pack(0, access.expected.data(), bytes);
    static constexpr Action actions[] = {Action::put, Action::get, Action::accumulate,
                                         Action::get_accumulate};
    const Action action = actions[random.below(4)];
    std::vector<std::byte> data(bytes);
    fill(data.data(), bytes, random.next());
    const bool changes = action != Action::get;
    access.arithmetic = action == Action::accumulate || action == Action::get_accumulate
                            ? std::uint16_t(random.below(2) == 0 ? add : replace)
                            : replace;
    if (action == Action::get_accumulate && random.below(3) == 0) access.arithmetic = no_op;
    access.element = 8;
    for (std::size_t i = 0; i < count; ++i)
        std::fill_n(region.used.begin() + std::ptrdiff_t(8 * (first + i * stride)), 8 * block,
                    true);
    if (changes && access.arithmetic != no_op) {
        std::vector<std::byte> after = access.expected;
        if (access.arithmetic == add)
            add_words(after.data(), after.data(), data.data(), bytes / 8, nullptr);
        else
            after = data;
        model.unpack(0, after.data(), bytes);
        if (action != Action::get_accumulate) here.unpack(0, data.data(), bytes);
    }
    if (action == Action::get) {
        access.result = here;
    } else if (action == Action::get_accumulate) {
        access.result = here;
        if (access.arithmetic != no_op) {
            access.memory.resize(access.memory.size() + bytes);
            access.result = Buffer(access.memory.data(), *access.here);
            std::copy(data.begin(), data.end(), access.memory.end() - std::ptrdiff_t(bytes));
            access.data = Buffer(access.memory.data() + access.memory.size() - bytes, bytes);
        }
    } else {
        access.data = here;
    }
    ++accesses_;
    if (!mapped(target)) return start(access, action, target);
    access.action = action;
    const Buffer there(world_.memory[std::size_t(target)].data() + offset, *access.there);
    rma::Arithmetic how;
    find(access.arithmetic, how);
    rma::Control& lock = *window.parts[std::size_t(target)].control;
    if (action == Action::put)
        rma::copy(access.data, there);
    else if (action == Action::get)
        rma::copy(there, access.result);
    else
        rma::apply(lock, how, access.data, there,
                   action == Action::get_accumulate ? &access.result : nullptr);
}

// An atomic on a word of all.
void Actor::start_word(Rank target) {
    Access& access = under_way_.emplace_back();
    Totals& totals = world_.totals[std::size_t(target)];
    access.word = Word(world_.random.below(3));
    access.place = {at(8 * access.word, target), 8, nullptr};
    access.element = 8;
    access.arithmetic = add;
    access.result = {&access.old, 8};
    access.given = 1 + world_.random.below(1000);
    Action action = Action::get_accumulate;
    if (access.word == fetched) {
        access.given = 1;
        ++totals.fetches;
    } else if (access.word == summed) {
        action = world_.random.below(2) == 0 ? Action::accumulate : Action::get_accumulate;
        totals.sum += access.given;
    } else {
        action = Action::compare_and_swap;
        access.wanted = swap_guess_;
        access.pair = {access.wanted, access.wanted + 1};
    }
    access.data =
        access.word == swapped ? Buffer(access.pair.data(), 16) : Buffer(&access.given, 8);
    ++accesses_;
    if (!mapped(target)) return start(access, action, target);
    access.action = action;
    rma::Control& lock = *window.parts[std::size_t(target)].control;
    std::byte* const there = world_.word(target, access.word);
    auto* const old = reinterpret_cast<std::byte*>(&access.old);
    if (access.word == swapped) {
        rma::compare_and_swap(lock, 8, access.data.base, access.data.base + 8, there, old);
    } else {
        rma::Arithmetic how;
        find(add, how);
        rma::apply(lock, how, access.data, {there, 8}, &access.result);
    }
    access.target = int(target);
}

void Actor::start_flush(Rank target) {
    Region& region = regions_[std::size_t(target)];
    region.flush = std::make_unique<Operation>();
    window.dealings[std::size_t(target)].dirty = false;
    if (!mapped(target)) start(*region.flush, Action::flush, target);
}

void Actor::finish(Access& access) {
    if (access.status().error != Error::none) fail("an access ended with an error");
    if (access.refused()) fail("an access was refused");
    if (access.word == words) {
        const bool returns =
            access.action == Action::get || access.action == Action::get_accumulate;
        std::vector<std::byte> found(access.expected.size());
        if (returns) access.result.pack(0, found.data(), found.size());
        if (returns && found != access.expected)
            fail(fmt::format("access {} of {} B returned wrong bytes", int(access.action),
                             found.size()));
        return;
    }
    Totals& totals = world_.totals[std::size_t(access.target)];
    if (access.word == fetched) {
        if (totals.seen.size() <= access.old) totals.seen.resize(access.old + 1);
        if (totals.seen[access.old]) fail(fmt::format("two fetches returned {}", access.old));
        totals.seen[access.old] = true;
    } else if (access.word == swapped) {
        if (access.old == access.wanted) ++totals.swaps;
        swap_guess_ = access.old + (access.old == access.wanted ? 1 : 0);
    }
}

// ---- the counter under a lock ----

void Actor::read_guarded() {
    Guarded& it = guarded_;
    Totals& totals = world_.totals[std::size_t(it.target)];
    if (std::exchange(totals.in_section, true)) fail("two ranks hold one exclusive lock");
    it.step = Guarded::Step::reading;
    if (mapped(it.target)) {
        it.value = value_of(world_.word(it.target, guarded));
        return;
    }
    it.read.place = {at(8 * guarded, it.target), 8, nullptr};
    it.read.result = {&it.value, 8};
    start(it.read, Action::get, it.target);
}

void Actor::write_guarded() {
    Guarded& it = guarded_;
    ++it.value;
    it.step = Guarded::Step::writing;
    if (mapped(it.target)) {
        std::memcpy(world_.word(it.target, guarded), &it.value, 8);
        return;
    }
    it.write.place = {at(8 * guarded, it.target), 8, nullptr};
    it.write.data = {&it.value, 8};
    start(it.write, Action::put, it.target);
    if (window.parts[std::size_t(it.target)].control != nullptr)
        start(it.flush, Action::flush, it.target);
}

void Actor::step_guarded() {
    Guarded& it = guarded_;
    switch (it.step) {
        case Guarded::Step::idle:
            if (stopping_ || world_.random.below(20) != 0) return;
            it.target = Rank(world_.random.below(std::uint64_t(world_.job.size())));
            it.step = Guarded::Step::locking;
            return start(it.lock, Action::lock_exclusive, it.target);
        case Guarded::Step::locking:
            if (it.lock.complete()) read_guarded();
            return;
        case Guarded::Step::reading:
            if (it.read.complete()) write_guarded();
            return;
        case Guarded::Step::writing:
            if (!it.write.complete() || !it.flush.complete()) return;
            it.step = Guarded::Step::unlocking;
            world_.totals[std::size_t(it.target)].in_section = false;
            ++world_.totals[std::size_t(it.target)].guarded_rounds;
            if (window.parts[std::size_t(it.target)].control == nullptr)
                return start(it.unlock, Action::unlock_exclusive, it.target);
            return world_.job[self_].windows().unlock(window, it.target, true);
        case Guarded::Step::unlocking:
            if (it.unlock.complete()) it.step = Guarded::Step::idle;
            return;
    }
}

void Actor::act() {
    for (auto it = under_way_.begin(); it != under_way_.end();) {
        if (!it->complete()) {
            ++it;
            continue;
        }
        finish(*it);
        it = under_way_.erase(it);
    }
    for (std::size_t target = 0; target < regions_.size(); ++target) {
        Region& region = regions_[target];
        if (region.flush == nullptr || !region.flush->complete() ||
            window.dealings[target].open != 0)
            continue;
        region.flush.reset();
        region.used.assign(region.used.size(), false);
    }
    step_guarded();
    for (std::size_t target = 0; target < regions_.size() && stopping_; ++target)
        if (window.dealings[target].dirty && regions_[target].flush == nullptr)
            start_flush(Rank(target));
    if (stopping_ || under_way_.size() >= most_under_way) return;
    const auto target = Rank(world_.random.below(std::uint64_t(world_.job.size())));
    if (world_.random.below(4) == 0)
        start_word(target);
    else
        start_region(target);
}

bool Actor::idle() const {
    return under_way_.empty() && guarded_.step == Guarded::Step::idle && window.open == 0 &&
           std::all_of(regions_.begin(), regions_.end(),
                       [](const Region& region) { return region.flush == nullptr; }) &&
           std::none_of(window.dealings.begin(), window.dealings.end(),
                        [](const Window::Dealings& it) { return it.dirty; });
}

void Actor::check_regions() {
    for (std::size_t target = 0; target < regions_.size(); ++target) {
        const std::byte* const found =
            world_.memory[target].data() + head_bytes + std::size_t(self_) * world_.region;
        if (!std::equal(found, found + world_.region, regions_[target].model.begin()))
            fail(fmt::format("its region in the window of rank {} differs from its model", target));
    }
}

}  // namespace torusmp::core::testing::windows
