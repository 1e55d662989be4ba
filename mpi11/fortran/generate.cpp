// SPDX-License-Identifier: BSD-3-Clause
// Generates the sources of the Fortran binding from mpi.h, so that there is a single list of
// constants and functions: mpif.h, the module mpi, and the list of routines that need no wrapper of
// their own.
//
//   generate MPI.H mpif.h mpi.f90 fortran_routines.inc
//
// Runs while the library is built. Fails for anything in mpi.h that it does not understand.
#include <cctype>
#include <fstream>
#include <iostream>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Strings = std::vector<std::string>;

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
};

// ---- reading mpi.h ----

std::string read(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::vector<std::smatch> all_matches(const std::string& text, const std::regex& pattern) {
    return {std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator()};
}

Parameter parse_parameter(const std::string& text) {
    static const std::regex form(R"(\s*(.*?)\s*(\w+)\s*((?:\[\d*\])*)\s*)");
    std::smatch found;
    if (!std::regex_match(text, found, form)) throw std::runtime_error("what is '" + text + "'?");
    const std::string type = std::regex_replace(found[1].str(), std::regex(R"(\s+(\*))"), "$1");
    return {type + found[3].str(), found[2].str()};
}

std::vector<Parameter> parse_parameters(const std::string& text) {
    std::vector<Parameter> parameters;
    std::istringstream rest(text);
    for (std::string part; std::getline(rest, part, ',');)
        if (part != "void" && part.find("...") == std::string::npos)
            parameters.push_back(parse_parameter(part));
    return parameters;
}

std::vector<Function> find_functions(const std::string& header) {
    static const std::regex form(R"(\nTORUSMP_FUNCTION\((\w+), (\w+),\s*\(([^()]*)\)\))");
    std::vector<Function> functions;
    for (const std::smatch& found : all_matches(header, form))
        functions.push_back({found[1], found[2], parse_parameters(found[3])});
    if (functions.size() < 100) throw std::runtime_error("mpi.h declares hardly any function");
    return functions;
}

// Handles and integers; addresses and functions are not constants in Fortran.
std::vector<Constant> find_constants(const std::string& header) {
    static const std::regex form(
        R"(\n#define (MPI_\w+) (?:\(\(MPI_\w+\)(0x\w+)\)|\(?(-?\d+)\)?)(?= |\n))");
    static const std::regex alias(R"(\n#define (MPI_\w+) (MPI_\w+))");
    for (const std::smatch& found : all_matches(header, alias))
        throw std::runtime_error(found[1].str() + " is " + found[2].str() +
                                 ", which programs may define by it: write the value");
    std::vector<Constant> constants;
    for (const std::smatch& found : all_matches(header, form)) {
        const std::string name = found[1];
        if (name.starts_with("MPI_F_") || name.ends_with("_FN")) continue;
        std::string value =
            found[2].matched ? std::to_string(std::stoi(found[2], nullptr, 16)) : found[3].str();
        // A Fortran string has no null at its end.
        if (name.starts_with("MPI_MAX_")) value = std::to_string(std::stoi(value) - 1);
        constants.push_back({name, value});
    }
    return constants;
}

// ---- mpif.h, and its parts that the module shares ----

struct Common {
    const char *variable, *block;
};
constexpr Common commons[] = {
    {"MPI_BOTTOM", "TORUSMP_FBOTTOM"},
    {"MPI_IN_PLACE", "TORUSMP_FINPLACE"},
    {"MPI_STATUS_IGNORE(MPI_STATUS_SIZE)", "TORUSMP_FSTATUS"},
    {"MPI_STATUSES_IGNORE(MPI_STATUS_SIZE,1)", "TORUSMP_FSTATUSES"},
    {"MPI_ERRCODES_IGNORE(1)", "TORUSMP_FERRCODES"},
    {"MPI_UNWEIGHTED(1)", "TORUSMP_FUNWEIGHTED"},
    {"MPI_WEIGHTS_EMPTY(1)", "TORUSMP_FWEIGHTSEMPTY"},
};

// Valid in fixed and in free form: columns 7 to 72, without continuation lines.
void write_constants(std::ostream& out, std::vector<Constant> constants) {
    for (const char* kind : {"ADDRESS", "OFFSET", "COUNT"})
        constants.push_back({std::string("MPI_") + kind + "_KIND", "8"});
    constants.insert(constants.end(), {{"MPI_INTEGER_KIND", "4"},
                                       {"MPI_STATUS_SIZE", "8"},
                                       {"MPI_SOURCE", "1"},
                                       {"MPI_TAG", "2"},
                                       {"MPI_ERROR", "3"}});
    for (const Constant& constant : constants)
        out << "      INTEGER " << constant.name << "\n      PARAMETER (" << constant.name << "="
            << constant.value << ")\n";
    out << "      INTEGER(KIND=MPI_OFFSET_KIND) MPI_DISPLACEMENT_CURRENT\n"
           "      PARAMETER (MPI_DISPLACEMENT_CURRENT=-1)\n";
    for (const char* name : {"MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING"})
        out << "      LOGICAL " << name << "\n      PARAMETER (" << name << "=.FALSE.)\n";
    for (const Common& common : commons) {
        const std::string variable = common.variable;
        out << "      INTEGER " << variable << "\n      COMMON /" << common.block << "/ "
            << variable.substr(0, variable.find('(')) << "\n      SAVE /" << common.block << "/\n";
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

bool is_handle(const std::string& type) {
    static const std::set<std::string> handles{"MPI_Comm",  "MPI_Datatype", "MPI_Errhandler",
                                               "MPI_Group", "MPI_Info",     "MPI_Message",
                                               "MPI_Op",    "MPI_Request",  "MPI_File",
                                               "MPI_Win"};
    return handles.contains(type);
}

bool is_logical(const Parameter& parameter) {
    static const std::set<std::string> logicals{"flag",    "periods", "reorder", "remain_dims",
                                                "commute", "high",    "weighted"};
    return logicals.contains(parameter.name);
}

// Functions of MPI-1 whose addresses and attributes are plain INTEGERs.
bool has_short_addresses(const std::string& function) {
    static const std::set<std::string> names{
        "Address",       "Type_extent", "Type_lb",       "Type_ub",  "Type_hvector",
        "Type_hindexed", "Type_struct", "Keyval_create", "Attr_put", "Attr_get"};
    return names.contains(function);
}

bool is_attribute(const Parameter& parameter) {
    return parameter.name == "attribute_val" || parameter.name == "extra_state" ||
           parameter.name == "baseptr";
}

bool is_for_c_alone(const std::string& function) {
    for (const char* end : {"_c", "_c2f", "_f2c", "_toint", "_fromint"})
        if (function.ends_with(end)) return true;
    return false;
}

std::string declare(const Function& function, const Parameter& parameter) {
    std::string type = parameter.type;
    const std::string address =
        has_short_addresses(function.name) ? "integer" : "integer(MPI_ADDRESS_KIND)";
    if (is_attribute(parameter)) return address + " :: " + parameter.name;
    if (type.ends_with("void*"))
        return "type(*), dimension(*) :: " + parameter.name +
               "\n      !GCC$ ATTRIBUTES NO_ARG_CHECK :: " + parameter.name;
    if (type.ends_with("char*") || type.ends_with("char[]"))
        return "character(len=*) :: " + parameter.name;
    if (type.find("_function*") != std::string::npos) return "external :: " + parameter.name;
    if (type.starts_with("const ")) type.erase(0, 6);
    const std::string base = type.substr(0, type.find_first_of("*["));
    if (base == "MPI_Status")
        return "integer :: " + parameter.name +
               (parameter.name == "array_of_statuses" ? "(MPI_STATUS_SIZE, *)"
                                                      : "(MPI_STATUS_SIZE)");
    std::string fortran;
    if (base == "int")
        fortran = is_logical(parameter) ? "logical" : "integer";
    else if (is_handle(base))
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

void write_interface(std::ostream& out, const Function& function, const std::string& name) {
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
                                                       : declare(function, parameter))
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

void write_with_address(std::ostream& out, const Function& function, const std::string& name) {
    out << "  interface " << name << "\n";
    write_interface(out, function, name);
    write_interface(out, function, name + "_cptr");
    out << "  end interface\n";
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

// Accepts a variable of any kind and rank, and uses neither its value nor its shape.
void write_sizeof(std::ostream& out, const std::string& name) {
    out << "  interface " << name << "\n";
    for (const auto& [type, kinds] : numeric_kinds)
        for (const int kind : kinds)
            out << "    subroutine " << name << "_" << type << kind << "(x, size, ierror)\n"
                << "      " << type << "(" << kind << "), dimension(..) :: x\n"
                << "      integer :: size, ierror\n    end subroutine\n";
    out << "  end interface\n";
}

void write_module(std::ostream& out, const std::vector<Constant>& constants,
                  const std::vector<Function>& functions) {
    out << "! MPI as a module with interfaces. Made from mpi.h.\n"
           "module mpi\n      implicit none\n      public\n";
    write_constants(out, constants);
    for (const char* prefix : {"MPI_", "PMPI_"}) {
        out << "  interface\n";
        for (const Function& function : functions)
            if (!is_for_c_alone(function.name) && !returns_address(function))
                write_interface(out, function, prefix + function.name);
        out << "  end interface\n";
        for (const Function& function : functions)
            if (!is_for_c_alone(function.name) && returns_address(function))
                write_with_address(out, function, prefix + function.name);
        write_sizeof(out, std::string(prefix) + "SIZEOF");
    }
    out << "end module mpi\n";
}

// ---- routines without a wrapper of their own ----

bool is_written_by_hand(const Function& function) {
    static const std::set<std::string> names{"Init",
                                             "Init_thread",
                                             "Info_create_env",
                                             "Pcontrol",
                                             "Buffer_detach",
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
                                             "Dist_graph_create",
                                             "Dist_graph_create_adjacent",
                                             "Dist_graph_neighbors"};
    if (function.result != "int" || names.contains(function.name)) return true;
    for (const Parameter& parameter : function.parameters) {
        const std::string& type = parameter.type;
        const std::string base = type.substr(0, type.find('['));
        if (type.ends_with("char*") || type.find("_function*") != std::string::npos) return true;
        if (base != type && is_handle(base.starts_with("const ") ? base.substr(6) : base))
            return true;
    }
    return false;
}

void write_routines(std::ostream& out, const std::vector<Function>& functions) {
    for (const Function& function : functions) {
        if (is_for_c_alone(function.name) || is_written_by_hand(function)) continue;
        std::string lower = function.name;
        for (char& letter : lower) letter = char(std::tolower(letter));
        out << "ROUTINE(" << function.parameters.size() << ", " << lower << ", " << function.name
            << ")\n";
    }
}

// A Fortran program does not pass its command line.
void make_fortran(std::vector<Function>& functions) {
    for (Function& function : functions)
        std::erase_if(function.parameters, [](const Parameter& parameter) {
            return parameter.name == "argc" || parameter.name == "argv";
        });
}

int run(int argc, char** argv) {
    if (argc != 5) throw std::runtime_error("expected MPI.H mpif.h mpi.f90 fortran_routines.inc");
    const std::string header = read(argv[1]);
    const std::vector<Constant> constants = find_constants(header);
    std::vector<Function> functions = find_functions(header);
    make_fortran(functions);
    std::ofstream mpif(argv[2]), module(argv[3]), routines(argv[4]);
    write_mpif(mpif, constants);
    write_module(module, constants, functions);
    write_routines(routines, functions);
    mpif.close();
    module.close();
    routines.close();
    if (!mpif || !module || !routines) throw std::runtime_error("cannot write its files");
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::cerr << "generate: " << error.what() << '\n';
        return 1;
    }
}
