# AssayCandidate.cmake: a candidate, or a slot of one's own, under CTest. In our tree and in the installed package.
#
#   find_package(assay REQUIRED)
#   add_library(mine MODULE mine.c)
#   target_link_libraries(mine PRIVATE assay::abi)
#   enable_testing()
#   assay_add_candidate(NAME mine TARGET mine SLOTS activation.silu_and_mul DEVICES host)

# assay_add_candidate(NAME name <TARGET target | LIBRARY path> SLOTS slot... DEVICES host|cuda...
#                     [WORLD_SIZES ranks...] [SUITE suite] [TIER quick|full|gate] [TIMEOUT seconds])
#
# TARGET is a shared library or a module, which a worker loads, or a static or object library, which is linked into a
# worker of its own (NAME-worker). LIBRARY is a shared library that something else builds. Tests: NAME.load fails unless
# exactly SLOTS are offered; then NAME.<slot>.<device>, one judgement each, with its report in assay/NAME/<slot>.<device>
# of the build folder. Slots named collective.<name>, and moe.fused_experts_reduce, are judged by groups of ranks: one
# test NAME.<slot>.<device>.x<ranks> for each of WORLD_SIZES (2 and 4), with as many PROCESSORS. Labels: property, the
# slot, the device; ranks, of those. A test fails on every outcome but PASS, an absent device (exit code 3, NO_DECISION)
# included: leave such tests out by label (ctest -LE cuda), where that is meant.
# ASSAY_GATE in the tests' environment gates them, whatever TIER says: 1, or the isolation that is required (user,
# namespaces); they then take longer.
# Promised: no candidate is loaded before its tests run. SUITE: a judge that assay_add_suite made.
function(assay_add_candidate)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "NAME;TARGET;LIBRARY;SUITE;TIER;TIMEOUT" "SLOTS;DEVICES;WORLD_SIZES")
  _assay_check_arguments(assay_add_candidate "${ARG_UNPARSED_ARGUMENTS}" "${ARG_KEYWORDS_MISSING_VALUES}")
  foreach(needed NAME SLOTS DEVICES)
    if(NOT ARG_${needed})
      message(FATAL_ERROR "assay_add_candidate: ${needed} is missing.")
    endif()
  endforeach()
  if(NOT ARG_TARGET AND NOT ARG_LIBRARY OR ARG_TARGET AND ARG_LIBRARY)
    message(FATAL_ERROR "assay_add_candidate(NAME ${ARG_NAME}): give either TARGET or LIBRARY.")
  endif()
  foreach(device IN LISTS ARG_DEVICES)
    if(NOT device MATCHES "^(host|cuda)$")
      message(FATAL_ERROR "assay_add_candidate(NAME ${ARG_NAME}): no such device: '${device}'; take host or cuda.")
    endif()
  endforeach()
  set(of_ranks "^collective\\.|^moe\\.fused_experts_reduce$")
  set(collectives ${ARG_SLOTS})
  list(FILTER collectives INCLUDE REGEX "${of_ranks}")
  foreach(size IN LISTS ARG_WORLD_SIZES)
    if(NOT size MATCHES "^([1-9]|1[0-6])$")
      message(FATAL_ERROR "assay_add_candidate(NAME ${ARG_NAME}): WORLD_SIZES ${size}: a group has 1 to 16 ranks.")
    endif()
  endforeach()
  if(ARG_WORLD_SIZES AND NOT collectives)
    message(FATAL_ERROR "assay_add_candidate(NAME ${ARG_NAME}): WORLD_SIZES: none of SLOTS is a collective; leave it "
      "out.")
  endif()
  if(NOT ARG_WORLD_SIZES)
    set(ARG_WORLD_SIZES 2 4)
  endif()
  list(REMOVE_DUPLICATES ARG_WORLD_SIZES)
  if(NOT ARG_TIER)
    set(ARG_TIER quick)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  if(NOT ARG_SUITE)
    set(ARG_SUITE assay::assay)
  endif()

  if(ARG_LIBRARY)
    get_filename_component(library "${ARG_LIBRARY}" ABSOLUTE)
    set(candidate "${library}")
  else()
    if(NOT TARGET ${ARG_TARGET})
      message(FATAL_ERROR "assay_add_candidate(NAME ${ARG_NAME}): no such target: '${ARG_TARGET}'.")
    endif()
    get_target_property(type ${ARG_TARGET} TYPE)
    get_target_property(imported ${ARG_TARGET} IMPORTED)
    if(NOT imported)
      # The entry is a union of typed pointers: in C a wrong signature is a mere warning otherwise.
      target_compile_options(${ARG_TARGET} PRIVATE $<$<COMPILE_LANGUAGE:C>:-Werror=incompatible-pointer-types>)
    endif()
    if(type MATCHES "^(SHARED|MODULE)_LIBRARY$")
      set(candidate "$<TARGET_FILE:${ARG_TARGET}>")
    elseif(type MATCHES "^(STATIC|OBJECT)_LIBRARY$")
      _assay_add_worker(${ARG_NAME}-worker ${ARG_TARGET})
      set(candidate --worker "$<TARGET_FILE:${ARG_NAME}-worker>")
    else()
      message(FATAL_ERROR "assay_add_candidate(NAME ${ARG_NAME}): '${ARG_TARGET}' is no library.")
    endif()
  endif()

  set(offers)
  foreach(slot IN LISTS ARG_SLOTS)
    list(APPEND offers --offers ${slot})
  endforeach()
  set(reports ${CMAKE_CURRENT_BINARY_DIR}/assay/${ARG_NAME})
  add_test(NAME ${ARG_NAME}.load COMMAND ${ARG_SUITE} check ${candidate} --load-only ${offers} --report ${reports}/load)
  set_tests_properties(${ARG_NAME}.load PROPERTIES LABELS property TIMEOUT 60 FIXTURES_SETUP ${ARG_NAME}.loads)
  foreach(slot IN LISTS ARG_SLOTS)
    foreach(device IN LISTS ARG_DEVICES)
      if(NOT slot MATCHES "${of_ranks}")
        _assay_add_judgement(${slot}.${device} 1)
        continue()
      endif()
      foreach(size IN LISTS ARG_WORLD_SIZES)
        _assay_add_judgement(${slot}.${device}.x${size} ${size} --ranks ${size})
      endforeach()
    endforeach()
  endforeach()
