# Conditions: the program's errors by their code, and what this package says itself. All have the fields
# `hint`, what to do, and `code`, as in docs/exit-codes.md of Partita.

partita_condition <- function(kind, code, message, hint = "", exit_code = NA_integer_, call = NULL) {
  text <- if (nzchar(hint)) paste0(message, "\nhint: ", hint) else message
  classes <- c(paste0("partita_", gsub("-", "_", code, fixed = TRUE)), paste0("partita_", kind), kind, "condition")
  structure(class = unique(classes), list(message = text, call = call, code = code, what = message, hint = hint,
                                          exit_code = exit_code))
}

refuse <- function(code, message, hint = "", exit_code = NA_integer_) {
  stop(partita_condition("error", code, message, hint, exit_code))
}

not_released <- function(message, hint) refuse("not-released", message, hint)

warn_not_converged <- function(name) {
  warning(partita_condition("warning", "not-converged",
                            paste0(name, ": did not converge; its numbers are no estimates"),
                            "see the warnings of the fit"))
}
