// SPDX-License-Identifier: BSD-3-Clause
// Encodes reports on links, which torus-run and its ranks exchange.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "routing/link_news.h"

namespace torusmp::launch {

std::vector<std::byte> encode(const routing::LinkNews& news);
// Empty for bytes that encode() does not produce, or that name ranks or dimensions which `ranks`
// does not have.
std::optional<routing::LinkNews> decode_link_news(std::span<const std::byte> bytes, int ranks);

}  // namespace torusmp::launch
