c fortran_fixed.f - one ALLOCATE in fixed form over many lines.
c Truth: colidx, a, p and q are one statement's, of 1, 2, 3 and 4 MiB, each by its own name.
      module cg_data
      integer, allocatable :: colidx(:)
      double precision, allocatable :: a(:), p(:), q(:)
      end module

      subroutine alloc_space(n)
      use cg_data
      integer n, ios
      allocate (
     &          colidx(2*n),
c     of the matrix
     &          a(2*n),

     >          p(3*n), q(4*n),
     >          stat = ios)
      if (ios .ne. 0) stop 1
      end

      program fixed
      use cg_data
      integer i, k, n, rounds
      character(len=16) text
      n = 131072
      rounds = 20
      if (command_argument_count() .ge. 1) then
        call get_command_argument(1, text)
        read (text, *) rounds
      end if
      call alloc_space(n)
      a = 1
      do k = 1, rounds
        do i = 1, 2*n
          colidx(i) = i
          p(i) = a(i) + k
          q(i) = p(i) * 2
        end do
      end do
      print *, q(7), colidx(9)
      end
