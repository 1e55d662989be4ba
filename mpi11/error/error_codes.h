// Error classes and codes, those of the standard and those that the program adds (MPI-2.2, 8.5).
//
// Classes of the standard are codes of themselves. Added classes and codes count up from
// MPI_ERR_LASTCODE; nothing is ever forgotten. Any thread may call.
#pragma once

#include <string>
#include <string_view>

namespace torusmp::mpi {

// The class of a code; -1: there is no such code.
int class_of(int code);
// What a class or code says; empty: there is none such.
std::string text_of(int code);
// The constant's name, "MPI_ERR_RANK"; empty for what is none of the standard's.
std::string_view name_of_class(int error_class);

int add_class();
// Precondition: class_of(error_class) == error_class.
int add_code(int error_class);
// False: the code is not one that the program added.
bool set_text(int code, std::string text);
// The last code in use: the attribute MPI_LASTUSEDCODE.
int last_used_code();

}  // namespace torusmp::mpi
