// SPDX-License-Identifier: BSD-3-Clause
// The contents of mpi.h and mpi-ext.h for the generator of the Fortran binding, and the texts it
// writes: generate.cpp has mpif.h and the module mpi, generate_f08.cpp the module mpi_f08, and each
// has their extensions.
#pragma once

#include <iosfwd>
#include <set>
#include <string>
#include <vector>

struct Parameter {
    std::string type;  // C type, without spaces but one after const: "const int[]", "MPI_Comm*"
    std::string name;
};
struct Function {
    std::string result, name;  // "int", "Send"
    std::vector<Parameter> parameters;
};
struct Constant {
    std::string name, value;
    std::string handle;  // its type if it is a handle
};
// A function of the program: the typedef of its type.
struct Callback {
    std::string result, name;  // "int", "MPI_Comm_copy_attr_function"
    std::vector<Parameter> parameters;
};
// A predefined function of the program, and the name of its type.
struct Predefined {
    std::string name, type;
};

struct Header {
    // Of mpi.h and mpi-ext.h.
    Header(const std::string& path, const std::string& extensions);

    std::set<std::string> handles;  // "MPI_Comm"
    std::vector<Constant> constants;
    std::vector<Function> functions;
    std::vector<Callback> callbacks;
    std::vector<Predefined> predefined;
    // From mpi-ext.h: MPIX_ functions, those with the full names of C, and constants.
    std::vector<Function> extensions, own;
    std::vector<Constant> extension_constants;

    bool is_handle(const std::string& type) const { return handles.contains(type); }
};

std::string lower(std::string text);
std::string base_of(const std::string& type);  // without const, * and []

bool is_logical(const Parameter& parameter);
// Absent from Fortran, or from mpif.h and the module mpi.
bool is_for_c_alone(const std::string& function);
bool is_wide(const std::string& function);
// The constants of mpif.h that are not in mpi.h.
std::vector<Constant> constants_of_fortran();

// MPI_SIZEOF or PMPI_SIZEOF: accepts a variable of any kind and rank, and uses neither its value
// nor its shape. `ierror` is the type of the last argument, with attributes.
void write_sizeof(std::ostream& out, const std::string& name, const std::string& ierror);
void write_types(std::ostream& out, const Header& header);
void write_f08(std::ostream& out, const Header& header);
void write_f08_extensions(std::ostream& out, const Header& header);
void write_f08_routines(std::ostream& out, const Header& header);
// Whether mpi_f08 calls the routine of mpif.h, by a name of its own.
bool f08_shares(const Header& header, const Function& function);
