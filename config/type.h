// What a setting's value may be: how one kind of value is read, printed and described. types.h
// makes the common ones; an owner whose setting is of a kind of its own makes one beside it.
#pragma once

#include <functional>
#include <string>

#include "config/raw.h"

namespace torusmp::config {

template <class T>
struct Type {
    std::string name;                      // "integer", "size", "time", "choice", "list", "table"
    std::function<std::string()> accepts;  // "a whole number from 2 to 120"
    std::function<T(const Raw&)> read;     // throws Mismatch for what is none
    std::function<std::string(const T&)> format;  // text that `read` understands
    // A value to show as an example, where `initial` is the default; none: the default itself.
    std::function<std::string(const T& initial)> example = {};
    // An example belongs to what is accepted: "a size from 64B to 4MiB, like 16KiB".
    bool like = false;
};

}  // namespace torusmp::config
