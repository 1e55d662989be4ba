// SPDX-License-Identifier: BSD-3-Clause
// Attributes: values that a program attaches to communicators, datatypes and windows under keys of its own,
// with functions that are called when they are copied and deleted (MPI-1.1, section 5.7; MPI-2.2,
// 6.7 and 16.3.7 for attributes shared between C and Fortran).
//
// An object owns its Attributes; an attribute keeps its key alive even if the program has freed the
// key. Any thread may use an object's attributes; locks are not held while functions of the program
// run.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

#include "mpi11/object.h"

namespace torusmp::mpi {

class Communicator;
class Datatype;

// A value as it was stored: a pointer from C, or an integer of either size from Fortran. Each
// language sees values of the others through `bits` or, in C, as the address of the integer.
struct AttributeValue {
    enum class Form { pointer, integer, address };
    Form form = Form::pointer;
    std::intptr_t bits = 0;
};

// A key created by the program.
struct Keyval {
    enum class Of { communicator, datatype, window };
    enum class Convention { c, fortran_integer, fortran_address };
    // The effect of copying: nothing is copied, the value is copied, or the function decides.
    enum class Copy { never, always, function };

    int number = 0;
    Of of = Of::communicator;
    Convention convention = Convention::c;
    Copy copy = Copy::never;
    void (*copy_function)() = nullptr;    // of the convention's type
    void (*delete_function)() = nullptr;  // null if there is none
    std::intptr_t extra_state = 0;
};

// Adds a key; its number, above all predefined ones, is the handle.
int add_keyval(Keyval keyval);
// Drops the program's reference to it. Throws Failure with MPI_ERR_KEYVAL if the number is not a
// key of this kind.
void free_keyval(int number, Keyval::Of of);

class Attributes {
  public:
    struct Entry {
        std::shared_ptr<const Keyval> keyval;
        AttributeValue value;
        int integer = 0;            // C sees the address of this member for Form::integer
        std::intptr_t address = 0;  // C sees the address of this member for Form::address
    };

    // All current entries, in the order in which they were set.
    std::vector<std::shared_ptr<const Entry>> entries() const;
    std::shared_ptr<const Entry> find(int number) const;
    // Replaces the entry of that key, or appends it; null removes it.
    void put(int number, std::shared_ptr<const Entry> entry);

  private:
    mutable std::mutex mutex_;
    std::vector<std::shared_ptr<const Entry>> entries_;
};

class Window;
template <class Owner>
inline constexpr Keyval::Of of_owner = std::is_same_v<Owner, Communicator> ? Keyval::Of::communicator
                                       : std::is_same_v<Owner, Datatype>   ? Keyval::Of::datatype
                                                                           : Keyval::Of::window;

// For communicators, datatypes and windows (Owner). Throw Failure: with MPI_ERR_KEYVAL for a wrong key, or
// with the code returned by a function of the program.
template <class Owner>
void set_attribute(Owner& owner, int number, AttributeValue value);
// Null if there is none.
template <class Owner>
std::shared_ptr<const Attributes::Entry> get_attribute(Owner& owner, int number);
template <class Owner>
void delete_attribute(Owner& owner, int number);
// Deletes all attributes, the last one first. Stops when a function of the program fails.
template <class Owner>
void delete_attributes(Owner& owner);
// The attributes of `from` for a copy of it, by their copy functions; null if none.
template <class Owner>
std::shared_ptr<Attributes> copy_attributes(Owner& from);

// A predefined attribute of a communicator (MPI_TAG_UB and so on); Form::integer. Null if there is
// none for that key.
const Attributes::Entry* predefined_attribute(int number);
// The value as C sees it: a pointer, or the address of an integer inside the entry.
void* shown_in_c(const Attributes::Entry& entry);

}  // namespace torusmp::mpi
