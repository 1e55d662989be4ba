// SPDX-License-Identifier: BSD-3-Clause
// Error classes and codes: those of the standard and those that the program adds (MPI-2.2, 8.5).
//
// Classes of the standard are their own codes. Added classes and codes count up from
// MPI_ERR_LASTCODE; numbers are never reused, also of those that were removed again. Any thread may call.
#pragma once

#include <string>
#include <string_view>

namespace torusmp::mpi {

// The class of a code; -1 for an unknown code.
int class_of(int code);
// The text of a class or code; empty for an unknown class or code.
std::string text_of(int code);
// The constant's name, "MPI_ERR_RANK"; empty if it is not a class of the standard.
std::string_view name_of_class(int error_class);

int add_class();
// Precondition: class_of(error_class) == error_class.
int add_code(int error_class);
// Returns false if the code is not one that the program added.
bool set_text(int code, std::string text);
// Whether it is a class, or a code, that the program added; and a class with codes.
bool is_added_class(int error_class);
bool is_added_code(int code);
bool has_codes(int error_class);
// Precondition: the program added it.
void remove_code(int code);
// The last code in use: the attribute MPI_LASTUSEDCODE.
int last_used_code();

}  // namespace torusmp::mpi
