// The dlsym that programs get. The C library's dlsym searches from the object that its return address lies in, so it is
// jumped to, with the arguments and the return address that the program gave.

  .text
  .globl dlsym
  .type dlsym, %function
  .hidden refrain_dlsym_target

#if defined(__x86_64__)

dlsym:
  .cfi_startproc
  movq (%rsp), %rdx
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call refrain_dlsym_target
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  jmp *%rax
  .cfi_endproc

#elif defined(__aarch64__)

dlsym:
  .cfi_startproc
  stp x29, x30, [sp, #-32]!
  .cfi_def_cfa_offset 32
  .cfi_offset x29, -32
  .cfi_offset x30, -24
  mov x29, sp
  stp x0, x1, [sp, #16]
  mov x2, x30
  bl refrain_dlsym_target
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldp x29, x30, [sp], #32
  .cfi_restore x29
  .cfi_restore x30
  .cfi_def_cfa_offset 0
  br x16
  .cfi_endproc

#else
#error "no dlsym for this architecture"
#endif

  .size dlsym, . - dlsym
  .section .note.GNU-stack, "", %progbits
