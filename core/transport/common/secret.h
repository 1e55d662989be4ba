// SPDX-License-Identifier: BSD-3-Clause
// Proofs by which the ranks of a job show that they belong to it: a key derived from the job's
// secret, proofs keyed with it (HMAC-SHA-512/256, RFC 2104, libsodium's crypto_auth), and random
// bytes.
//
// Plain values and functions; any thread may call.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "core/transport/api/surroundings.h"

namespace torusmp::transport {

using Proof = std::array<std::byte, 32>;

// Derives a key for proofs from a job's secret of any length. Throws std::runtime_error if
// libsodium cannot be initialized; must be called before the other functions.
Secret derive_secret(std::span<const std::byte> job_secret);
// Proves that its maker knew the secret and sent exactly these bytes.
Proof prove(const Secret& secret, std::span<const std::byte> said);
// Compares two proofs in constant time.
bool same(const Proof& a, const Proof& b);
// Fills `out` with unpredictable bytes. Throws std::runtime_error as above.
void draw(std::span<std::byte> bytes);

}  // namespace torusmp::transport
