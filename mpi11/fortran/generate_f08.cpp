// SPDX-License-Identifier: BSD-3-Clause
// Writes the modules mpi_f08 (MPI-5.0, chapter 19) and mpi_f08_ext: handles of their own types,
// choice buffers as descriptors, optional ierror, and both widths of counts under one name.
//
// Linker names: a routine with choice buffers or wide counts is mpi_x_f08ts_ or mpi_x_c_f08ts_ and
// takes descriptors for buffers and strings (f08/routines.cpp). All others are mpi_x_f08_, an alias
// of the routine of mpif.h, which takes the same arguments: a handle is a structure of one INTEGER,
// and ierror may be absent. Profilers of mpif.h do not expect that, so the names differ.
#include <algorithm>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "generate.h"

namespace {

constexpr const char* address_kind = "integer(MPI_ADDRESS_KIND)";

bool contains(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

// Names that the standard does not have any more.
bool is_of_mpi_1(const std::string& function) {
    static const std::set<std::string> names{
        "Address",       "Type_extent", "Type_lb",        "Type_ub",        "Type_hvector",
        "Type_hindexed", "Type_struct", "Keyval_create",  "Keyval_free",    "Attr_put",
        "Attr_get",      "Attr_delete", "Errhandler_set", "Errhandler_get", "Errhandler_create"};
    return names.contains(function);
}

bool is_absent(const Function& function) {
    return is_for_c_alone(function.name) || is_of_mpi_1(function.name);
}

bool is_string(const Parameter& parameter) {
    return base_of(parameter.type) == "char";
}
// An address that the call returns, or takes, as TYPE(C_PTR).
bool is_pointer(const Parameter& parameter) {
    return parameter.name == "baseptr" || parameter.name == "buffer_addr";
}
bool is_attribute(const Parameter& parameter) {
    return parameter.name == "attribute_val" || parameter.name == "extra_state";
}
// A LOGICAL of unknown size in C.
bool is_boolean(const Parameter& parameter) {
    return parameter.name == "logical_true" || parameter.name == "logical_false";
}
bool is_choice(const Parameter& parameter) {
    return !is_boolean(parameter) && parameter.type.ends_with("void*") && !is_pointer(parameter) &&
           !is_attribute(parameter);
}
bool takes_logical(const Parameter& parameter) {
    return is_logical(parameter) || is_boolean(parameter);
}
bool is_function(const Parameter& parameter) {
    return contains(parameter.type, "_function");
}

template <class Test>
bool has(const Function& function, Test&& test) {
    return std::any_of(function.parameters.begin(), function.parameters.end(), test);
}

// A routine that C binds cannot take a procedure of Fortran.
bool takes_descriptors(const Function& function) {
    if (has(function, is_function)) return false;
    return has(function, is_choice) || is_wide(function.name) ||
           contains(function.name, "etach_buffer") || function.name == "Buffer_detach";
}

// ---- declarations ----

// Calls after whose return the library still uses their arrays and buffers.
bool is_asynchronous(const Function& function) {
    const std::string& name = function.name;
    for (const char* part :
         {"_init", "_begin", "_end", "_attach", "_detach", "attach_buffer", "Win_create",
          "Free_mem", "Get_address", "ccumulate", "Fetch_and_op", "Compare_and_swap"})
        if (contains(name, part) && name != "Session_init") return true;
    if (name == "Put" || name == "Get" || name == "Put_c" || name == "Get_c") return true;
    const bool starts = has(function, [](const Parameter& parameter) {
        return parameter.type == "MPI_Request*" && parameter.name == "request";
    });
    return starts && function.parameters.size() > 2 && !name.starts_with("Test");
}

// Arguments that the call changes, among those that C passes by pointer.
bool is_changed(const Function& function, const Parameter& parameter) {
    const std::string& name = function.name;
    const std::string base = base_of(parameter.type);
    if (parameter.name == "position" || parameter.name == "buflen" ||
        parameter.name == "pset_len" || parameter.name == "dims")
        return name != "Cart_get";
    if (name.starts_with("Status_set")) return base == "MPI_Status";
    if (name.ends_with("_free_keyval")) return true;
    if (parameter.name == "array_of_requests" || parameter.name == "flags") return true;
    if (base == "MPI_Message") return contains(name, "recv");
    if (base == "MPI_Request")
        return function.parameters.size() <= 3 &&
               (name == "Start" || name == "Wait" || name == "Test" || name == "Request_free");
    for (const char* end : {"_free", "_commit", "_disconnect", "_close", "_finalize"})
        if (name.ends_with(end) && function.parameters.size() == 1) return true;
    return false;
}

std::string intent(const Function& function, const Parameter& parameter) {
    const std::string& type = parameter.type;
    const bool value = type == base_of(type);
    if (is_choice(parameter) && (function.name == "Get_address" || function.name == "Win_detach"))
        return "";
    if (is_boolean(parameter))
        return contains(function.name, "_get_") ? ", intent(out)" : ", intent(in)";
    // These may be constants that the call recognizes by their addresses.
    if (!type.starts_with("const ") &&
        (base_of(type) == "MPI_Status" || parameter.name.ends_with("weights") ||
         parameter.name == "array_of_errcodes") &&
        !is_changed(function, parameter))
        return "";
    if (is_attribute(parameter))
        return contains(function.name, "_get_attr") ? ", intent(out)" : ", intent(in)";
    if (value || type.starts_with("const ") || is_function(parameter)) return ", intent(in)";
    if (parameter.name == "ranges" || function.name == "Cancel") return ", intent(in)";
    if (parameter.name == "argv" || parameter.name.starts_with("array_of_argv") ||
        parameter.name == "array_of_commands")
        return ", intent(in)";
    if (is_choice(parameter)) return function.name == "Free_mem" ? ", intent(in)" : "";
    return is_changed(function, parameter) ? ", intent(inout)" : ", intent(out)";
}

std::string name_of(const Parameter& parameter) {
    return parameter.name == "indx" ? "index" : parameter.name;
}

std::string declare_f08(const Header& header, const Function& function,
                        const Parameter& parameter) {
    const std::string& type = parameter.type;
    const std::string base = base_of(type), name = name_of(parameter);
    const std::string given = intent(function, parameter);
    if (is_function(parameter)) return "procedure(" + base + ") :: " + name;
    if (is_attribute(parameter)) return address_kind + given + " :: " + name;
    if (is_boolean(parameter)) return "logical" + given + " :: " + name;
    if (is_pointer(parameter)) return "type(c_ptr)" + given + " :: " + name;
    const std::string later = is_asynchronous(function) || function.name.starts_with("Comm_idup") ||
                                      function.name == "Comm_ishrink" ||
                                      function.name == "Comm_iagree"
                                  ? ", asynchronous"
                                  : "";
    if (is_choice(parameter)) return "type(*), dimension(..)" + given + later + " :: " + name;
    const bool array = contains(type, "[") || name.ends_with("weights") || type.ends_with("**") ||
                       name.starts_with("array_of_");
    if (is_string(parameter)) {
        const bool list =
            type != "char*" && type != "const char*" && type != "char[]" && type != "const char[]";
        return "character(len=*)" + given + " :: " + name +
               (type.ends_with("***") || contains(type, "**[") ? "(count, *)"
                : list                                         ? "(*)"
                                                               : "");
    }
    std::string fortran;
    if (base == "int")
        fortran = is_logical(parameter) ? "logical" : "integer";
    else if (header.is_handle(base) || base == "MPI_Status")
        fortran = "type(" + base + ")";
    else if (base == "MPI_Aint")
        fortran = address_kind;
    else if (base == "MPI_Count")
        fortran = "integer(MPI_COUNT_KIND)";
    else if (base == "MPI_Offset")
        fortran = "integer(MPI_OFFSET_KIND)";
    else
        throw std::runtime_error("MPI_" + function.name + ": what is a " + type + " in mpi_f08?");
    const char* shape = type.ends_with("[][3]") ? "(3, *)" : array ? "(*)" : "";
    return fortran + given + (array || name == "newcomm" || name == "flags" ? later : "") +
           " :: " + name + shape;
}

// The arguments as generic resolution sees them: MPI_Count and MPI_Aint are the same kind.
std::string shape_of(const Function& function) {
    std::string all;
    for (const Parameter& parameter : function.parameters) {
        const std::string base = base_of(parameter.type);
        all += (base == "MPI_Aint"       ? "MPI_Count"
                : is_function(parameter) ? "function"
                                         : base) +
               ",";
    }
    return all;
}

// ---- interfaces ----

// Not used by the module itself: gfortran would take a program's own use of the type for another.
constexpr const char* use_pointer = "    use, intrinsic :: iso_c_binding, only: c_ptr\n";

void write_head(std::ostream& out, const std::string& head, const Function& function,
                bool has_error, const std::string& binding, bool pointers) {
    std::string line = head + "(";
    bool first = true;
    const auto add = [&](const std::string& name) {
        if (!first) line += ", ";
        first = false;
        if (line.size() - line.rfind('\n') > 90) line += "&\n        ";
        line += name;
    };
    for (const Parameter& parameter : function.parameters) add(name_of(parameter));
    if (has_error) add("ierror");
    out << "  " << line << ")"
        << (binding.empty() ? "" : " &\n      bind(C, name=\"" + binding + "\")") << "\n"
        << (pointers ? use_pointer : "") << "    import\n";
}

void write_interface(std::ostream& out, const Header& header, const Function& function,
                     const std::string& name, const std::string& binding) {
    const bool value = function.result != "int";
    write_head(out, (value ? "function " : "subroutine ") + name, function,
               !value && function.name != "Pcontrol", binding, has(function, is_pointer));
    for (const Parameter& parameter : function.parameters)
        out << "    " << declare_f08(header, function, parameter) << "\n";
    if (value) {
        out << "    " << (function.result == "double" ? "double precision" : address_kind)
            << " :: " << name << "\n  end function\n";
        return;
    }
    if (function.name != "Pcontrol") out << "    integer, optional, intent(out) :: ierror\n";
    out << "  end subroutine\n";
}

// The other width of a function, if Fortran can distinguish the two.
const Function* wide_form(const Header& header, const Function& function) {
    for (const Function& other : header.functions)
        if (other.name == function.name + "_c" && !has(function, is_function) &&
            shape_of(other) != shape_of(function))
            return &other;
    return nullptr;
}

bool is_alone(const Function& function) {
    return is_wide(function.name) && has(function, is_function);
}

class Writer {
  public:
    Writer(std::ostream& out, const Header& header, std::string prefix)
        : out_(out),
          header_(header),
          prefix_(std::move(prefix)),
          profiled_(!prefix_.starts_with("P")) {}

    void write(const Function& function) {
        const Function* const wide = wide_form(header_, function);
        const std::string name = prefix_ + function.name;
        // To a routine that C binds, a CHARACTER would be a descriptor, and gfortran refuses a
        // LOGICAL with -std.
        const bool of_fortran = !takes_descriptors(function) &&
                                (has(function, is_function) || has(function, is_string) ||
                                 has(function, takes_logical));
        const bool generic =
            wide != nullptr || takes_descriptors(function) || (of_fortran && profiled_);
        out_ << "  interface" << (generic ? " " + name : "") << "\n";
        if (of_fortran)
            write_interface(out_, header_, function, profiled_ ? name + "_f08" : name, "");
        else
            write_interface(out_, header_, function,
                            name + (takes_descriptors(function) ? "_f08ts"
                                    : generic                   ? "_f08"
                                                                : ""),
                            binding(function));
        if (wide != nullptr)
            write_interface(out_, header_, *wide, prefix_ + wide->name + "_f08ts", binding(*wide));
        out_ << "  end interface\n";
    }

  private:
    std::string binding(const Function& function) const {
        const std::string name = lower(prefix_ + function.name);
        if (takes_descriptors(function)) return name + "_f08ts_";
        return profiled_ && function.result == "int" && function.name != "Pcontrol" ? name + "_f08_"
                                                                                    : name + "_";
    }

    std::ostream& out_;
    const Header& header_;
    const std::string prefix_;
    const bool profiled_;  // these are the names that a profiler may define
};

// ---- the parts of the modules ----

void write_callbacks(std::ostream& out, const Header& header) {
    const auto declared = [&](const Parameter& parameter) -> std::string {
        const std::string base = base_of(parameter.type), &name = parameter.name;
        if (base == "void") {
            if (name == "extra_state" || contains(name, "value"))
                return address_kind + (" :: " + name);
            return "type(c_ptr), value :: " + name;
        }
        if (base == "int") return (is_logical(parameter) ? "logical :: " : "integer :: ") + name;
        if (base == "MPI_Aint") return address_kind + (" :: " + name);
        if (base == "MPI_Count") return "integer(MPI_COUNT_KIND) :: " + name;
        if (base == "MPI_Offset") return "integer(MPI_OFFSET_KIND) :: " + name;
        if (header.is_handle(base) || base == "MPI_Status") return "type(" + base + ") :: " + name;
        throw std::runtime_error("what is a " + parameter.type + " of a function of the program?");
    };
    out << "  abstract interface\n";
    for (const Callback& callback : header.callbacks) {
        const bool error = callback.result == "int";
        const Function function{"int", "", callback.parameters};
        const bool pointers = has(function, [&](const Parameter& parameter) {
            return contains(declared(parameter), "c_ptr");
        });
        write_head(out, "subroutine " + callback.name, function, error, "", pointers);
        for (const Parameter& parameter : callback.parameters)
            out << "    " << declared(parameter) << "\n";
        if (error) out << "    integer :: ierror\n";
        out << "  end subroutine\n";
    }
    out << "  end interface\n";
    const auto known = [&](const Predefined& function) {
        return std::any_of(
            header.callbacks.begin(), header.callbacks.end(),
            [&](const Callback& callback) { return callback.name == function.type; });
    };
    for (const Predefined& function : header.predefined)
        if (known(function))
            out << "  procedure(" << function.type << ") :: " << function.name << "\n";
}

void write_constants(std::ostream& out, const Header& header) {
    for (const Constant& constant : header.constants) {
        if (constant.handle.empty())
            out << "  integer, parameter :: " << constant.name << " = " << constant.value << "\n";
        else
            out << "  type(" << constant.handle << "), parameter :: " << constant.name << " = "
                << constant.handle << "(" << constant.value << ")\n";
    }
    out << "  integer(MPI_OFFSET_KIND), parameter :: MPI_DISPLACEMENT_CURRENT = -1\n";
    for (const char* name : {"MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING",
                             "MPI_ASYNC_PROTECTED_PER_ARGUMENT"})
        out << "  logical, parameter :: " << name << " = .true.\n";
}

// Variables that calls recognize by their addresses: the common blocks of mpif.h.
void write_variables(std::ostream& out) {
    constexpr const char* variables[][2] = {
        {"integer", "MPI_BOTTOM"},
        {"integer", "MPI_IN_PLACE"},
        {"integer", "MPI_BUFFER_AUTOMATIC"},
        {"type(MPI_Status)", "MPI_STATUS_IGNORE"},
        {"type(MPI_Status)", "MPI_STATUSES_IGNORE(1)"},
        {"integer", "MPI_ERRCODES_IGNORE(1)"},
        {"integer", "MPI_UNWEIGHTED(1)"},
        {"integer", "MPI_WEIGHTS_EMPTY(1)"},
        {"character(len=1)", "MPI_ARGV_NULL(1)"},
        {"character(len=1)", "MPI_ARGVS_NULL(1, 1)"},
    };
    constexpr const char* blocks[] = {"fbottom",   "finplace",  "fbufferautomatic", "fstatus",
                                      "fstatuses", "ferrcodes", "funweighted",      "fweightsempty",
                                      "fargv",     "fargvs"};
    for (std::size_t i = 0; i < std::size(variables); ++i)
        out << "  " << variables[i][0] << ", bind(C, name=\"torusmp_" << blocks[i]
            << "_\") :: " << variables[i][1] << "\n";
}

}  // namespace

bool f08_shares(const Header&, const Function& function) {
    return !is_absent(function) && !takes_descriptors(function) && function.result == "int" &&
           function.name != "Pcontrol";
}

void write_types(std::ostream& out, const Header& header) {
    out << "! The types of the modules mpi and mpi_f08. Made from mpi.h.\n"
           "module mpi_f08_types\n  implicit none\n  public\n";
    for (const std::string& handle : header.handles)
        out << "  type, bind(C) :: " << handle << "\n    integer :: MPI_VAL\n  end type\n";
    out << "  type, bind(C) :: MPI_Status\n    integer :: MPI_SOURCE, MPI_TAG, MPI_ERROR\n"
           "    integer, private :: reserved(5)\n  end type\n";
    for (const char* relation : {"==", "/="}) {
        out << "  interface operator(" << relation << ")\n";
        for (const std::string& handle : header.handles) {
            const std::string name = std::string("torusmp_f") +
                                     (relation[0] == '=' ? "same_" : "other_") +
                                     lower(handle.substr(4));
            out << "  elemental function " << name << "(a, b)\n    import\n    type(" << handle
                << "), intent(in) :: a, b\n    logical :: " << name << "\n  end function\n";
        }
        out << "  end interface\n";
    }
    // Between a status of this type and the array of mpif.h.
    for (const char* prefix : {"MPI_", "PMPI_"})
        out << "  interface\n  subroutine " << prefix
            << "Status_f2f08(f_status, f08_status, ierror)\n    import\n"
               "    integer, intent(in) :: f_status(8)\n"
               "    type(MPI_Status), intent(out) :: f08_status\n"
               "    integer, optional, intent(out) :: ierror\n  end subroutine\n  subroutine "
            << prefix
            << "Status_f082f(f08_status, f_status, ierror)\n    import\n"
               "    type(MPI_Status), intent(in) :: f08_status\n"
               "    integer, intent(out) :: f_status(8)\n"
               "    integer, optional, intent(out) :: ierror\n  end subroutine\n  end interface\n";
    out << "end module mpi_f08_types\n";
}

void write_f08(std::ostream& out, const Header& header) {
    out << "! MPI as the module mpi_f08. Made from mpi.h.\n"
           "module mpi_f08\n  use mpi_f08_types\n  implicit none\n  public\n";
    for (const Constant& constant : constants_of_fortran())
        out << "  integer, parameter :: " << constant.name << " = " << constant.value << "\n";
    write_constants(out, header);
    write_variables(out);
    write_callbacks(out, header);
    for (const char* prefix : {"MPI_", "PMPI_"}) {
        Writer writer(out, header, prefix);
        for (const Function& function : header.functions)
            if (!is_absent(function) && (!is_wide(function.name) || is_alone(function)))
                writer.write(function);
        out << "  interface\n  subroutine " << prefix << "F_sync_reg(buf) bind(C, name=\""
            << lower(prefix) << "f_sync_reg_f08ts_\")\n    import\n"
            << "    type(*), dimension(..), asynchronous :: buf\n  end subroutine\n  end "
               "interface\n";
        write_sizeof(out, std::string(prefix) + "SIZEOF", "integer, optional");
    }
    out << "end module mpi_f08\n";
}

void write_f08_extensions(std::ostream& out, const Header& header) {
    out << "! Extensions of the module mpi_f08. Made from mpi-ext.h.\n"
           "module mpi_f08_ext\n  use mpi_f08_types\n  implicit none\n  public\n";
    for (const Constant& constant : header.extension_constants)
        out << "  integer, parameter :: " << constant.name << " = " << constant.value << "\n";
    for (const char* prefix : {"MPIX_", "PMPIX_"})
        for (const Function& function : header.extensions)
            Writer(out, header, prefix).write(function);
    for (const Function& function : header.own) Writer(out, header, "").write(function);
    out << "end module mpi_f08_ext\n";
}

// ---- the list of routines that take descriptors ----

void write_f08_routines(std::ostream& out, const Header& header) {
    static const std::set<std::string> by_hand{"Type_create_struct_c", "Type_get_contents_c"};
    // Whose buffers are only addresses.
    static const std::set<std::string> addresses{"Get_address", "Free_mem", "Win_detach"};
    for (const Function& function : header.functions) {
        const std::string& name = function.name;
        if (is_absent(function) || !takes_descriptors(function) || by_hand.contains(name) ||
            contains(name, "lltoallw"))
            continue;
        if (is_wide(name) && !is_alone(function)) {
            const std::string narrow = name.substr(0, name.size() - 2);
            const auto same =
                std::find_if(header.functions.begin(), header.functions.end(),
                             [&](const Function& other) { return other.name == narrow; });
            if (same == header.functions.end() || wide_form(header, *same) == nullptr) continue;
        }
        const bool descriptors = has(function, is_choice) || has(function, is_string);
        const char* untyped =
            addresses.contains(name) || name.ends_with("_end") ? "address" : "block";
        out << (descriptors ? "WITH_DESCRIPTORS(" : "PLAIN(") << function.parameters.size() << ", "
            << lower(name) << ", " << name << (descriptors ? std::string(", ") + untyped : "")
            << ")\n";
    }
}
