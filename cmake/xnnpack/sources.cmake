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
  message(STATUS "XNNPACK: building ${source} with this project takes minutes; once for all projects: "
    "aidge-gk7206 xnnpack build")
  aidge_xnnpack_options()
  add_subdirectory("${source}" ${CMAKE_BINARY_DIR}/xnnpack EXCLUDE_FROM_ALL)
  aidge_xnnpack_kernels(kernels)
  # Only linked: XNNPACK's own compile options and include folders stay its own.
  set(${libraries} $<LINK_ONLY:XNNPACK> $<LINK_ONLY:${kernels}> $<LINK_ONLY:pthreadpool> $<LINK_ONLY:cpuinfo>
    PARENT_SCOPE)
  set(${includes} "${source}/include" "${PTHREADPOOL_SOURCE_DIR}/include" PARENT_SCOPE)
endfunction()

# Sets <source> to the pinned commit, fetched into the build folder.
function(aidge_xnnpack_fetch source)
  message(STATUS "XNNPACK: fetching ${AIDGE_XNNPACK_PINNED} from ${AIDGE_XNNPACK_REPOSITORY} (without a network: "
    "aidge-gk7206 xnnpack build --from debian, or set XNNPACK_ROOT or XNNPACK_SOURCE_DIR)")
  include(FetchContent)
  FetchContent_Declare(aidge_xnnpack
    GIT_REPOSITORY ${AIDGE_XNNPACK_REPOSITORY}
    GIT_TAG ${AIDGE_XNNPACK_PINNED_COMMIT}
    SOURCE_SUBDIR none) # only fetched: aidge_xnnpack_add adds it, with its options
  FetchContent_MakeAvailable(aidge_xnnpack)
  set(${source} "${aidge_xnnpack_SOURCE_DIR}" PARENT_SCOPE)
endfunction()