endfunction()

# One test of assay_add_candidate, in its variables.
macro(_assay_add_judgement what processors)
  add_test(NAME ${ARG_NAME}.${what} COMMAND ${ARG_SUITE} check ${candidate} --slot ${slot} --device ${device} --jobs 1
    --tier ${ARG_TIER} --gate-if ASSAY_GATE --report ${reports}/${what} ${ARGN})
  set(labels property ${slot} ${device})
  if(${processors} GREATER 1)
    list(APPEND labels ranks)
  endif()
  set_tests_properties(${ARG_NAME}.${what} PROPERTIES LABELS "${labels}" TIMEOUT ${ARG_TIMEOUT} PROCESSORS ${processors}
    FIXTURES_REQUIRED ${ARG_NAME}.loads)
endmacro()

# assay_add_suite(NAME name SLOTS file.cc...)
#
# A judge of one's own: the program `assay` with every generic rule and these slot files (slot.hpp) instead of ours. A
# slot's reference is a function of these files, or of a target that the caller links to NAME. The files become objects
# of the program, never an archive: a linker drops self-registering members of an archive.
function(assay_add_suite)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "NAME" "SLOTS")
  _assay_check_arguments(assay_add_suite "${ARG_UNPARSED_ARGUMENTS}" "${ARG_KEYWORDS_MISSING_VALUES}")
  if(NOT ARG_NAME OR NOT ARG_SLOTS)
    message(FATAL_ERROR "assay_add_suite: give NAME and SLOTS, the files that hold the slots.")
  endif()
  _assay_find_parts(judge)
  add_executable(${ARG_NAME} ${ARG_SLOTS})
  target_compile_features(${ARG_NAME} PRIVATE cxx_std_20)
  target_link_libraries(${ARG_NAME} PRIVATE assay::main assay::rules assay::program)
  # The program looks for its worker beside itself.
  add_custom_command(TARGET ${ARG_NAME} POST_BUILD VERBATIM COMMAND ${CMAKE_COMMAND} -E create_symlink
    $<TARGET_FILE:assay::worker> $<TARGET_FILE_DIR:${ARG_NAME}>/assay-worker)
endfunction()

function(_assay_check_arguments function unknown empty)
  if(unknown)
    message(FATAL_ERROR "${function}: no such argument: ${unknown}.")
  endif()
  if(empty)
    message(FATAL_ERROR "${function}: no value was given for ${empty}.")
  endif()
endfunction()

# A worker that holds its candidate. -u: the worker's own reference to the symbol is weak and would pull nothing out of
# an archive.
function(_assay_add_worker name candidate)
  _assay_find_parts(worker)
  add_executable(${name})
  target_link_libraries(${name} PRIVATE assay::worker_main ${candidate} assay::worker_core)
  target_link_options(${name} PRIVATE LINKER:-u,assay_get_library)
  set_target_properties(${name} PROPERTIES ENABLE_EXPORTS ON LINKER_LANGUAGE CXX)
  if(TARGET assay_flags)
    target_link_libraries(${name} PRIVATE assay_flags)
  endif()
endfunction()

# The archives of the package and what they link; in our own tree they are targets already.
macro(_assay_find_parts half)
  if(NOT TARGET assay::worker_main)
    if("${half}" STREQUAL "judge")
      assay_find_judge_dependencies()
    else()
      assay_find_worker_dependencies()
    endif()
    include("${ASSAY_PACKAGE_DIR}/assayParts.cmake")
  elseif("${half}" STREQUAL "judge" AND NOT TARGET assay_dependency::rapidcheck)
    assay_find_judge_dependencies()
  endif()
endmacro()
