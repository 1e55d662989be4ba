// SPDX-License-Identifier: BSD-3-Clause
// Error handlers and error codes of the program (MPI-1.1, sections 7.2 and 7.3; MPI-2.2, 8.3 to
// 8.5). error.cpp handles failed calls.
#include <algorithm>
#include <cstring>

#include "mpi11/error/check.h"
#include "mpi11/error/error_codes.h"

namespace torusmp::mpi {

void create_error_handler(const char* argument, MPI_Comm_errhandler_function* function,
                          MPI_Errhandler* errhandler) {
    check_output(argument, reinterpret_cast<const void*>(function));
    check_output("errhandler", errhandler);
    *errhandler = handle_of(make<ErrorHandler>(ErrorHandler::Way::function, function));
}

void get_error_handler(ErrorHandler& handler, MPI_Errhandler* errhandler) {
    check_output("errhandler", errhandler);
    // The handle belongs to the program, which frees it.
    if (handler.constant == 0) retain(handler);
    *errhandler = handle_of(handler);
}

void check_error_code(int code) {
    if (class_of(code) < 0) fail(MPI_ERR_ARG, "found {}, which is not an error code", code);
}

namespace {

int create(const char* call, MPI_Comm_errhandler_function* function, MPI_Errhandler* errhandler) {
    return api(call, [&] { create_error_handler("function", function, errhandler); });
}

int set(const char* call, MPI_Comm comm, MPI_Errhandler errhandler) {
    return api(call, comm, [&](Communicator& c) {
        c.error_handler = Reference<ErrorHandler>(checked<ErrorHandler>(errhandler));
    });
}

int get(const char* call, MPI_Comm comm, MPI_Errhandler* errhandler) {
    return api(call, comm,
               [&](Communicator& c) { get_error_handler(*c.error_handler, errhandler); });
}

void remove_without_text(int code) {
    if (!text_of(code).empty())
        fail(MPI_ERR_ARG, "error code {} still has a string: remove it first", code);
    remove_code(code);
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Comm_create_errhandler = PMPI_Comm_create_errhandler
int PMPI_Comm_create_errhandler(MPI_Comm_errhandler_function* function,
                                MPI_Errhandler* errhandler) {
    return create("MPI_Comm_create_errhandler", function, errhandler);
}

#pragma weak MPI_Errhandler_create = PMPI_Errhandler_create
int PMPI_Errhandler_create(MPI_Handler_function* function, MPI_Errhandler* errhandler) {
    return create("MPI_Errhandler_create", function, errhandler);
}

#pragma weak MPI_Comm_set_errhandler = PMPI_Comm_set_errhandler
int PMPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler) {
    return set("MPI_Comm_set_errhandler", comm, errhandler);
}

#pragma weak MPI_Errhandler_set = PMPI_Errhandler_set
int PMPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler) {
    return set("MPI_Errhandler_set", comm, errhandler);
}

#pragma weak MPI_Comm_get_errhandler = PMPI_Comm_get_errhandler
int PMPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler* errhandler) {
    return get("MPI_Comm_get_errhandler", comm, errhandler);
}

#pragma weak MPI_Errhandler_get = PMPI_Errhandler_get
int PMPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler* errhandler) {
    return get("MPI_Errhandler_get", comm, errhandler);
}

#pragma weak MPI_Errhandler_free = PMPI_Errhandler_free
int PMPI_Errhandler_free(MPI_Errhandler* errhandler) {
    return api_at_any_time("MPI_Errhandler_free", [&] {
        check_output("errhandler", errhandler);
        ErrorHandler& handler = checked<ErrorHandler>(*errhandler);
        if (handler.constant == 0) release(handler);
        *errhandler = MPI_ERRHANDLER_NULL;
    });
}

#pragma weak MPI_Comm_call_errhandler = PMPI_Comm_call_errhandler
int PMPI_Comm_call_errhandler(MPI_Comm comm, int errorcode) {
    return api("MPI_Comm_call_errhandler", comm, [&](Communicator& c) {
        check_error_code(errorcode);
        raise_for_program("MPI_Comm_call_errhandler", c, errorcode);
    });
}

#pragma weak MPI_Error_string = PMPI_Error_string
int PMPI_Error_string(int errorcode, char* string, int* resultlen) {
    return api_at_any_time("MPI_Error_string", [&] {
        check_output("string", string);
        check_output("resultlen", resultlen);
        check_error_code(errorcode);
        const std::string text = describe(errorcode);
        const std::size_t length = std::min<std::size_t>(text.size(), MPI_MAX_ERROR_STRING - 1);
        std::copy_n(text.data(), length, string);
        string[length] = '\0';
        *resultlen = int(length);
    });
}

#pragma weak MPI_Error_class = PMPI_Error_class
int PMPI_Error_class(int errorcode, int* errorclass) {
    return api_at_any_time("MPI_Error_class", [&] {
        check_output("errorclass", errorclass);
        check_error_code(errorcode);
        *errorclass = class_of(errorcode);
    });
}

#pragma weak MPI_Add_error_class = PMPI_Add_error_class
int PMPI_Add_error_class(int* errorclass) {
    return api_at_any_time("MPI_Add_error_class", [&] {
        check_output("errorclass", errorclass);
        *errorclass = add_class();
    });
}

#pragma weak MPI_Add_error_code = PMPI_Add_error_code
int PMPI_Add_error_code(int errorclass, int* errorcode) {
    return api_at_any_time("MPI_Add_error_code", [&] {
        check_output("errorcode", errorcode);
        if (class_of(errorclass) != errorclass)
            fail(MPI_ERR_ARG, "found {}, expected an error class", errorclass);
        *errorcode = add_code(errorclass);
    });
}

#pragma weak MPI_Add_error_string = PMPI_Add_error_string
int PMPI_Add_error_string(int errorcode, const char* string) {
    return api_at_any_time("MPI_Add_error_string", [&] {
        check_output("string", string);
        const std::size_t length = std::strlen(string);
        if (length >= MPI_MAX_ERROR_STRING)
            fail(MPI_ERR_ARG, "found a text of {} characters, expected at most {}", length,
                 MPI_MAX_ERROR_STRING - 1);
        if (!set_text(errorcode, string))
            fail(MPI_ERR_ARG, "found error code {}, expected one that was added", errorcode);
    });
}

#pragma weak MPI_Remove_error_class = PMPI_Remove_error_class
int PMPI_Remove_error_class(int errorclass) {
    return api_at_any_time("MPI_Remove_error_class", [&] {
        if (!is_added_class(errorclass))
            fail(MPI_ERR_ARG, "found {}, expected an error class that was added", errorclass);
        if (has_codes(errorclass))
            fail(MPI_ERR_ARG, "error class {} still has error codes: remove them first",
                 errorclass);
        remove_without_text(errorclass);
    });
}

#pragma weak MPI_Remove_error_code = PMPI_Remove_error_code
int PMPI_Remove_error_code(int errorcode) {
    return api_at_any_time("MPI_Remove_error_code", [&] {
        if (!is_added_code(errorcode))
            fail(MPI_ERR_ARG, "found {}, expected an error code that was added", errorcode);
        remove_without_text(errorcode);
    });
}

#pragma weak MPI_Remove_error_string = PMPI_Remove_error_string
int PMPI_Remove_error_string(int errorcode) {
    return api_at_any_time("MPI_Remove_error_string", [&] {
        if (!set_text(errorcode, {}))
            fail(MPI_ERR_ARG, "found error code {}, expected one that was added", errorcode);
    });
}
}
