// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/common/secret.h"

#include <sodium.h>

#include <stdexcept>

namespace torusmp::transport {
namespace {

void start_sodium() {
    if (sodium_init() < 0) throw std::runtime_error("libsodium cannot be started");
}

const unsigned char* raw(const std::byte* bytes) {
    return reinterpret_cast<const unsigned char*>(bytes);
}

}  // namespace

Secret derive_secret(std::span<const std::byte> job_secret) {
    start_sodium();
    Secret key;
    static_assert(sizeof key == crypto_auth_KEYBYTES);
    crypto_generichash(reinterpret_cast<unsigned char*>(key.data()), key.size(),
                       raw(job_secret.data()), job_secret.size(), nullptr, 0);
    return key;
}

Proof prove(const Secret& secret, std::span<const std::byte> said) {
    Proof proof;
    static_assert(sizeof proof == crypto_auth_BYTES);
    crypto_auth(reinterpret_cast<unsigned char*>(proof.data()), raw(said.data()), said.size(),
                raw(secret.data()));
    return proof;
}

bool same(const Proof& a, const Proof& b) {
    return sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

void draw(std::span<std::byte> bytes) {
    start_sodium();
    randombytes_buf(bytes.data(), bytes.size());
}

}  // namespace torusmp::transport
