// SPDX-License-Identifier: BSD-3-Clause
#include "core/survivors/survivors.h"

#include "core/core.h"

namespace torusmp::core {

Agreements& Survivors::agreements() const {
    return core_.agreements;
}

Revocations& Survivors::revocations() const {
    return core_.revocations;
}

bool Survivors::is_lost(Rank rank) const {
    const Progress::Guard guard(core_.progress);
    return core_.connections.peer(rank).dead;
}

void Survivors::set_loss_listener(std::function<void(Rank)> listener) const {
    const Progress::Guard guard(core_.progress);
    core_.faults.set_listener(std::move(listener));
}

void Survivors::suspend_wildcards(Context context) const {
    const Progress::Guard guard(core_.progress);
    core_.messages.suspend_wildcards(context);
}

void Survivors::resume_wildcards(Context context) const {
    const Progress::Guard guard(core_.progress);
    core_.messages.resume_wildcards(context);
}

void Survivors::cancel_all(Context first, Context count) const {
    const Progress::Guard guard(core_.progress);
    core_.cancellation.cancel_all(first, count);
}

}  // namespace torusmp::core
