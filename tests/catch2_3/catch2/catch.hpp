// SPDX-License-Identifier: BSD-3-Clause
// Catch2 2 is one header, by this name, and the tests are written for it. Catch2 3 has many headers and
// other names for some matchers: this header includes what the tests use and gives it Catch2 2's names.
// tests/CMakeLists.txt adds its folder to the include path where Catch2 3 was found.
#pragma once

#include <string>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_adapters.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <catch2/matchers/catch_matchers_vector.hpp>
#ifdef CATCH_CONFIG_EXTERNAL_INTERFACES
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#endif

namespace Catch {
namespace Matchers {

inline auto Contains(const std::string& part, CaseSensitive letters = CaseSensitive::Yes) {
    return ContainsSubstring(part, letters);
}

}  // namespace Matchers

using Matchers::Contains;
using Matchers::EndsWith;
using Matchers::StartsWith;
#ifdef CATCH_CONFIG_EXTERNAL_INTERFACES
using TestEventListenerBase = EventListenerBase;
#endif

}  // namespace Catch

using Catch::Approx;
