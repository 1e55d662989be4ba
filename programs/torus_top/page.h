// SPDX-License-Identifier: BSD-3-Clause
// The page for browsers, generated from page/ when torus-top is built.
#pragma once

#include <string_view>

namespace torusmp::torus_top {

extern const std::string_view page_text;

}  // namespace torusmp::torus_top
