! SPDX-License-Identifier: BSD-3-Clause
! The module mpi_f08: types of handles, keywords, calls without ierror, large counts, functions of
! the program, and the same objects in the other interfaces. f08_sections.f90 has array sections. Works on
! any number of processes.
module functions_of_program
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: errors_seen = 0, freed = 0
contains
  subroutine add(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: in(:), inout(:)
    if (datatype /= MPI_INTEGER) return
    call c_f_pointer(invec, in, [len])
    call c_f_pointer(inoutvec, inout, [len])
    inout = inout + in
  end subroutine

  subroutine add_c(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer(MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: in(:), inout(:)
    if (datatype /= MPI_INTEGER) return
    call c_f_pointer(invec, in, [len])
    call c_f_pointer(inoutvec, inout, [len])
    inout = inout + in
  end subroutine

  subroutine on_error(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    if (comm /= MPI_COMM_NULL .and. error_code /= MPI_SUCCESS) errors_seen = errors_seen + 1
  end subroutine

  subroutine copy_twice(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    attribute_val_out = 2 * attribute_val_in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine

  subroutine query(extra_state, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    type(MPI_Status) :: status
    integer :: ierror
    call MPI_Status_set_elements(status, MPI_INTEGER, int(extra_state), ierror)
    call MPI_Status_set_cancelled(status, .false., ierror)
    status%MPI_SOURCE = 5
    status%MPI_TAG = 6
  end subroutine

  subroutine free_extra(extra_state, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    freed = freed + int(extra_state)
    ierror = MPI_SUCCESS
  end subroutine

  subroutine cancel(extra_state, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    if (complete) freed = freed + int(extra_state)
    ierror = MPI_SUCCESS
  end subroutine
end module

program f08
  use mpi_f08
  use, intrinsic :: iso_c_binding
  use functions_of_program
  implicit none
  integer :: me, n

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(comm=MPI_COMM_WORLD, size=n)
  call constants
  call handles
  call large_counts
  call operations
  call attributes
  call errors
  call requests
  call other_faces
  call strings
  call spawn
  call memory
  call sizes
  call MPI_Barrier(MPI_COMM_WORLD)
  if (me == 0) print *, 'mpi_f08 is well'
  call MPI_Finalize()
contains
  subroutine check(true, what)
    logical, intent(in) :: true
    character(len=*), intent(in) :: what
    if (true) return
    print *, 'not true: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

  subroutine constants
    call check(MPI_SUBARRAYS_SUPPORTED .and. MPI_ASYNC_PROTECTS_NONBLOCKING, 'what is supported')
    call check(MPI_COMM_WORLD%MPI_VAL == 257 .and. MPI_INTEGER%MPI_VAL == 537, 'values of the ABI')
    call check(storage_size(MPI_STATUS_IGNORE) == 32 * MPI_STATUS_SIZE, 'the size of a status')
  end subroutine

  subroutine handles
    type(MPI_Comm) :: comm, copy
    type(MPI_Group) :: group
    integer :: result
    comm = MPI_COMM_WORLD
    call check(comm == MPI_COMM_WORLD .and. .not. comm /= MPI_COMM_WORLD, 'a handle is itself')
    call MPI_Comm_dup(newcomm=copy, comm=comm)
    call check(copy /= comm .and. all([copy, comm] == [copy, comm]), 'a copy is another one')
    call MPI_Comm_compare(comm, copy, result)
    call check(result == MPI_CONGRUENT, 'copies are congruent')
    call MPI_Comm_group(copy, group)
    call MPI_Group_free(group)
    call MPI_Comm_free(copy)
    call check(copy == MPI_COMM_NULL .and. group == MPI_GROUP_NULL, 'what was freed is null')
    call PMPI_Comm_rank(MPI_COMM_WORLD, result)
    call check(result == me, 'names for profilers')
  end subroutine

  subroutine sizes
    double precision :: grid(4, 2)
    logical :: flags(3)
    character(len=7) :: word
    integer :: size, ierr
    call MPI_Sizeof(grid(::2, :), size)
    call check(size == 8, 'size of a double')
    call MPI_Sizeof(flags, size, ierr)
    call check(size == 4 .and. ierr == MPI_SUCCESS, 'size of a logical')
    call PMPI_Sizeof(x=word, size=size)
    call check(size == 1, 'size of a character')
  end subroutine

  ! The same names with counts of both kinds.
  subroutine large_counts
    integer(MPI_COUNT_KIND) :: count = 3, size, lb, extent, integers, addresses, counts, types
    integer(MPI_ADDRESS_KIND) :: aint_lb, aint_extent
    type(MPI_Datatype) :: type, parts(2)
    integer :: combiner, out(3), in(3), narrow
    integer(MPI_COUNT_KIND) :: numbers(5), blocks(2) = [1, 2], places(2) = [0, 8]
    integer :: plain(1)
    integer(MPI_ADDRESS_KIND) :: no_addresses(1)
    type(MPI_Datatype) :: contents(2)
    out = [me, me + 1, me + 2]
    in = 0
    call MPI_Allreduce(out, in, count, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD)
    call check(all(in == [n - 1, n, n + 1]), 'a reduction with a large count')
    parts = [MPI_INTEGER, MPI_DOUBLE_PRECISION]
    call MPI_Type_create_struct(2_MPI_COUNT_KIND, blocks, places, parts, type)
    call MPI_Type_commit(type)
    call MPI_Type_size(type, size)
    call check(size == 20, 'a size of 64 bits')
    call MPI_Type_size(type, narrow)
    call check(narrow == 20, 'a size of 32 bits')
    call MPI_Type_get_extent(type, aint_lb, aint_extent)
    call MPI_Type_get_extent_x(type, lb, extent)
    call check(aint_extent == 24 .and. extent == 24, 'an extent')
    call MPI_Type_get_envelope(type, integers, addresses, counts, types, combiner)
    call check(counts == 5 .and. types == 2 .and. combiner == MPI_COMBINER_STRUCT, 'an envelope')
    call MPI_Type_get_contents(type, integers, addresses, counts, types, plain, no_addresses, numbers, contents)
    call check(all(contents == parts) .and. all(numbers == [2_MPI_COUNT_KIND, blocks, places]), 'contents')
    call MPI_Type_free(type)
  end subroutine

  subroutine operations
    type(MPI_Op) :: op
    integer :: sum
    logical :: commute
    call MPI_Op_create(add, .true., op)
    call MPI_Allreduce(me, sum, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
    call MPI_Op_commutative(op, commute)
    call MPI_Op_free(op)
    call check(commute .and. sum == n * (n - 1) / 2, 'an operation')
    call MPI_Op_create_c(add_c, .true., op)
    call MPI_Allreduce(me + 1, sum, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
    call MPI_Op_free(op)
    call check(sum == n * (n + 1) / 2, 'an operation with a large count')
  end subroutine

  subroutine attributes
    integer :: key
    integer(MPI_ADDRESS_KIND) :: value, extra = 7
    logical :: found
    type(MPI_Comm) :: comm, copy
    call MPI_Comm_create_keyval(copy_twice, MPI_COMM_NULL_DELETE_FN, key, extra)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_set_attr(comm, key, 20_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(comm, copy)
    call MPI_Comm_get_attr(copy, key, value, found)
    call check(found .and. value == 47, 'an attribute that was copied')
    call MPI_Comm_free(copy)
    call MPI_Comm_free(comm)
    call MPI_Comm_free_keyval(key)
    call check(key == MPI_KEYVAL_INVALID, 'a key that was freed')
  end subroutine

  subroutine errors
    type(MPI_Errhandler) :: handler
    type(MPI_Comm) :: comm
    integer :: code, class, nothing(1)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_create_errhandler(on_error, handler)
    call MPI_Comm_set_errhandler(comm, handler)
    call MPI_Send(nothing, 1, MPI_INTEGER, n + 1, 0, comm, code)
    call MPI_Error_class(code, class)
    call check(errors_seen == 1 .and. class == MPI_ERR_RANK, 'an error handler')
    call MPI_Send(nothing, 1, MPI_INTEGER, n + 1, 0, comm)
    call check(errors_seen == 2, 'an error that the program does not ask for')
    call MPI_Errhandler_free(handler)
    call MPI_Comm_free(comm)
  end subroutine

  subroutine requests
    type(MPI_Request) :: all(2)
    type(MPI_Status) :: statuses(2), status
    integer :: in, index, count
    logical :: flag
    integer(MPI_ADDRESS_KIND), save :: extra = 3
    call MPI_Irecv(in, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, all(1))
    call MPI_Isend(me, 1, MPI_INTEGER, 0, 9, MPI_COMM_SELF, all(2))
    call MPI_Waitall(2, all, statuses)
    call check(in == me .and. statuses(1)%MPI_SOURCE == 0 .and. statuses(1)%MPI_TAG == 9, 'a status')
    call MPI_Get_count(statuses(1), MPI_INTEGER, count)
    call check(count == 1 .and. all(1) == MPI_REQUEST_NULL, 'a request that ended')
    call MPI_Waitany(2, all, index, MPI_STATUS_IGNORE)
    call check(index == MPI_UNDEFINED, 'no request left')
    call MPI_Waitall(2, all, MPI_STATUSES_IGNORE)
    call MPI_Grequest_start(query, free_extra, cancel, extra, all(1))
    call MPI_Cancel(all(1))
    call MPI_Test(all(1), flag, status)
    call check(.not. flag, 'a generalized request in progress')
    call MPI_Grequest_complete(all(1))
    call MPI_Wait(all(1), status)
    call MPI_Get_elements(status, MPI_INTEGER, count)
    call check(count == 3 .and. status%MPI_SOURCE == 5 .and. freed == 3, 'a generalized request')
  end subroutine

  ! mpif.h and the module mpi have INTEGERs for the same handles, and an array for a status.
  subroutine other_faces
    type(MPI_Comm) :: comm
    type(MPI_Status) :: status
    integer :: old_status(MPI_STATUS_SIZE), size, error
    external :: pmpi_comm_size
    call MPI_Comm_split(MPI_COMM_WORLD, 0, me, comm)
    call pmpi_comm_size(comm%MPI_VAL, size, error)
    call check(size == n .and. error == MPI_SUCCESS, 'a handle as INTEGER')
    call MPI_Comm_free(comm)
    status%MPI_SOURCE = 1
    status%MPI_TAG = 2
    status%MPI_ERROR = 3
    call MPI_Status_f082f(status, old_status)
    call check(old_status(MPI_SOURCE) == 1 .and. old_status(MPI_TAG) == 2 .and. old_status(MPI_ERROR) == 3, 'an array')
    old_status(MPI_TAG) = 4
    call MPI_Status_f2f08(old_status, status)
    call check(status%MPI_TAG == 4, 'a status from an array')
  end subroutine

  subroutine strings
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=8) :: value
    type(MPI_Info) :: info
    integer :: length
    logical :: found
    call MPI_Comm_set_name(MPI_COMM_SELF, 'alone  ')
    call MPI_Comm_get_name(MPI_COMM_SELF, name, length)
    call check(name == 'alone' .and. length == 5, 'a name')
    call MPI_Info_create(info)
    call MPI_Info_set(info, 'key', 'value')
    length = 8
    call MPI_Info_get_string(info, 'key', length, value, found)
    call check(found .and. value == 'value', 'an info')
    call MPI_Info_free(info)
    call MPI_Abi_get_fortran_info(info)
    length = 8
    call MPI_Info_get_string(info, 'mpi_logical_size', length, value, found)
    call check(found .and. value == '4', 'the size of LOGICAL in the ABI')
    call MPI_Abi_set_fortran_info(info, length)
    call check(length == MPI_SUCCESS, 'the same sizes again')
    call MPI_Info_free(info)
  end subroutine

  ! Refused.
  subroutine spawn
    type(MPI_Comm) :: other
    integer :: code, class, codes(2)
    character(len=MPI_MAX_PORT_NAME) :: port
    call MPI_Comm_get_parent(other)
    call check(other == MPI_COMM_NULL, 'no parent')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    codes = 0
    call MPI_Comm_spawn('worker', MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, other, codes, code)
    call MPI_Error_class(code, class)
    call check(class == MPI_ERR_SPAWN .and. all(codes == MPI_ERR_SPAWN), 'a spawn')
    call MPI_Comm_spawn_multiple(2, ['a', 'b'], MPI_ARGVS_NULL, [1, 1], [MPI_INFO_NULL, MPI_INFO_NULL], 0, &
        MPI_COMM_WORLD, other, MPI_ERRCODES_IGNORE, code)
    call MPI_Error_class(code, class)
    call check(class == MPI_ERR_SPAWN, 'a spawn of several')
    call MPI_Lookup_name('service', MPI_INFO_NULL, port, code)
    call MPI_Error_class(code, class)
    call check(class == MPI_ERR_NAME, 'a name')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
  end subroutine

  subroutine memory
    type(c_ptr) :: address, buffer
    real, pointer :: values(:)
    integer :: size
    integer(MPI_ADDRESS_KIND) :: first, second
    call MPI_Alloc_mem(40_MPI_ADDRESS_KIND, MPI_INFO_NULL, address)
    call c_f_pointer(address, values, [10])
    values = 1
    call MPI_Get_address(values(1), first)
    call MPI_Get_address(values(3), second)
    call check(MPI_Aint_diff(second, first) == 8, 'addresses')
    call MPI_Free_mem(values)
    allocate(values(1000))
    call MPI_Buffer_attach(values, 4000)
    call MPI_Buffer_detach(buffer, size)
    call check(size == 4000 .and. c_associated(buffer, c_loc(values(1))), 'a buffer')
    deallocate(values)
    call MPI_F_sync_reg(size)
  end subroutine
end program
