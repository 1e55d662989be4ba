// SPDX-License-Identifier: BSD-3-Clause
// In place of serve.cpp where there is no cpp-httplib.
#include <stdexcept>

#include "programs/torus_top/serve.h"

namespace torusmp::top {

int serve(Feed&, JobView&, const ServeOptions&, Recorder*) {
    throw std::runtime_error(
        "this torus-top was built without cpp-httplib and has no page: --json writes what it would "
        "show");
}

}  // namespace torusmp::top
