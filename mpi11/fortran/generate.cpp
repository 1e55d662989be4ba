// SPDX-License-Identifier: BSD-3-Clause
// Generates the sources of the Fortran binding from mpi.h and mpi-ext.h, so that there is a single
// list of constants and functions: mpif.h, the module mpi, their extensions, and the lists of
// routines that need no wrapper of their own.
//
//   generate MPI.H MPI-EXT.H FOLDER
//
// writes mpif.h, mpi_f08_types.f90, mpi.f90, mpi_f08.f90, fortran_routines.inc and
// f08_routines.inc, and of the extensions mpif-ext.h, mpi_ext.f90, mpi_f08_ext.f90 and
// fortran_extensions.inc.
//
// Runs while the library is built. Fails for anything in the headers that it does not understand.
#include <fstream>
#include <iostream>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "generate.h"

namespace {

// ---- mpif.h, and its parts that the module shares ----

struct Common {
    const char *variable, *block;
    const char* type = "INTEGER";
};
constexpr Common commons[] = {
    {"MPI_BOTTOM", "TORUSMP_FBOTTOM"},
    {"MPI_IN_PLACE", "TORUSMP_FINPLACE"},
    {"MPI_BUFFER_AUTOMATIC", "TORUSMP_FBUFFERAUTOMATIC"},
    {"MPI_STATUS_IGNORE(MPI_STATUS_SIZE)", "TORUSMP_FSTATUS"},
    {"MPI_STATUSES_IGNORE(MPI_STATUS_SIZE,1)", "TORUSMP_FSTATUSES"},
    {"MPI_ERRCODES_IGNORE(1)", "TORUSMP_FERRCODES"},
    {"MPI_UNWEIGHTED(1)", "TORUSMP_FUNWEIGHTED"},
    {"MPI_WEIGHTS_EMPTY(1)", "TORUSMP_FWEIGHTSEMPTY"},
    {"MPI_ARGV_NULL(1)", "TORUSMP_FARGV", "CHARACTER*1"},
    {"MPI_ARGVS_NULL(1,1)", "TORUSMP_FARGVS", "CHARACTER*1"},
};

// Valid in fixed and in free form: columns 7 to 72, without continuation lines.
void write_integers(std::ostream& out, const std::vector<Constant>& constants) {
    for (const Constant& constant : constants)
        out << "      INTEGER " << constant.name << "\n      PARAMETER (" << constant.name << "="
            << constant.value << ")\n";
}

void write_constants(std::ostream& out, const std::vector<Constant>& constants) {
    write_integers(out, constants_of_fortran());
    write_integers(out, constants);
    out << "      INTEGER(KIND=MPI_OFFSET_KIND) MPI_DISPLACEMENT_CURRENT\n"
           "      PARAMETER (MPI_DISPLACEMENT_CURRENT=-1)\n";
    for (const char* name : {"MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING"})
        out << "      LOGICAL " << name << "\n      PARAMETER (" << name << "=.FALSE.)\n";
    for (const Common& common : commons) {
        const std::string variable = common.variable;
        out << "      " << common.type << " " << variable << "\n      COMMON /" << common.block
            << "/ " << variable.substr(0, variable.find('(')) << "\n      SAVE /" << common.block
            << "/\n";
    }
    for (const char* family : {"MPI_", "MPI_COMM_", "MPI_TYPE_", "MPI_WIN_"})
        for (const char* function : {"DUP_FN", "NULL_COPY_FN", "NULL_DELETE_FN"})
            out << "      EXTERNAL " << family << function << "\n";
    out << "      EXTERNAL MPI_CONVERSION_FN_NULL\n";
}

void write_mpif(std::ostream& out, const std::vector<Constant>& constants) {
    out << "! MPI for Fortran 77, in fixed or free form. Handles are INTEGERs; the predefined "
           "ones\n"
           "! are those of C. Made from mpi.h.\n";
    write_constants(out, constants);
    for (const char* prefix : {"", "P"}) {
        for (const char* name : {"MPI_WTIME", "MPI_WTICK"})
            out << "      REAL(KIND=8) " << prefix << name << "\n      EXTERNAL " << prefix << name
                << "\n";
        for (const char* name : {"MPI_AINT_ADD", "MPI_AINT_DIFF"})
            out << "      INTEGER(KIND=MPI_ADDRESS_KIND) " << prefix << name << "\n      EXTERNAL "
                << prefix << name << "\n";
    }
}

// ---- the module ----

// Functions of MPI-1 whose addresses and attributes are plain INTEGERs.
bool has_short_addresses(const std::string& function) {
    static const std::set<std::string> names{
        "Address",       "Type_extent", "Type_lb",       "Type_ub",  "Type_hvector",
        "Type_hindexed", "Type_struct", "Keyval_create", "Attr_put", "Attr_get"};
    return names.contains(function);
}

bool is_address(const Parameter& parameter) {
    return parameter.name == "attribute_val" || parameter.name == "extra_state" ||
           parameter.name == "baseptr";
}

// Absent from mpif.h and the module mpi: the standard has large counts in mpi_f08 alone.
bool is_absent(const std::string& function) {
    return is_for_c_alone(function) || is_wide(function);
}

std::string declare(const Header& header, const Function& function, const Parameter& parameter) {
    std::string type = parameter.type;
    const std::string address =
        has_short_addresses(function.name) ? "integer" : "integer(MPI_ADDRESS_KIND)";
    if (is_address(parameter)) return address + " :: " + parameter.name;
    if (type.ends_with("void*"))
        return "type(*), dimension(*) :: " + parameter.name +
               "\n      !GCC$ ATTRIBUTES NO_ARG_CHECK :: " + parameter.name;
    if (type.ends_with("char*") || type.ends_with("char[]"))
        return "character(len=*) :: " + parameter.name;
    if (type == "char*[]") return "character(len=*) :: " + parameter.name + "(*)";
    if (type == "char**[]") return "character(len=*) :: " + parameter.name + "(count, *)";
    if (type.find("_function*") != std::string::npos) return "external :: " + parameter.name;
    if (type.starts_with("const ")) type.erase(0, 6);
    const std::string base = base_of(type);
    if (base == "MPI_Status")
        return "integer :: " + parameter.name +
               (parameter.name == "array_of_statuses" ? "(MPI_STATUS_SIZE, *)"
                                                      : "(MPI_STATUS_SIZE)");
    std::string fortran;
    if (base == "int")
        fortran = is_logical(parameter) ? "logical" : "integer";
    else if (header.is_handle(base))
        fortran = "integer";
    else if (base == "MPI_Aint")
        fortran = address;
    else if (base == "MPI_Count")
        fortran = "integer(MPI_COUNT_KIND)";
    else if (base == "MPI_Offset")
        fortran = "integer(MPI_OFFSET_KIND)";
    else
        throw std::runtime_error("MPI_" + function.name + ": what is a " + parameter.type +
                                 " in Fortran?");
    if (type == base) return fortran + ", intent(in) :: " + parameter.name;
    const bool array = type.ends_with("[]") || parameter.name.ends_with("weights");
    const char* shape = type.ends_with("[][3]") ? "(3, *)" : array ? "(*)" : "";
    return fortran + " :: " + parameter.name + shape;
}

void write_interface(std::ostream& out, const Header& header, const Function& function,
                     const std::string& name) {
    const bool pointer = name.ends_with("_cptr");
    const bool value = function.result != "int";
    std::string line = value ? "function " : "subroutine ";
    line += name + "(";
    for (const Parameter& parameter : function.parameters) {
        if (line.size() - line.rfind('\n') > 90) line += " &\n        ";
        line += parameter.name + ", ";
    }
    if (value || function.name == "Pcontrol")
        line.erase(line.size() - (function.parameters.empty() ? 0 : 2));
    else
        line += "ierror";
    out << "    " << line << ")\n";
    if (pointer) out << "      use, intrinsic :: iso_c_binding, only: c_ptr\n";
    out << "      import\n      implicit none\n";
    for (const Parameter& parameter : function.parameters)
        out << "      "
            << (pointer && parameter.name == "baseptr" ? "type(c_ptr) :: baseptr"
                                                       : declare(header, function, parameter))
            << "\n";
    if (function.result == "double")
        out << "      double precision :: " << name << "\n    end function\n";
    else if (value)
        out << "      integer(MPI_ADDRESS_KIND) :: " << name << "\n    end function\n";
    else if (function.name == "Pcontrol")
        out << "    end subroutine\n";
    else
        out << "      integer :: ierror\n    end subroutine\n";
}

// Functions that return an address: an integer or, in a second form, a TYPE(C_PTR).
bool returns_address(const Function& function) {
    for (const Parameter& parameter : function.parameters)
        if (parameter.name == "baseptr") return true;
    return false;
}

void write_with_address(std::ostream& out, const Header& header, const Function& function,
                        const std::string& name) {
    out << "  interface " << name << "\n";
    write_interface(out, header, function, name);
    write_interface(out, header, function, name + "_cptr");
    out << "  end interface\n";
}

void write_module(std::ostream& out, const Header& header) {
    out << "! MPI as a module with interfaces. Made from mpi.h.\n"
           "module mpi\n      use mpi_f08_types\n      implicit none\n      public\n";
    write_constants(out, header.constants);
    for (const char* prefix : {"MPI_", "PMPI_"}) {
        out << "  interface\n";
        for (const Function& function : header.functions)
            if (!is_absent(function.name) && !returns_address(function))
                write_interface(out, header, function, prefix + function.name);
        out << "  end interface\n";
        for (const Function& function : header.functions)
            if (!is_absent(function.name) && returns_address(function))
                write_with_address(out, header, function, prefix + function.name);
        write_sizeof(out, std::string(prefix) + "SIZEOF", "integer");
    }
    out << "end module mpi\n";
}

// ---- the extensions: what mpif-ext.h and the module mpi_ext add to mpif.h and the module mpi ----

void write_mpif_extensions(std::ostream& out, const Header& header) {
    out << "! The constants of mpi-ext.h, for use with mpif.h. Made from mpi-ext.h.\n";
    write_integers(out, header.extension_constants);
}

void write_extensions(std::ostream& out, const Header& header) {
    out << "! Extensions of the module mpi. Made from mpi-ext.h.\n"
           "module mpi_ext\n      implicit none\n      public\n";
    write_integers(out, header.extension_constants);
    out << "  interface\n";
    for (const char* prefix : {"MPIX_", "PMPIX_"})
        for (const Function& function : header.extensions)
            write_interface(out, header, function, prefix + function.name);
    for (const Function& function : header.own)
        write_interface(out, header, function, function.name);
    out << "  end interface\nend module mpi_ext\n";
}

// ---- routines without a wrapper of their own ----

bool is_written_by_hand(const Header& header, const Function& function) {
    static const std::set<std::string> names{"Init",
                                             "Init_thread",
                                             "Info_create_env",
                                             "Pcontrol",
                                             "Buffer_detach",
                                             "Comm_detach_buffer",
                                             "Session_detach_buffer",
                                             "Type_extent",
                                             "Type_lb",
                                             "Type_ub",
                                             "Address",
                                             "Type_hvector",
                                             "Type_hindexed",
                                             "Attr_put",
                                             "Attr_get",
                                             "Comm_set_attr",
                                             "Comm_get_attr",
                                             "Type_set_attr",
                                             "Type_get_attr",
                                             "Win_set_attr",
                                             "Win_get_attr",
                                             "Comm_idup",
                                             "Comm_idup_with_info",
                                             "Comm_ishrink",
                                             "Dist_graph_create",
                                             "Dist_graph_create_adjacent",
                                             "Dist_graph_neighbors"};
    if (function.result != "int" || names.contains(function.name)) return true;
    for (const Parameter& parameter : function.parameters) {
        const std::string& type = parameter.type;
        if (type.ends_with("char*") || type.find("_function*") != std::string::npos) return true;
        if (type.ends_with("[]") && header.is_handle(base_of(type))) return true;
    }
    return false;
}

// The last argument states the names of the routine: of the module mpi_f08 too, or not.
void write_routines(std::ostream& out, const Header& header) {
    for (const Function& function : header.functions) {
        if (is_absent(function.name) || is_written_by_hand(header, function)) continue;
        out << "ROUTINE(" << function.parameters.size() << ", " << lower(function.name) << ", "
            << function.name << ", "
            << (f08_shares(header, function) ? "FORTRAN_NAME_F08" : "FORTRAN_NAME") << ")\n";
    }
}

void write_extension_routines(std::ostream& out, const Header& header) {
    for (const Function& function : header.extensions)
        if (!is_written_by_hand(header, function))
            out << "EXTENSION(" << function.parameters.size() << ", " << lower(function.name)
                << ", " << function.name << ")\n";
}

void run(int argc, char** argv) {
    if (argc != 4) throw std::runtime_error("expected MPI.H MPI-EXT.H FOLDER");
    const Header header(argv[1], argv[2]);
    const std::string folder = std::string(argv[3]) + "/";
    const auto write = [&](const char* name, auto&& text) {
        std::ofstream file(folder + name);
        text(file);
        file.close();
        if (!file) throw std::runtime_error("cannot write " + folder + name);
    };
    write("mpif.h", [&](std::ostream& out) { write_mpif(out, header.constants); });
    write("mpi_f08_types.f90", [&](std::ostream& out) { write_types(out, header); });
    write("mpi.f90", [&](std::ostream& out) { write_module(out, header); });
    write("mpi_f08.f90", [&](std::ostream& out) { write_f08(out, header); });
    write("fortran_routines.inc", [&](std::ostream& out) { write_routines(out, header); });
    write("f08_routines.inc", [&](std::ostream& out) { write_f08_routines(out, header); });
    write("mpif-ext.h", [&](std::ostream& out) { write_mpif_extensions(out, header); });
    write("mpi_ext.f90", [&](std::ostream& out) { write_extensions(out, header); });
    write("mpi_f08_ext.f90", [&](std::ostream& out) { write_f08_extensions(out, header); });
    write("fortran_extensions.inc",
          [&](std::ostream& out) { write_extension_routines(out, header); });
}

// gfortran's kinds.
struct Kinds {
    const char* type;
    std::vector<int> kinds;
};
const Kinds numeric_kinds[] = {
    {"integer", {1, 2, 4, 8, 16}},
    {"logical", {1, 2, 4, 8, 16}},
#ifdef __SIZEOF_FLOAT80__
    {"real", {4, 8, 10, 16}},
    {"complex", {4, 8, 10, 16}},
#else
    {"real", {4, 8, 16}},
    {"complex", {4, 8, 16}},
#endif
};

}  // namespace

void write_sizeof(std::ostream& out, const std::string& name, const std::string& ierror) {
    const auto write = [&](const std::string& suffix, const std::string& type) {
        out << "    subroutine " << name << "_" << suffix << "(x, size, ierror)\n"
            << "      " << type << ", dimension(..) :: x\n      integer :: size\n      " << ierror
            << " :: ierror\n    end subroutine\n";
    };
    out << "  interface " << name << "\n";
    for (const auto& [type, kinds] : numeric_kinds)
        for (const int kind : kinds) {
            const std::string number = std::to_string(kind);
            write(type + number, std::string(type) + "(" + number + ")");
        }
    write("character", "character(len=*)");
    out << "  end interface\n";
}

int main(int argc, char** argv) {
    try {
        run(argc, argv);
        return 0;
    } catch (const std::exception& error) {
        std::cerr << "generate: " << error.what() << '\n';
        return 1;
    }
}
