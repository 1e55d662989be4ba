// SPDX-License-Identifier: BSD-3-Clause
// What torus-run says of how a job's hosts were left. Whole lines with a newline at the end.
#pragma once

#include <string>

#include "programs/torus_run/streams/messages.h"

namespace torusmp::launch {

// `host`: empty for this one. Processes that were left behind are news only at an orderly end.
// Empty: there is nothing to say.
std::string describe_end(const HostEnd& end, const std::string& host, bool orderly);

// A stopped front cannot end: whoever waits for torus-run would not learn of the end otherwise.
// Empty: it is not stopped.
std::string word_for_stopped_front(int exit_code);

}  // namespace torusmp::launch
