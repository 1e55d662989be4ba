// SPDX-License-Identifier: BSD-3-Clause
// What torus-run says at its end, and of hosts that do not hear of it.
#pragma once

#include <chrono>
#include <string>

namespace torusmp::launch {

// A stopped front cannot end: whoever waits for torus-run would not learn of the end otherwise.
// Empty: it is not stopped.
std::string word_for_stopped_front(int exit_code);

// Where the torus is the only network: a host has not said that everything there has ended.
std::string word_for_silent_host(const std::string& host, std::chrono::nanoseconds timeout);

// Completes "host qcd001 ...": it heard nothing of this process, which had not run for so long.
std::string word_for_own_sleep(std::chrono::nanoseconds slept, std::chrono::nanoseconds timeout);

}  // namespace torusmp::launch
