# SPDX-License-Identifier: EPL-2.0
# XNNPACK that was built before: a build folder or an install prefix.
include_guard(GLOBAL)

# Sets <library> to the first lib<name>.a of ARGN, or stops with a message.
function(_aidge_xnnpack_library library folder)
  set(names ${ARGN})
  list(TRANSFORM names REPLACE "^(.*)/([^/]+)$" "\\1/lib\\2.a")
  list(TRANSFORM names REPLACE "^([^/]+)$" "lib\\1.a")
  foreach(name IN LISTS names)
    get_filename_component(base ${name} NAME)
    file(GLOB found "${folder}/${name}" "${folder}/lib/${base}" "${folder}/lib64/${base}" "${folder}/lib/*/${base}")
    if(found)
      list(GET found 0 first)
      set(${library} "${first}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  list(JOIN names " or " names)
  message(FATAL_ERROR "XNNPACK in ${folder} lacks ${names}. XNNPACK_ROOT must be a finished static build "
    "(<checkout>/build/<config>) or an install prefix: finish it with cmake --build, or unset XNNPACK_ROOT.")
endfunction()

# Sets <variable> to a folder that holds <header>, the first of ARGN, or stops with a message.
function(_aidge_xnnpack_header variable header folder)
  foreach(candidate IN LISTS ARGN)
    if(EXISTS "${candidate}/${header}")
      get_filename_component(candidate "${candidate}" ABSOLUTE)
      set(${variable} "${candidate}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  list(JOIN ARGN ", " looked)
  message(FATAL_ERROR "XNNPACK in ${folder} comes without ${header} (looked in ${looked}). XNNPACK_ROOT must be "
    "<checkout>/build/<config> with the checkout still there, or an install prefix; or unset XNNPACK_ROOT.")
endfunction()

# Sets <variable> to an entry of the CMakeCache.txt in <folder>, empty when there is none.
function(_aidge_xnnpack_cache_entry variable folder name)
  set(${variable} "" PARENT_SCOPE)
  if(EXISTS "${folder}/CMakeCache.txt")
    file(STRINGS "${folder}/CMakeCache.txt" line REGEX "^${name}:" LIMIT_COUNT 1)
    string(REGEX REPLACE "^[^=]*=" "" line "${line}")
    set(${variable} "${line}" PARENT_SCOPE)
  endif()
endfunction()

# Sets <includes>, <libraries> and <source> (the checkout, or the folder itself) of an XNNPACK build in <folder>.
function(aidge_xnnpack_import folder includes libraries source)
  _aidge_xnnpack_library(xnnpack "${folder}" XNNPACK)
  _aidge_xnnpack_library(kernels "${folder}" xnnpack-microkernels-prod microkernels-prod)
  _aidge_xnnpack_library(pool "${folder}" pthreadpool/pthreadpool)
  _aidge_xnnpack_library(cpuinfo "${folder}" cpuinfo/cpuinfo)
  _aidge_xnnpack_cache_entry(checkout "${folder}" CMAKE_HOME_DIRECTORY)
  if(NOT checkout)
    set(checkout "${folder}/../..")
  endif()
  _aidge_xnnpack_header(header xnnpack.h "${folder}" "${folder}/include" "${checkout}/include" "${folder}/../../include")
  _aidge_xnnpack_cache_entry(pool_source "${folder}" PTHREADPOOL_SOURCE_DIR)
  _aidge_xnnpack_header(pool_header pthreadpool.h "${folder}" "${folder}/include" "${pool_source}/include"
    "${folder}/pthreadpool-source/include" "${header}")
  set(all "${header}" "${pool_header}")
  list(REMOVE_DUPLICATES all)
  set(${includes} "${all}" PARENT_SCOPE)
  set(${libraries} "${xnnpack}" "${kernels}" "${pool}" "${cpuinfo}" PARENT_SCOPE)
  get_filename_component(parent "${header}" DIRECTORY)
  set(${source} "${parent}" PARENT_SCOPE)
endfunction()

# Stops when the libraries do not link: they may be built for another processor.
function(aidge_xnnpack_check_link folder includes libraries)
  string(SHA256 id "${libraries}")
  set(memory AIDGE_XNNPACK_LINKS_${id})
  if(NOT ${memory})
    file(WRITE "${CMAKE_BINARY_DIR}/CMakeFiles/aidge_xnnpack_link.cpp"
      "#include <xnnpack.h>\nint main() { return xnn_initialize(nullptr) == xnn_status_success ? 0 : 1; }\n")
    try_compile(ok ${CMAKE_BINARY_DIR}/CMakeFiles/aidge_xnnpack_link
      SOURCES ${CMAKE_BINARY_DIR}/CMakeFiles/aidge_xnnpack_link.cpp
      CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${includes}"
      LINK_LIBRARIES ${libraries} m pthread
      OUTPUT_VARIABLE output)
    if(NOT ok)
      string(REGEX MATCH "[^\n]*(error|incompatible|undefined)[^\n]*" reason "${output}")
      message(FATAL_ERROR "XNNPACK in ${folder} does not link for ${CMAKE_SYSTEM_PROCESSOR} with ${CMAKE_CXX_COMPILER}: "
        "point XNNPACK_ROOT at a build for this processor, or unset it. The linker says:\n  ${reason}")
    endif()
    unset(ok CACHE)
    set(${memory} TRUE CACHE INTERNAL "XNNPACK's libraries link")
  endif()
endfunction()
