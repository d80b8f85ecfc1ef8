# AssayBuild.cmake: languages, warnings, dependencies and the few helpers that every folder uses.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# One folder for programs and modules: the program finds its worker and its references beside itself.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
# An installed module still finds the libtorch that it was linked with, wherever pip put it.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

option(ASSAY_SANITIZE "address and undefined behaviour sanitizers; builds right kernels only" OFF)
set(ASSAY_CUDA AUTO CACHE STRING "CUDA kernels: AUTO where a toolkit is found, ON to insist, OFF")
set_property(CACHE ASSAY_CUDA PROPERTY STRINGS AUTO ON OFF)

include(GNUInstallDirs)
include(CTest)
include(CheckLanguage)
include(AssayDependencies)
assay_find_judge_dependencies()

set(ASSAY_HAVE_CUDA OFF)
set(ASSAY_HAVE_NCCL OFF)
if(ASSAY_CUDA)
  if(NOT CMAKE_CUDA_COMPILER AND EXISTS /usr/local/cuda/bin/nvcc)
    set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)
  endif()
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90)
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    set(CMAKE_CUDA_STANDARD 17)
    find_package(CUDAToolkit REQUIRED)
    set(ASSAY_HAVE_CUDA ON)
    find_path(NCCL_INCLUDE_DIR nccl.h HINTS $ENV{NCCL_ROOT}/include ${CUDAToolkit_INCLUDE_DIRS})
    find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS $ENV{NCCL_ROOT}/lib ${CUDAToolkit_LIBRARY_DIR})
    if(NCCL_INCLUDE_DIR AND NCCL_LIBRARY)
      set(ASSAY_HAVE_NCCL ON)
    else()
      message(STATUS "No NCCL was found: the collective slots' kernels over NCCL are not built; set NCCL_ROOT to have them.")
    endif()
  elseif(ASSAY_CUDA STREQUAL "AUTO")
    message(STATUS "No CUDA toolkit was found: CUDA kernels are not built, and the cuda device is absent.")
  else()
    message(FATAL_ERROR "No CUDA toolkit was found: install one, set CMAKE_CUDA_COMPILER to its nvcc, or take another preset.")
  endif()
endif()

add_library(assay_flags INTERFACE)
target_compile_options(assay_flags INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra -Wpedantic -Werror>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overflows inside std::string's operator+ that are not there (GCC bug 105651), the more behind a
  # precompiled header.
  target_compile_options(assay_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds -Wno-restrict -Wno-stringop-overflow>)
endif()
if(ASSAY_SANITIZE)
  target_compile_options(assay_flags INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=address,undefined
    -fno-sanitize-recover=undefined -fno-omit-frame-pointer>)
  target_link_options(assay_flags INTERFACE -fsanitize=address,undefined)
  target_compile_definitions(assay_flags INTERFACE ASSAY_NO_REFUSALS)
endif()

# What a candidate may see of us: assay/abi.h, and nothing to link.
add_library(assay_abi INTERFACE)
add_library(assay::abi ALIAS assay_abi)
target_include_directories(assay_abi INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/harness/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

# One test program from a folder's *_test.cc; its cases are CTest cases of the given label.
function(assay_add_tests name label)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT BUILD_TESTING)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE assay_flags ${ARG_LIBRARIES} GTest::gtest GTest::gmock GTest::gtest_main
    assay_dependency::rapidcheck)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE ASSAY_FIXTURES="${PROJECT_SOURCE_DIR}/fixtures")
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 300)
endfunction()
