// SPDX-License-Identifier: BSD-3-Clause
// Replaces serve.cpp in builds without cpp-httplib.
#include <stdexcept>

#include "programs/torus_top/serve.h"

namespace torusmp::torus_top {

int serve(Feed&, JobView&, const ServeOptions&, Recorder*) {
    throw std::runtime_error(
        "this torus-top was built without cpp-httplib and cannot serve a page: use --json instead");
}

}  // namespace torusmp::torus_top
