#include "collectives/schedule.h"

namespace torusmp::collectives {

void Schedule::begin(std::string_view name) {
    name_ = name;
    tag_ = group_->next_tag();
    error_ = core::Error::none;
    failed_peer_ = core::any_source;
    complete_.store(false, std::memory_order_relaxed);
    group_->runtime().add_task(*this);
}

bool Schedule::advance() {
    // Posting a request may move things, and so come back here.
    if (advancing_) return false;
    advancing_ = true;
    while (batch_complete()) {
        sends_.used = sends_.settled = 0;
        receives_.used = receives_.settled = 0;
        if (error_ == core::Error::none && step()) continue;
        advancing_ = false;
        // The last access: from here on the owner may start this again or destroy it.
        complete_.store(true, std::memory_order_release);
        return true;
    }
    advancing_ = false;
    return false;
}

template <class RequestType>
bool Schedule::settle(Batch<RequestType>& batch) {
    while (batch.settled < batch.used) {
        const RequestType& request = batch.requests[batch.settled];
        if (!request.complete()) return false;
        ++batch.settled;
        if (request.status().error != core::Error::none && error_ == core::Error::none) {
            error_ = request.status().error;
            failed_peer_ = request.peer();
        }
    }
    return true;
}

bool Schedule::batch_complete() {
    return settle(receives_) && settle(sends_);
}

void Schedule::send(core::Buffer buffer, Rank dest) {
    group_->runtime().send(sends_.next(), buffer, dest, group_->context(), tag_);
}

void Schedule::receive(core::Buffer buffer, Rank source) {
    group_->runtime().receive(receives_.next(), buffer, source, group_->context(), tag_);
}

std::string Schedule::describe() const {
    std::string text(name_);
    const char* before = " waits for rank ";
    for (std::size_t i = 0; i < receives_.used; ++i) {
        if (receives_.requests[i].complete()) continue;
        text += before + std::to_string(receives_.requests[i].peer());
        before = ", ";
    }
    before = "; sends to rank ";
    for (std::size_t i = 0; i < sends_.used; ++i) {
        if (sends_.requests[i].complete()) continue;
        text += before + std::to_string(sends_.requests[i].peer());
        before = ", ";
    }
    return text;
}

}  // namespace torusmp::collectives
