# What `cmake --install` puts where: the program, what a shell and `man` need, the example studies that
# `partita demo` runs, and the documentation. Debian's packages are made from the same rules
# (tools/package).
include(GNUInstallDirs)
set(PARTITA_ZSH_FOLDER ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING "Where zsh finds completions")

install(TARGETS partita)
install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DATADIR}/partita/examples PATTERN "*.cc" EXCLUDE)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN decisions EXCLUDE PATTERN status.md EXCLUDE)
install(FILES README.md CHANGELOG.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The program writes these itself.
set(shells ${CMAKE_BINARY_DIR}/shells)
install(CODE "
  file(REMOVE_RECURSE ${shells}/man)
  foreach(shell IN ITEMS bash zsh fish)
    execute_process(COMMAND $<TARGET_FILE:partita> generate completion \${shell}
                    OUTPUT_FILE ${shells}/\${shell} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  execute_process(COMMAND $<TARGET_FILE:partita> generate man ${shells}/man ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)")
file(MAKE_DIRECTORY ${shells})
install(FILES ${shells}/bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME partita)
install(FILES ${shells}/zsh DESTINATION ${PARTITA_ZSH_FOLDER} RENAME _partita)
install(FILES ${shells}/fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d RENAME partita.fish)
install(DIRECTORY ${shells}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
