# SPDX-License-Identifier: EPL-2.0
# XNNPACK built with the project that asks for it, from a source folder or from GitHub.
include_guard(GLOBAL)

# Adds the XNNPACK in <source> to the build; sets <includes> and <libraries>.
function(aidge_xnnpack_add source includes libraries)
  foreach(name IN ITEMS CPUINFO PTHREADPOOL FXDIV)
    if(NOT ${name}_SOURCE_DIR AND NOT "$ENV{${name}_SOURCE_DIR}" STREQUAL "")
      set(${name}_SOURCE_DIR "$ENV{${name}_SOURCE_DIR}" CACHE PATH "where XNNPACK finds it" FORCE)
    endif()
  endforeach()
  if(NOT AIDGE_XNNPACK_ORIGIN) # else this is the provider project, which does just that
    aidge_xnnpack_build_command(command)
    message(STATUS "XNNPACK: building it with this project takes minutes; once for all projects: ${command}")
  endif()
  aidge_xnnpack_options()
  add_subdirectory("${source}" ${CMAKE_BINARY_DIR}/xnnpack EXCLUDE_FROM_ALL)
  aidge_xnnpack_kernels(kernels)
  # Only linked: XNNPACK's own compile options and include folders stay its own.
  set(${libraries} $<LINK_ONLY:XNNPACK> $<LINK_ONLY:${kernels}> $<LINK_ONLY:pthreadpool> $<LINK_ONLY:cpuinfo>
    PARENT_SCOPE)
  set(${includes} "${source}/include" "${PTHREADPOOL_SOURCE_DIR}/include" PARENT_SCOPE)
endfunction()

# Stops with one message when GitHub is out of reach; git's and FetchContent's own fill a page.
function(_aidge_xnnpack_check_reachable)
  set(ENV{GIT_TERMINAL_PROMPT} 0)
  execute_process(COMMAND git ls-remote ${AIDGE_XNNPACK_REPOSITORY} HEAD TIMEOUT 30
    RESULT_VARIABLE failed ERROR_VARIABLE reason OUTPUT_QUIET)
  if(failed)
    string(REGEX REPLACE "\n.*" "" reason "${reason}")
    aidge_xnnpack_platform(arch compiler flags)
    aidge_xnnpack_build_command(command)
    message(FATAL_ERROR "No XNNPACK for ${arch}, ${compiler}: the cache has none, XNNPACK_ROOT and XNNPACK_SOURCE_DIR "
      "are not set, and ${AIDGE_XNNPACK_REPOSITORY} cannot be reached (${reason}). Set one of them, or fill the cache "
      "without GitHub:\n  ${command} --from debian")
  endif()
endfunction()

# Sets <source> to the pinned commit, fetched into the build folder.
function(aidge_xnnpack_fetch source)
  include(FetchContent)
  FetchContent_Declare(aidge_xnnpack
    GIT_REPOSITORY ${AIDGE_XNNPACK_REPOSITORY}
    GIT_TAG ${AIDGE_XNNPACK_PINNED_COMMIT}
    SOURCE_SUBDIR none) # only fetched: aidge_xnnpack_add adds it, with its options
  if(NOT FETCHCONTENT_SOURCE_DIR_AIDGE_XNNPACK AND NOT EXISTS "${FETCHCONTENT_BASE_DIR}/aidge_xnnpack-src/.git")
    _aidge_xnnpack_check_reachable()
    message(STATUS "XNNPACK: fetching ${AIDGE_XNNPACK_PINNED} from ${AIDGE_XNNPACK_REPOSITORY}")
  endif()
  FetchContent_MakeAvailable(aidge_xnnpack)
  set(${source} "${aidge_xnnpack_SOURCE_DIR}" PARENT_SCOPE)
endfunction()
