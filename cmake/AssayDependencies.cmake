# AssayDependencies.cmake: what the two halves of assay link, found alike in our tree and from the installed package.
# Macros, because find_package leaves its targets and variables to its caller.

# The worker half: a candidate's program links no test framework and no libtorch.
macro(assay_find_worker_dependencies)
  find_package(Threads REQUIRED)
  find_package(OpenSSL REQUIRED)
  find_package(nlohmann_json REQUIRED)
  if(NOT TARGET assay_dependency::ffi)
    find_path(FFI_INCLUDE_DIR ffi.h REQUIRED)
    find_library(FFI_LIBRARY NAMES ffi libffi.so.8 libffi.so.7 REQUIRED)
    add_library(assay_dependency::ffi INTERFACE IMPORTED)
    set_target_properties(assay_dependency::ffi PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES "${FFI_INCLUDE_DIR}" INTERFACE_LINK_LIBRARIES "${FFI_LIBRARY}")
  endif()
endmacro()

# The judge half.
macro(assay_find_judge_dependencies)
  assay_find_worker_dependencies()
  find_package(GTest REQUIRED)
  find_package(CLI11 REQUIRED)
  if(NOT TARGET assay_dependency::rapidcheck)
    find_path(RAPIDCHECK_INCLUDE_DIR rapidcheck.h REQUIRED)
    find_library(RAPIDCHECK_LIBRARY rapidcheck REQUIRED)
    add_library(assay_dependency::rapidcheck INTERFACE IMPORTED)
    set_target_properties(assay_dependency::rapidcheck PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES "${RAPIDCHECK_INCLUDE_DIR}" INTERFACE_LINK_LIBRARIES "${RAPIDCHECK_LIBRARY}")
  endif()
  # Headers only, and in sources only: the installed package does not need them.
  find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h)
endmacro()
