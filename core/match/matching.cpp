// SPDX-License-Identifier: BSD-3-Clause
#include "core/match/matching.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace torusmp::core {
namespace {

constexpr std::size_t first_table_size = 64;
constexpr std::size_t most_idle_table = 4096;

// The key under which an unexpected message is in table `which`.
Rank source_key(const Unexpected& message, int which) {
    return (which & 2) != 0 ? any_source : message.source;
}
Tag tag_key(const Unexpected& message, int which) {
    return (which & 1) != 0 ? any_tag : message.tag;
}

}  // namespace

Matching::Matching() : posted_table_(first_table_size) {
    for (auto& table : unexpected_table_) table.resize(first_table_size);
}

void Matching::post_with_others(ReceiveRequest& receive) {
    TORUSMP_ASSERT(posted_ >= 2, posted_, receive.peer_, receive.tag_);
    if (posted_ > posted_table_.size()) grow_posted();
    if (alone_ != nullptr) link(*std::exchange(alone_, nullptr));
    link(receive);
}

void Matching::link(ReceiveRequest& receive) {
    receive.hash_ = hash(receive.context_, receive.peer_, receive.tag_);
    PostedQueue& queue = queue_of(receive.hash_);
    TORUSMP_ASSERT(queue.tail == nullptr || queue.tail->ordinal_ < receive.ordinal_,
                   receive.ordinal_, receive.context_, receive.peer_, receive.tag_);
    receive.next_ = nullptr;
    receive.previous_ = queue.tail;
    (queue.tail == nullptr ? queue.head : queue.tail->next_) = &receive;
    queue.tail = &receive;
}

ReceiveRequest* Matching::last_posted(Context context, Rank source, Tag tag) const {
    const auto same = [&](const ReceiveRequest& r) {
        return r.tag_ == tag && r.peer_ == source && r.context_ == context;
    };
    if (alone_ != nullptr) return same(*alone_) ? alone_ : nullptr;
    const PostedQueue& queue = queue_of(hash(context, source, tag));
    for (ReceiveRequest* r = queue.tail; r != nullptr; r = r->previous_)
        if (same(*r)) return r;
    return nullptr;
}

// The oldest match among the queued receives, some of which have wildcards.
ReceiveRequest* Matching::oldest_posted(Context context, Rank source, Tag tag) const {
    ReceiveRequest* oldest = first_posted(context, source, tag);
    const auto consider = [&](Rank s, Tag t) {
        ReceiveRequest* r = first_posted(context, s, t);
        if (r != nullptr && (oldest == nullptr || r->ordinal_ < oldest->ordinal_)) oldest = r;
    };
    consider(source, any_tag);
    consider(any_source, tag);
    consider(any_source, any_tag);
    return oldest;
}

void Matching::keep(Unexpected& message) {
    TORUSMP_ASSERT(message.source >= 0 && message.tag >= 0, message.source, message.tag,
                   message.context);
    if (unexpected_ >= 2 * unexpected_table_[0].size()) grow_unexpected();
    message.arrival = next_arrival_++;
    ++unexpected_;
    link(message);
}

void Matching::link(Unexpected& message) {
    for (int which = 0; which < 4; ++which) {
        auto& table = unexpected_table_[which];
        UnexpectedQueue& queue =
            table[hash(message.context, source_key(message, which), tag_key(message, which)) &
                  (table.size() - 1)];
        TORUSMP_ASSERT(queue.tail == nullptr || queue.tail->arrival < message.arrival, which,
                       message.arrival, message.source, message.tag);
        message.links[which] = {nullptr, queue.tail};
        (queue.tail == nullptr ? queue.head : queue.tail->links[which].next) = &message;
        queue.tail = &message;
    }
}

void Matching::remove(Unexpected& message) {
    for (int which = 0; which < 4; ++which) {
        auto& table = unexpected_table_[which];
        UnexpectedQueue& queue =
            table[hash(message.context, source_key(message, which), tag_key(message, which)) &
                  (table.size() - 1)];
        const Unexpected::Link& link = message.links[which];
        TORUSMP_ASSERT(
            (link.previous == nullptr ? queue.head : link.previous->links[which].next) == &message,
            which, message.source, message.tag, unexpected_);
        TORUSMP_ASSERT(
            (link.next == nullptr ? queue.tail : link.next->links[which].previous) == &message,
            which, message.source, message.tag, unexpected_);
        (link.previous == nullptr ? queue.head : link.previous->links[which].next) = link.next;
        (link.next == nullptr ? queue.tail : link.next->links[which].previous) = link.previous;
    }
    TORUSMP_ASSERT(unexpected_ != 0, message.source, message.tag);
    if (--unexpected_ == 0 && unexpected_table_[0].size() > most_idle_table) [[unlikely]]
        shrink_unexpected();
}

// Shrinks the tables. Precondition: they are empty.
void Matching::shrink_unexpected() {
    for (auto& table : unexpected_table_)
        std::vector<UnexpectedQueue>(first_table_size).swap(table);
}

Unexpected* Matching::find_unexpected(Context context, Rank source, Tag tag) const {
    if (unexpected_ == 0) return nullptr;
    const int which = (source == any_source ? 2 : 0) | (tag == any_tag ? 1 : 0);
    const auto& table = unexpected_table_[which];
    const UnexpectedQueue& queue = table[hash(context, source, tag) & (table.size() - 1)];
    for (Unexpected* m = queue.head; m != nullptr; m = m->links[which].next) {
        if (m->context == context && source_key(*m, which) == source && tag_key(*m, which) == tag)
            return m;
    }
    return nullptr;
}

void Matching::grow_posted() {
    std::vector<PostedQueue> old(posted_table_.size() * 4);
    old.swap(posted_table_);
    // All entries of a key are in the same old queue, in order, so their order survives.
    [[maybe_unused]] std::size_t linked = 0;
    for (PostedQueue& queue : old) {
        for (ReceiveRequest* r = queue.head; r != nullptr;) {
            ReceiveRequest* next = r->next_;
            link(*r);
            r = next;
            ++linked;
        }
    }
    TORUSMP_ASSERT(linked + 1 == posted_, linked, posted_);  // the new one follows
}

void Matching::grow_unexpected() {
    std::vector<UnexpectedQueue> old = unexpected_table_[0];
    for (auto& table : unexpected_table_) {
        const std::size_t size = table.size() * 2;
        table.assign(size, {});
    }
    // Messages of one key are in order in table 0 only for that exact key; the wildcard queues need
    // the order of arrival of all of them.
    std::vector<Unexpected*> all;
    all.reserve(unexpected_);
    for (UnexpectedQueue& queue : old)
        for (Unexpected* m = queue.head; m != nullptr; m = m->links[0].next) all.push_back(m);
    TORUSMP_ASSERT(all.size() == unexpected_, all.size(), unexpected_);
    std::sort(all.begin(), all.end(),
              [](const Unexpected* a, const Unexpected* b) { return a->arrival < b->arrival; });
    for (Unexpected* m : all) link(*m);
}

}  // namespace torusmp::core
