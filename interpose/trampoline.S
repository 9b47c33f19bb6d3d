// The code of trampoline.h. Each trampoline puts its number into a scratch register and goes on to the common part.
#include "interpose/trampoline_count.h"

  .text
  .hidden refrain_trampolines
  .globl refrain_trampolines
  .hidden refrain_trampoline_targets
  .hidden refrain_before_unknown

#if defined(__x86_64__)

  .p2align 4
refrain_trampolines:
  .set number, 0
  .rept REFRAIN_TRAMPOLINES
  .p2align 4
  movl $number, %r11d
  jmp common
  .set number, number + 1
  .endr
  .p2align 4

// Saves what can carry an argument of a C function: rdi, rsi, rdx, rcx, r8, r9, the count in al, r10, xmm0 to xmm7.
  .type common, @function
common:
  .cfi_startproc
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset rbp, 0
  movq %rsp, %rbp
  .cfi_def_cfa_register rbp
  subq $208, %rsp
  andq $-16, %rsp
  movq %rdi, 0(%rsp)
  movq %rsi, 8(%rsp)
  movq %rdx, 16(%rsp)
  movq %rcx, 24(%rsp)
  movq %r8, 32(%rsp)
  movq %r9, 40(%rsp)
  movq %rax, 48(%rsp)
  movq %r10, 56(%rsp)
  movq %r11, 64(%rsp)
  movaps %xmm0, 80(%rsp)
  movaps %xmm1, 96(%rsp)
  movaps %xmm2, 112(%rsp)
  movaps %xmm3, 128(%rsp)
  movaps %xmm4, 144(%rsp)
  movaps %xmm5, 160(%rsp)
  movaps %xmm6, 176(%rsp)
  movaps %xmm7, 192(%rsp)
  call refrain_before_unknown
  movq 0(%rsp), %rdi
  movq 8(%rsp), %rsi
  movq 16(%rsp), %rdx
  movq 24(%rsp), %rcx
  movq 32(%rsp), %r8
  movq 40(%rsp), %r9
  movq 48(%rsp), %rax
  movq 56(%rsp), %r10
  movq 64(%rsp), %r11
  movaps 80(%rsp), %xmm0
  movaps 96(%rsp), %xmm1
  movaps 112(%rsp), %xmm2
  movaps 128(%rsp), %xmm3
  movaps 144(%rsp), %xmm4
  movaps 160(%rsp), %xmm5
  movaps 176(%rsp), %xmm6
  movaps 192(%rsp), %xmm7
  leave
  .cfi_def_cfa rsp, 8
  .cfi_restore rbp
  pushq %r10
  .cfi_adjust_cfa_offset 8
  leaq refrain_trampoline_targets(%rip), %r10
  movq (%r10,%r11,8), %r11
  popq %r10
  .cfi_adjust_cfa_offset -8
  jmp *%r11
  .cfi_endproc
  .size common, . - common

#elif defined(__aarch64__)

  .p2align 4
refrain_trampolines:
  .set number, 0
  .rept REFRAIN_TRAMPOLINES
  .p2align 4
  mov w17, #number
  b common
  .set number, number + 1
  .endr
  .p2align 4

// Saves what can carry an argument of a C function: x0 to x8, q0 to q7, and the return address.
  .type common, %function
common:
  .cfi_startproc
  stp x29, x30, [sp, #-240]!
  .cfi_def_cfa_offset 240
  .cfi_offset x29, -240
  .cfi_offset x30, -232
  mov x29, sp
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  stp x8, x17, [sp, #80]
  stp q0, q1, [sp, #96]
  stp q2, q3, [sp, #128]
  stp q4, q5, [sp, #160]
  stp q6, q7, [sp, #192]
  bl refrain_before_unknown
  ldp x0, x1, [sp, #16]
  ldp x2, x3, [sp, #32]
  ldp x4, x5, [sp, #48]
  ldp x6, x7, [sp, #64]
  ldp x8, x17, [sp, #80]
  ldp q0, q1, [sp, #96]
  ldp q2, q3, [sp, #128]
  ldp q4, q5, [sp, #160]
  ldp q6, q7, [sp, #192]
  ldp x29, x30, [sp], #240
  .cfi_restore x29
  .cfi_restore x30
  .cfi_def_cfa_offset 0
  adrp x16, refrain_trampoline_targets
  add x16, x16, :lo12:refrain_trampoline_targets
  ldr x16, [x16, x17, lsl #3]
  br x16
  .cfi_endproc
  .size common, . - common

#else
#error "no trampolines for this architecture"
#endif

  .section .note.GNU-stack, "", %progbits
