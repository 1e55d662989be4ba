// SPDX-License-Identifier: BSD-3-Clause
// What torus-run says at its end to whoever waits for it.
#pragma once

#include <string>

namespace torusmp::launch {

// A stopped front cannot end: whoever waits for torus-run would not learn of the end otherwise.
// Empty: it is not stopped.
std::string word_for_stopped_front(int exit_code);

}  // namespace torusmp::launch
