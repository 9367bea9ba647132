# SPDX-License-Identifier: EPL-2.0
# Finds out which generation of the XNNPACK interface the headers have, by compiling against them.
include_guard(GLOBAL)

# The two generations in use, tried first; anything between them is found feature by feature.
set(_aidge_xnnpack_new AIDGE_XNN_HAS_CODE_CACHE=0 AIDGE_XNN_HAS_WORKSPACE_ALIGNMENT=0 AIDGE_XNN_UNARY_HAS_LUT=1
  AIDGE_XNN_BILINEAR_HAS_DATATYPE=1 AIDGE_XNN_AVGPOOL_HAS_WORKSPACE=0 AIDGE_XNN_HAS_GELU=1
  AIDGE_XNN_HAS_APPROXGELU=1 AIDGE_XNN_HAS_REDUCE_MAX=1)
set(_aidge_xnnpack_2024 AIDGE_XNN_HAS_CODE_CACHE=1 AIDGE_XNN_HAS_WORKSPACE_ALIGNMENT=1 AIDGE_XNN_UNARY_HAS_LUT=0
  AIDGE_XNN_BILINEAR_HAS_DATATYPE=0 AIDGE_XNN_AVGPOOL_HAS_WORKSPACE=1 AIDGE_XNN_HAS_GELU=1
  AIDGE_XNN_HAS_APPROXGELU=0 AIDGE_XNN_HAS_REDUCE_MAX=0)

function(_aidge_xnnpack_try result includes)
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # compile only: the library need not exist yet
  list(TRANSFORM ARGN PREPEND -D)
  try_compile(_aidge_xnnpack_compiles ${CMAKE_BINARY_DIR}/CMakeFiles/aidge_xnnpack_probe
    SOURCES ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/probe.cpp
    COMPILE_DEFINITIONS ${ARGN}
    CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${includes}"
    CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON
    OUTPUT_VARIABLE output)
  set(${result} ${_aidge_xnnpack_compiles} PARENT_SCOPE)
  set(_aidge_xnnpack_output "${output}" PARENT_SCOPE)
  unset(_aidge_xnnpack_compiles CACHE)
endfunction()

# Sets <features> to a list of NAME=0/1. ARGN: the include folders, xnnpack.h's first.
function(aidge_xnnpack_probe features)
  list(GET ARGN 0 first)
  file(SHA256 "${first}/xnnpack.h" header)
  set(memory AIDGE_XNNPACK_FEATURES_${header})
  if(NOT DEFINED ${memory})
    _aidge_xnnpack_try(ok "${ARGN}")
    if(NOT ok)
      message(FATAL_ERROR "XNNPACK's header does not compile: ${first}/xnnpack.h\n${_aidge_xnnpack_output}")
    endif()
    _aidge_xnnpack_try(ok "${ARGN}" ${_aidge_xnnpack_new})
    if(ok)
      set(found ${_aidge_xnnpack_new})
      set(open "")
    else()
      _aidge_xnnpack_try(ok "${ARGN}" ${_aidge_xnnpack_2024})
      if(ok)
        set(found ${_aidge_xnnpack_2024})
        list(FILTER found EXCLUDE REGEX "=0$") # compiling does not show that something is absent
      else()
        set(found "")
      endif()
      set(open ${_aidge_xnnpack_new})
    endif()
    foreach(claim IN LISTS open)
      string(REGEX REPLACE "=.*" "" name ${claim})
      if(NOT "${name}=1" IN_LIST found)
        _aidge_xnnpack_try(ok "${ARGN}" ${name}=1)
        if(ok)
          list(APPEND found ${name}=1)
        else()
          list(APPEND found ${name}=0)
        endif()
      endif()
    endforeach()
    _aidge_xnnpack_try(ok "${ARGN}" ${found})
    if(NOT ok)
      message(FATAL_ERROR "This XNNPACK's interface is not known: ${first}/xnnpack.h. Use ${AIDGE_XNNPACK_PINNED} "
        "(aidge-gk7206 xnnpack build), or report the version.\n${_aidge_xnnpack_output}")
    endif()
    set(${memory} "${found}" CACHE INTERNAL "what XNNPACK's headers offer")
  endif()
  set(${features} "${${memory}}" PARENT_SCOPE)
endfunction()
