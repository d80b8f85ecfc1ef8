# AssayPackage.cmake: what `cmake --install` gives, so that find_package(assay) serves a project that is not ours.
#   bin/assay, libexec/assay/assay-worker, lib/assay/libassay_reference.so   the program and its parts
#   include/assay                                                           what a candidate or a slot file includes
#   lib/assay                                                               archives and objects of other judges and workers
#   lib/cmake/assay                                                         the package and assay_add_candidate
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/assay)
set(parts ${CMAKE_INSTALL_LIBDIR}/assay)

install(TARGETS assay EXPORT assayPrograms RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS assay-worker EXPORT assayPrograms RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/assay)
install(TARGETS assay_abi EXPORT assayPrograms)
install(TARGETS assay_reference LIBRARY DESTINATION lib/assay)  # where the program looks: ../lib/assay
install(TARGETS assay_worker_core assay_judge assay_reports assay_program assay_worker_main assay_rules assay_main
  EXPORT assayParts ARCHIVE DESTINATION ${parts} OBJECTS DESTINATION ${parts})
set_property(TARGET assay-worker PROPERTY EXPORT_NAME worker)
foreach(part abi worker_core judge reports program worker_main rules main)
  set_property(TARGET assay_${part} PROPERTY EXPORT_NAME ${part})
endforeach()
install(EXPORT assayPrograms NAMESPACE assay:: DESTINATION ${package})
install(EXPORT assayParts NAMESPACE assay:: DESTINATION ${package})

install(DIRECTORY harness/include/assay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# Slot files see what our own see. These headers carry no promise beyond the version.
install(DIRECTORY harness DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/assay/internal FILES_MATCHING PATTERN "*.hpp"
  PATTERN include EXCLUDE PATTERN "*_test*" EXCLUDE PATTERN "*test_kit*" EXCLUDE PATTERN "fake_*" EXCLUDE)

configure_package_config_file(cmake/assay-config.cmake.in ${PROJECT_BINARY_DIR}/package/assay-config.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/assay-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/assay-config.cmake ${PROJECT_BINARY_DIR}/package/assay-config-version.cmake
  cmake/AssayCandidate.cmake cmake/AssayDependencies.cmake DESTINATION ${package})
