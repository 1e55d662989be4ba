// SPDX-License-Identifier: BSD-3-Clause
// Posted receives and unexpected messages, matched by context, source and tag with wildcards.
//
// Queues are hashed by key, so that thousands of entries cost as little as a few. A posted receive
// is in the queue of its key (wildcards count as values); an unexpected message is in the queues of
// all four keys that may ask for it. Among candidates the oldest wins. A receive that is posted
// alone, such as the receive of a blocking call, enters a queue only when a second one is posted.
// Used under the Runtime's lock; the queues link their entries and own none of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/assert.h"
#include "core/match/unexpected.h"
#include "core/request.h"

namespace torusmp::core {

class Matching {
  public:
    Matching();

    void post(ReceiveRequest& receive) {
        TORUSMP_ASSERT(!receive.complete(), receive.peer_, receive.tag_);
        TORUSMP_ASSERT(alone_ == nullptr || posted_ == 1, posted_);
        receive.ordinal_ = next_ordinal_++;
        receive.become(ReceiveRequest::Stage::posted);
        if (has_wildcard(receive)) ++wildcards_;
        if (posted_++ == 0)
            alone_ = &receive;
        else
            post_with_others(receive);
    }
    void remove(ReceiveRequest& receive) {
        TORUSMP_ASSERT(receive.posted() && posted_ != 0, receive.peer_, receive.tag_, posted_);
        TORUSMP_ASSERT(alone_ == nullptr || alone_ == &receive, posted_, alone_, &receive);
        if (alone_ == &receive)
            alone_ = nullptr;
        else
            unlink(receive);
        receive.become(ReceiveRequest::Stage::idle);
        --posted_;
        if (has_wildcard(receive)) --wildcards_;
        TORUSMP_ASSERT(wildcards_ <= posted_, wildcards_, posted_);
    }
    // Removes and returns the oldest posted receive that matches such a message; null if there is
    // none.
    ReceiveRequest* match_posted(Context context, Rank source, Tag tag) {
        if (posted_ == 0) return nullptr;
        ReceiveRequest* found = alone_;
        if (found == nullptr)
            found = wildcards_ == 0 ? first_posted(context, source, tag)
                                    : oldest_posted(context, source, tag);
        else if (!takes(*found, context, source, tag))
            return nullptr;
        TORUSMP_ASSERT(found == nullptr || takes(*found, context, source, tag), context, source,
                       tag, found->context_, found->peer_, found->tag_);
        if (found != nullptr) remove(*found);
        return found;
    }
    // The youngest posted receive with exactly this key; shows whether all before it are announced.
    ReceiveRequest* last_posted(Context context, Rank source, Tag tag) const;
    bool wildcards_posted() const { return wildcards_ != 0; }

    void keep(Unexpected& message);
    void remove(Unexpected& message);
    // The oldest unexpected message that such a receive matches. The message stays.
    Unexpected* find_unexpected(Context context, Rank source, Tag tag) const;

    // Contexts in which a receive from any source does not wait; see Survivors::suspend_wildcards().
    void suspend(Context context) {
        if (!suspends(context)) suspended_.push_back(context);
    }
    void resume(Context context) { std::erase(suspended_, context); }
    bool suspends(Context context) const {
        return std::find(suspended_.begin(), suspended_.end(), context) != suspended_.end();
    }
    bool suspends_any() const { return !suspended_.empty(); }

    std::size_t posted() const { return posted_; }
    std::size_t unexpected() const { return unexpected_; }
    // The most bytes that the tables use for one unexpected message, except for the first few.
    static constexpr std::size_t room_for_unexpected = 4 * 2 * sizeof(void*);
    template <class Visit>
    void for_each_posted(Visit&& visit) const {
        if (alone_ != nullptr) visit(*alone_);
        for (const PostedQueue& queue : posted_table_)
            for (ReceiveRequest* r = queue.head; r != nullptr; r = r->next_) visit(*r);
    }
    template <class Visit>
    void for_each_unexpected(Visit&& visit) const {
        for (const UnexpectedQueue& queue : unexpected_table_[0])
            for (Unexpected* m = queue.head; m != nullptr; m = m->links[0].next) visit(*m);
    }

  private:
    struct PostedQueue {
        ReceiveRequest* head = nullptr;
        ReceiveRequest* tail = nullptr;
    };
    struct UnexpectedQueue {
        Unexpected* head = nullptr;
        Unexpected* tail = nullptr;
    };

    static bool takes(const ReceiveRequest& receive, Context context, Rank source, Tag tag) {
        return receive.context_ == context &&
               (receive.peer_ == source || receive.peer_ == any_source) &&
               (receive.tag_ == tag || receive.tag_ == any_tag);
    }
    static bool has_wildcard(const ReceiveRequest& receive) {
        return receive.peer_ == any_source || receive.tag_ == any_tag;
    }

    static std::uint32_t hash(Context context, Rank source, Tag tag) {
        std::uint64_t h = (std::uint64_t(std::uint32_t(source)) << 32 | std::uint32_t(tag)) +
                          0x9e3779b97f4a7c15u * (context + 1);
        h ^= h >> 29;
        h *= 0xbf58476d1ce4e5b9u;
        return std::uint32_t(h >> 32);
    }
    PostedQueue& queue_of(std::uint32_t hashed) {
        return posted_table_[hashed & (posted_table_.size() - 1)];
    }
    const PostedQueue& queue_of(std::uint32_t hashed) const {
        return posted_table_[hashed & (posted_table_.size() - 1)];
    }
    ReceiveRequest* first_posted(Context context, Rank source, Tag tag) const {
        const PostedQueue& queue = queue_of(hash(context, source, tag));
        for (ReceiveRequest* r = queue.head; r != nullptr; r = r->next_)
            if (r->tag_ == tag && r->peer_ == source && r->context_ == context) return r;
        return nullptr;
    }
    ReceiveRequest* oldest_posted(Context context, Rank source, Tag tag) const;
    void post_with_others(ReceiveRequest& receive);
    void unlink(ReceiveRequest& receive) {
        PostedQueue& queue = queue_of(receive.hash_);
        TORUSMP_ASSERT(
            (receive.previous_ == nullptr ? queue.head : receive.previous_->next_) == &receive,
            receive.context_, receive.peer_, receive.tag_, posted_);
        TORUSMP_ASSERT(
            (receive.next_ == nullptr ? queue.tail : receive.next_->previous_) == &receive,
            receive.context_, receive.peer_, receive.tag_, posted_);
        (receive.previous_ == nullptr ? queue.head : receive.previous_->next_) = receive.next_;
        (receive.next_ == nullptr ? queue.tail : receive.next_->previous_) = receive.previous_;
    }
    void link(ReceiveRequest& receive);
    void link(Unexpected& message);
    void grow_posted();
    void grow_unexpected();
    [[gnu::noinline]] void shrink_unexpected();

    ReceiveRequest* alone_ = nullptr;  // posted, and in no queue because it is the only one
    std::vector<PostedQueue> posted_table_;
    std::vector<UnexpectedQueue> unexpected_table_[4];  // (s,t) (s,*) (*,t) (*,*)
    std::size_t posted_ = 0;
    std::size_t unexpected_ = 0;
    std::size_t wildcards_ = 0;  // posted receives with any wildcard
    std::vector<Context> suspended_;
    std::uint64_t next_ordinal_ = 0;
    std::uint64_t next_arrival_ = 0;
};

}  // namespace torusmp::core
