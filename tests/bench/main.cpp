// Catch's own main takes long to compile, so it stands apart.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
