# SPDX-License-Identifier: BSD-3-Clause
# RPM packages, one for each component of install.cmake: "cpack -G RPM" in a release build. Debian
# packages are made by debian/.
set(CPACK_GENERATOR RPM)
set(CPACK_PACKAGE_VENDOR "The torusmp authors")
set(CPACK_PACKAGE_DESCRIPTION_FILE ${CMAKE_CURRENT_LIST_DIR}/package.txt)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE BSD-3-Clause)
set(CPACK_RPM_PACKAGE_RELEASE 1)
set(CPACK_STRIP_FILES ON)
# On an RPM-based system, rpmbuild can split off the debug symbols. CPack replaces the path of the
# sources in them by another one, which must not be longer.
option(TORUSMP_RPM_DEBUGINFO "A package torusmp-debuginfo beside the others, by cpack -G RPM" OFF)
if(TORUSMP_RPM_DEBUGINFO)
  set(CPACK_STRIP_FILES OFF)
  set(CPACK_RPM_DEBUGINFO_PACKAGE ON)
  set(CPACK_RPM_DEBUGINFO_SINGLE_PACKAGE ON)
  set(CPACK_RPM_BUILD_SOURCE_DIRS_PREFIX /usr/src)
  set(CPACK_BUILD_SOURCE_DIRS ${PROJECT_SOURCE_DIR})
endif()
# Folders that other packages own.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/share/man /usr/share/man/man1 /usr/share/man/man3
  /usr/share/man/man5 /usr/share/man/man7 /usr/share/bash-completion /usr/share/bash-completion/completions
  /usr/share/zsh /usr/share/zsh/site-functions /usr/${CMAKE_INSTALL_LIBDIR}/pkgconfig /usr/${CMAKE_INSTALL_LIBDIR}/cmake)

set(CPACK_RPM_MAIN_COMPONENT library)
set(CPACK_RPM_LIBRARY_PACKAGE_NAME torusmp)
set(CPACK_RPM_LIBRARY_PACKAGE_SUMMARY "Message passing for clusters wired as a mesh or torus")
set(CPACK_RPM_LIBRARY_POST_INSTALL_SCRIPT_FILE ${CMAKE_CURRENT_LIST_DIR}/ldconfig.sh)
set(CPACK_RPM_LIBRARY_POST_UNINSTALL_SCRIPT_FILE ${CMAKE_CURRENT_LIST_DIR}/ldconfig.sh)
set(CPACK_RPM_DEVELOPMENT_PACKAGE_NAME torusmp-devel)
set(CPACK_RPM_DEVELOPMENT_PACKAGE_SUMMARY "Build programs with MPI or QMP for a mesh or torus")
set(CPACK_RPM_DEVELOPMENT_PACKAGE_REQUIRES "torusmp = ${PROJECT_VERSION}")
set(CPACK_RPM_PROGRAMS_PACKAGE_NAME torusmp-bin)
set(CPACK_RPM_PROGRAMS_PACKAGE_SUMMARY "Start and measure programs on a mesh or torus")
set(CPACK_RPM_DOCUMENTS_PACKAGE_NAME torusmp-doc)
set(CPACK_RPM_DOCUMENTS_PACKAGE_SUMMARY "Documents of torusmp")
set(CPACK_RPM_DOCUMENTS_PACKAGE_ARCHITECTURE noarch)
include(CPack)
