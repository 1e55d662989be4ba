! SPDX-License-Identifier: BSD-3-Clause
! The kinds of Fortran in MPI: the size of a variable, and datatypes by precision and range. Works on
! any number of processes.
program kinds
  use mpi
  implicit none
  integer :: ierr, me, n, info
  logical :: found
  character(len=MPI_MAX_INFO_VAL) :: value

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
  call sizes
  call integers
  call reals
  call complexes
  call messages
  call no_kinds
  call MPI_Info_create_env(info, ierr)
  call MPI_Info_get(info, 'wdir', MPI_MAX_INFO_VAL, value, found, ierr)
  call check(found, 'an info of the environment')
  call MPI_Info_free(info, ierr)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  if (me == 0) print *, 'kinds are well'
  call MPI_Finalize(ierr)
contains
  subroutine check(true, what)
    logical, intent(in) :: true
    character(len=*), intent(in) :: what
    if (true) return
    print *, 'not true: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end subroutine

  ! The sizes of scalars, and of the elements of arrays of any rank.
  subroutine sizes
    integer :: i, size
    integer(1) :: i1
    integer(selected_int_kind(4)) :: i2(3)
    integer(8) :: i8(2, 2)
    integer(16) :: i16
    logical :: l
    real :: r(7)
    double precision :: d(2, 3, 4)
    real(selected_real_kind(18)) :: wide
    complex :: c
    double complex :: z(5)
    complex(selected_real_kind(33)) :: widest(2)
    character :: letter
    character(len=5) :: words(3)
    call MPI_Sizeof(i, size, ierr)
    call check(size == 4 .and. ierr == MPI_SUCCESS, 'size of an integer')
    call MPI_Sizeof(i1, size, ierr)
    call check(size == 1, 'size of integer(1)')
    call MPI_Sizeof(i2, size, ierr)
    call check(size == 2, 'size of integer(2)')
    call MPI_Sizeof(i8, size, ierr)
    call check(size == 8, 'size of integer(8)')
    call PMPI_Sizeof(i16, size, ierr)
    call check(size == storage_size(i16) / 8, 'size of integer(16)')
    call MPI_Sizeof(l, size, ierr)
    call check(size == 4, 'size of a logical')
    call MPI_Sizeof(r, size, ierr)
    call check(size == 4, 'size of a real')
    call MPI_Sizeof(d(:, 1, 2:3), size, ierr)
    call check(size == 8, 'size of a double')
    call MPI_Sizeof(wide, size, ierr)
    call check(size == storage_size(wide) / 8, 'size of a wide real')
    call MPI_Sizeof(c, size, ierr)
    call check(size == 8, 'size of a complex')
    call MPI_Sizeof(z, size, ierr)
    call check(size == 16, 'size of a double complex')
    call MPI_Sizeof(widest, size, ierr)
    call check(size == 32, 'size of the widest complex')
    call MPI_Sizeof(letter, size, ierr)
    call check(size == 1 .and. ierr == MPI_SUCCESS, 'size of a character')
    call PMPI_Sizeof(words(1:3:2), size, ierr)
    call check(size == 1, 'size of a character in words')
  end subroutine

  ! A type has that size, that combiner and those arguments, and is the same when asked for again.
  subroutine check_type(type, again, combiner, arguments, bytes, what)
    integer, intent(in) :: type, again, combiner, arguments(:), bytes
    character(len=*), intent(in) :: what
    integer :: integers, addresses, types, found, size, given(2), no_types(1)
    integer(MPI_ADDRESS_KIND) :: no_addresses(1), lb, extent
    call check(type == again .and. type /= MPI_DATATYPE_NULL, what // ': the same handle')
    call MPI_Type_get_envelope(type, integers, addresses, types, found, ierr)
    call check(found == combiner, what // ': combiner')
    call check(integers == size_of(arguments) .and. addresses == 0 .and. types == 0, &
               what // ': envelope')
    call MPI_Type_get_contents(type, integers, 0, 0, given, no_addresses, no_types, ierr)
    call check(all(given(1:integers) == arguments), what // ': arguments')
    call MPI_Type_size(type, size, ierr)
    call MPI_Type_get_extent(type, lb, extent, ierr)
    call check(size == bytes .and. lb == 0 .and. extent == bytes, what // ': size')
  end subroutine
  integer function size_of(list)
    integer, intent(in) :: list(:)
    size_of = size(list)
  end function

  subroutine integers
    integer :: r, kind, bytes, type, again
    do r = 1, range(0_16)
      call MPI_Type_create_f90_integer(r, type, ierr)
      call MPI_Type_create_f90_integer(r, again, ierr)
      kind = selected_int_kind(r)
      bytes = kind
      call check_type(type, again, MPI_COMBINER_F90_INTEGER, [r], bytes, 'integers by range')
    end do
  end subroutine

  ! Bytes of a real of that kind.
  integer function real_bytes(kind)
    integer, intent(in) :: kind
    real_bytes = kind
    if (kind == 10) real_bytes = 16
  end function

  subroutine reals
    integer, parameter :: digits(6) = [1, 6, 7, 15, 18, 33]
    integer, parameter :: ranges(6) = [1, 37, 38, 307, 308, 4931]
    integer :: i, k, p, r, type, again, other
    do i = 1, 6
      do k = 1, 6
        p = digits(i)
        r = ranges(k)
        call MPI_Type_create_f90_real(p, r, type, ierr)
        call MPI_Type_create_f90_real(p, r, again, ierr)
        call check_type(type, again, MPI_COMBINER_F90_REAL, [p, r], &
                        real_bytes(selected_real_kind(p, r)), 'reals by precision and range')
      end do
      call MPI_Type_create_f90_real(p, MPI_UNDEFINED, type, ierr)
      call MPI_Type_create_f90_real(p, MPI_UNDEFINED, again, ierr)
      call check_type(type, again, MPI_COMBINER_F90_REAL, [p, MPI_UNDEFINED], &
                      real_bytes(selected_real_kind(p)), 'reals by precision')
      call MPI_Type_create_f90_real(MPI_UNDEFINED, ranges(i), type, ierr)
      call MPI_Type_create_f90_real(MPI_UNDEFINED, ranges(i), again, ierr)
      call check_type(type, again, MPI_COMBINER_F90_REAL, [MPI_UNDEFINED, ranges(i)], &
                      real_bytes(selected_real_kind(r=ranges(i))), 'reals by range')
    end do
    call MPI_Type_create_f90_real(6, 37, type, ierr)
    call MPI_Type_create_f90_real(5, 37, other, ierr)
    call check(type /= other, 'other arguments, another handle')
  end subroutine

  subroutine complexes
    integer, parameter :: digits(4) = [4, 12, 17, 30]
    integer :: i, type, again, real_type
    do i = 1, 4
      call MPI_Type_create_f90_complex(digits(i), 10, type, ierr)
      call MPI_Type_create_f90_complex(digits(i), 10, again, ierr)
      call check_type(type, again, MPI_COMBINER_F90_COMPLEX, [digits(i), 10], &
                      2 * real_bytes(selected_real_kind(digits(i), 10)), 'complexes')
      call MPI_Type_create_f90_real(digits(i), 10, real_type, ierr)
      call check(type /= real_type, 'a complex is not a real')
    end do
  end subroutine

  ! They are committed, may be reduced, and make other types.
  subroutine messages
    integer, parameter :: wide = selected_real_kind(17, 100)
    real(wide) :: mine(3), sums(3)
    complex(kind(1d0)) :: z, product
    integer :: type, pair, inside(1), integers(1), status(MPI_STATUS_SIZE)
    integer(selected_int_kind(15)) :: big, most
    integer(MPI_ADDRESS_KIND) :: addresses(1)
    call MPI_Type_create_f90_real(17, 100, type, ierr)
    mine = [1.0_wide, 1e20_wide, 1 / 3.0_wide] + me
    call MPI_Allreduce(mine, sums, 3, type, MPI_SUM, MPI_COMM_WORLD, ierr)
    call check(sums(1) == n + n * (n - 1) / 2, 'a sum of wide reals')
    call MPI_Sendrecv(mine, 3, type, me, 1, sums, 3, type, me, 1, MPI_COMM_WORLD, status, ierr)
    call check(all(sums == mine), 'wide reals sent')
    call MPI_Type_contiguous(2, type, pair, ierr)
    call MPI_Type_get_contents(pair, 1, 0, 1, integers, addresses, inside, ierr)
    call check(inside(1) == type, 'the type inside of another')
    call MPI_Type_free(pair, ierr)
    call MPI_Type_create_f90_integer(15, type, ierr)
    big = 10_8**15 + me
    call MPI_Allreduce(big, most, 1, type, MPI_MAX, MPI_COMM_WORLD, ierr)
    call check(most == 10_8**15 + n - 1, 'the largest of wide integers')
    call MPI_Type_create_f90_complex(15, MPI_UNDEFINED, type, ierr)
    z = (0, 1)
    call MPI_Allreduce(z, product, 1, type, MPI_PROD, MPI_COMM_WORLD, ierr)
    call check(product == z**n, 'a product of complexes')
  end subroutine

  integer function class_of(code)
    integer, intent(in) :: code
    integer :: copy
    copy = code
    call MPI_Error_class(copy, class_of, ierr)
  end function

  subroutine no_kinds
    integer :: type
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
    call MPI_Type_create_f90_real(34, 10, type, ierr)
    call check(class_of(ierr) == MPI_ERR_ARG, 'no such precision')
    call MPI_Type_create_f90_complex(MPI_UNDEFINED, MPI_UNDEFINED, type, ierr)
    call check(class_of(ierr) == MPI_ERR_ARG, 'neither precision nor range')
    call MPI_Type_create_f90_integer(39, type, ierr)
    call check(class_of(ierr) == MPI_ERR_ARG, 'no such range')
    call MPI_Type_create_f90_integer(9, type, ierr)
    call MPI_Type_free(type, ierr)
    call check(class_of(ierr) == MPI_ERR_TYPE, 'predefined types stay')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, ierr)
  end subroutine
end program
