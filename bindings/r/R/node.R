# The node of the own site, on this machine: what its analyst does at a terminal, here.

partita_node <- function(at = ".") structure(class = "partita_node", list(at = normalizePath(at, mustWork = FALSE)))

print.partita_node <- function(x, ...) {
  cat("The node at ", x$at, "\n", sep = "")
  invisible(x)
}

partita_node_studies <- function(node, over = FALSE) {
  studies <- call_program(c("study", "list", "--at", node$at, if (over) "--all"))$studies
  columns <- c("study", "name", "proposer", "state", "reason", "expires")
  as.data.frame(setNames(lapply(columns, function(column) vapply(studies, function(study) study[[column]], "")), columns),
                stringsAsFactors = FALSE)
}

result_at_receiver <- function(data) {
  if (!nzchar(data$result)) {
    not_released(paste0("the study ", data$name, " is finished, and its result went to others"),
                 "follow it at the node of its receiver")
  }
  read_result(data$result)
}

# study: a study, or the name or number of one that the node has.
start_at_node <- function(node, command, study, options = character()) {
  made <- tempfile("partita-")
  dir.create(made, mode = "0700")
  started <- FALSE
  on.exit(if (!started) unlink(made, recursive = TRUE))
  words <- c("study", command, if (is.character(study)) study else study_file(study, made), "--at", node$at, "--output",
             file.path(made, "result"), "--yes", options)
  state <- new.env()
  state$began <- Sys.time()
  handle <- structure(class = "partita_handle",
                      list(process = start_program(words, FALSE, made, notes = TRUE), state = state, folder = made,
                           study = if (is.character(study)) list(name = study) else study, read = result_at_receiver))
  started <- TRUE
  handle
}

partita_node_run <- function(node, study, days = 14, accept_useless = FALSE, wait = TRUE, progress = interactive()) {
  handle <- start_at_node(node, "run", study, c("--days", days, if (accept_useless) "--accept-useless"))
  if (wait) partita_wait(handle, progress = progress) else handle
}

partita_node_follow <- function(node, study, progress = interactive()) {
  partita_wait(start_at_node(node, "follow", study), progress = progress)
}

partita_node_withdraw <- function(node, study, reason) {
  call_program(c("study", "withdraw", study, "--at", node$at, "--reason", reason, "--yes"))
  invisible(node)
}
