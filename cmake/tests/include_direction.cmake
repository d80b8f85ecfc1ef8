# Includes point one way (design.md, "Shape of the repository"): cmake -D ROOT=... -P include_direction.cmake

# What a file of ours includes of ours, as paths from the root; assay/ stands for harness/include/assay/. Files that
# match FILES may include ALSO.
function(check folder allowed)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "FILES;ALSO" "")
  file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/${folder}/*.h ${ROOT}/${folder}/*.hpp ${ROOT}/${folder}/*.cuh
    ${ROOT}/${folder}/*.cc ${ROOT}/${folder}/*.cu ${ROOT}/${folder}/*.c)
  list(LENGTH files count)
  if(count EQUAL 0)
    message(FATAL_ERROR "${folder}/ holds no source: the test looks in the wrong place")
  endif()
  foreach(file IN LISTS files)
    set(may "${allowed}")
    if(ARG_FILES AND file MATCHES "${ARG_FILES}")
      set(may "${allowed}|${ARG_ALSO}")
    endif()
    file(STRINGS ${ROOT}/${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]*[\"<]")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^[^\"<]*[\"<]([^\">]*)[\">].*$" "\\1" included "${line}")
      if(included MATCHES "^(harness|conformance|reference|kernels|reports|fixtures|assay)/"
          AND NOT included MATCHES "${may}")
        message(SEND_ERROR "${file} includes ${included}; it may include: ${may}")
      endif()
      if(included MATCHES "^(ATen|torch|c10)/"
          AND NOT file MATCHES "^reference/.*\\.cc$|^conformance/assay_bench/against_pytorch\\.cc$")
        message(SEND_ERROR "${file} includes ${included}; only reference/*.cc and assay_bench may name libtorch")
      endif()
      if(included MATCHES "^rapidcheck" AND NOT file MATCHES "property\\.hpp$|_test\\.(cc|hpp)$")
        message(SEND_ERROR "${file} includes ${included}; only property.hpp and tests may name RapidCheck")
      endif()
    endforeach()
  endforeach()
endfunction()

check(kernels "^assay/(abi|dlpack)\\.h$|^kernels/")
# A number format is no kernel's code: the reference decodes NVFP4 as the generator encodes it.
check(reference "^assay/(tensor|reference)\\.hpp$|^reference/|^harness/tensor/nvfp4\\.hpp$"
  FILES "_test\\.cc$" ALSO "^harness/(tensor|compare)/")
check(harness "^(assay|harness)/")
check(conformance "^(assay|harness|conformance)/|^reference/[a-z_]+\\.hpp$"
  FILES "^conformance/(main|check|report)\\.cc$" ALSO "^reports/")
check(reports "^harness/result/|^reports/")
