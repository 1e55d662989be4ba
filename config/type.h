// SPDX-License-Identifier: BSD-3-Clause
// The type of a setting's value: how it is read, printed and described. types.h defines the common
// types; an owner that needs another type defines it beside the setting.
//
// Rows are defined in headers that many files include, so their types are cheap to compile: a Type
// is a pointer to an object that lives as long as the program, and values are type-erased.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "config/raw.h"

namespace torusmp::config {

// A type-erased value of a setting; its setting knows the type. Immutable.
using Value = std::shared_ptr<const void>;

// The stored form of a value of type T: enumerations are stored as numbers, so that they share one
// implementation.
template <class T>
using Kept = std::conditional_t<std::is_enum_v<T>, int, T>;

class AnyType {
  public:
    AnyType() = default;
    AnyType(const AnyType&) = delete;
    AnyType& operator=(const AnyType&) = delete;
    virtual ~AnyType() = default;

    virtual std::string_view name() const = 0;  // "integer", "size", "choice", "list", "table"
    virtual std::string accepts() const = 0;    // "a whole number from 2 to 120"
    // Whether an example is part of the description: "a size from 64B to 4MiB, like 16KiB".
    virtual bool like() const = 0;
    virtual Value read(const Raw& found) const = 0;              // throws Mismatch
    virtual std::string format(const void* value) const = 0;     // text that read() accepts
    virtual std::string example(const void* initial) const = 0;  // if `initial` is the default
    virtual Value copy(const void* value) const = 0;
    virtual bool equal(const void* a, const void* b) const = 0;
};

// Keeps a type until the program ends.
const AnyType& keep(std::unique_ptr<const AnyType> type);

// A type defined by functions.
template <class K>
class TypeOf final : public AnyType {
  public:
    struct Functions {
        std::string name;
        std::function<std::string()> accepts;
        std::function<K(const Raw&)> read;
        std::function<std::string(const K&)> format;
        std::function<std::string(const K& initial)> example;  // empty for the default itself
        bool like;
    };
    explicit TypeOf(Functions functions) : is_(std::move(functions)) {}

    std::string_view name() const override { return is_.name; }
    std::string accepts() const override { return is_.accepts(); }
    bool like() const override { return is_.like; }
    Value read(const Raw& found) const override {
        return std::make_shared<const K>(is_.read(found));
    }
    std::string format(const void* value) const override { return is_.format(in(value)); }
    std::string example(const void* initial) const override {
        return is_.example ? is_.example(in(initial)) : is_.format(in(initial));
    }
    Value copy(const void* value) const override { return std::make_shared<const K>(in(value)); }
    bool equal(const void* a, const void* b) const override { return in(a) == in(b); }

  private:
    static const K& in(const void* value) { return *static_cast<const K*>(value); }

    const Functions is_;
};

template <class T>
class Type {
  public:
    Type(std::string name, std::function<std::string()> accepts,
         std::function<Kept<T>(const Raw&)> read, std::function<std::string(const Kept<T>&)> format,
         std::function<std::string(const Kept<T>&)> example = {}, bool like = false)
        : Type(keep(std::make_unique<TypeOf<Kept<T>>>(typename TypeOf<Kept<T>>::Functions{
              std::move(name), std::move(accepts), std::move(read), std::move(format),
              std::move(example), like}))) {}
    explicit Type(const AnyType& type) : type_(&type) {}

    const AnyType& any() const { return *type_; }
    std::string accepts() const { return type_->accepts(); }
    T read(const Raw& found) const {
        return T(*static_cast<const Kept<T>*>(type_->read(found).get()));
    }
    std::string format(const T& value) const {
        const auto kept = static_cast<Kept<T>>(value);
        return type_->format(&kept);
    }

  private:
    const AnyType* type_;
};

}  // namespace torusmp::config
