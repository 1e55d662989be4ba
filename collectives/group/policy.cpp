// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/group/policy.h"

namespace torusmp::collectives {

const Policy& default_policy() {
    static const Policy policy;
    return policy;
}

}  // namespace torusmp::collectives
