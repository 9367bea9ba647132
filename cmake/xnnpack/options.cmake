# SPDX-License-Identifier: EPL-2.0
# How XNNPACK is built, for every way of getting it: static, the micro-kernels in use, nothing else.
include_guard(GLOBAL)

# A macro: the variables belong to the folder that adds XNNPACK.
macro(aidge_xnnpack_options)
  set(XNNPACK_LIBRARY_TYPE static CACHE STRING "" FORCE)
  # Tests or benchmarks force all micro-kernels.
  foreach(name IN ITEMS BUILD_TESTS BUILD_BENCHMARKS BUILD_ALL_MICROKERNELS ENABLE_KLEIDIAI)
    set(XNNPACK_${name} OFF CACHE BOOL "" FORCE)
  endforeach()
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^armv[5-7]") # a Cortex-A7 runs none of them, and gcc takes long or refuses
    foreach(name IN ITEMS FP16_SCALAR FP16_VECTOR DOTPROD BF16 I8MM)
      set(XNNPACK_ENABLE_ARM_${name} OFF CACHE BOOL "" FORCE)
    endforeach()
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^riscv" AND CMAKE_C_COMPILER_ID STREQUAL "GNU"
      AND CMAKE_C_COMPILER_VERSION VERSION_LESS 14) # no f16 vector intrinsics
    set(XNNPACK_ENABLE_RISCV_FP16_VECTOR OFF CACHE BOOL "" FORCE)
  endif()
  # Found as a path to libm.so it would end a static link; the plain name fits both.
  set(LIBM m CACHE STRING "" FORCE)
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)
endmacro()

# Sets <name> to the target of the micro-kernels, whose name depends on the version.
function(aidge_xnnpack_kernels name)
  if(TARGET xnnpack-microkernels-prod)
    set(${name} xnnpack-microkernels-prod PARENT_SCOPE)
  else()
    set(${name} microkernels-prod PARENT_SCOPE)
  endif()
endfunction()
