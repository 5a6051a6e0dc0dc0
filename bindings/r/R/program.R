# Starting the program (a list of arguments, no shell) and reading its JSON.

envelope_version <- 1
result_version <- 3

#' The program: option partita.path, variable PARTITA, PATH.
partita_program <- function() {
  named <- getOption("partita.path", Sys.getenv("PARTITA"))
  found <- Sys.which(if (nzchar(named)) named else "partita")
  if (!nzchar(found)) {
    refuse("program",
           if (nzchar(named)) paste0("there is no program ", named) else "the program partita is not on the PATH",
           "install it (docs/install.md of Partita), or say where it is: options(partita.path = \"...\")")
  }
  unname(found)
}

partita_version <- function() {
  package_version(trimws(processx::run(partita_program(), "--version")$stdout))
}

parse_json <- function(text) jsonlite::fromJSON(text, simplifyVector = FALSE)

# The data of what a command printed with --format json. Raises the error that it reports.
read_output <- function(text, exit_code = 0L, remarks = character()) {
  read <- tryCatch(parse_json(text), error = function(e) NULL)
  if (is.null(read)) {
    message <- paste("the program ended with", exit_code, "and printed no JSON")
    refuse("internal", paste(c(message, remarks), collapse = "\n"),
           "look at the system's log: out of memory?", exit_code)
  }
  if (!identical(as.numeric(read$schema_version), envelope_version)) {
    refuse("program", paste0("this output has version ", read$schema_version, "; this package reads ", envelope_version),
           "install a package and a program of the same version")
  }
  if (identical(read$status, "error")) refuse(read$error_code, read$message, read$hint, exit_code)
  read$data
}

progress_of <- function(line) {
  if (!startsWith(line, "{")) return(NULL)
  read <- tryCatch(parse_json(line), error = function(e) NULL)
  if (!all(c("phase", "done", "total", "seconds") %in% names(read))) return(NULL)
  structure(class = c("partita_progress", "condition"),
            c(list(message = read$phase, call = NULL), read[c("phase", "done", "total", "seconds")]))
}

# A remark of a command without progress of its own.
note_of <- function(line, began) {
  structure(class = c("partita_progress", "condition"),
            list(message = line, call = NULL, phase = line, done = 0, total = 0,
                 seconds = as.numeric(difftime(Sys.time(), began, units = "secs"))))
}

draw_progress <- function(at) {
  share <- if (at$total > 0) sprintf(", %d %%", as.integer(100 * at$done / at$total)) else ""
  cat("\r\033[K", at$phase, share, sep = "", file = stderr())
}

# A progress condition, drawn unless a handler invokes the restart "partita_muffle".
show_progress <- function(at, draw) {
  withRestarts({
    signalCondition(at)
    if (draw) draw_progress(at)
  }, partita_muffle = function() NULL)
}

# folder: where what it prints is kept until it is read; NULL: in pipes, which must be read while it runs, or
# the program waits for room in them.
# notes: the command has no progress of its own, and each of its remarks is one.
start_program <- function(arguments, progress, folder = NULL, notes = FALSE) {
  arguments <- c(arguments, "--format", "json",
                 if (!notes) if (is.null(progress)) "--quiet" else c("--progress", "jsonl"))
  of <- function(name) if (is.null(folder)) "|" else file.path(folder, name)
  processx::process$new(partita_program(), arguments, stdout = of("output"), stderr = of("errors"),
                        encoding = "UTF-8", cleanup = TRUE)
}

# Whole lines of a file that grows, from where the last call ended; `state` keeps that place.
next_lines <- function(file, state) {
  seen <- if (is.null(state$seen)) 0 else state$seen
  connection <- file(file, "rb")
  on.exit(close(connection))
  seek(connection, seen)
  bytes <- readBin(connection, "raw", file.size(file) - seen)
  last <- max(0, which(bytes == as.raw(10)))
  state$seen <- seen + last
  text <- rawToChar(bytes[seq_len(last)])
  Encoding(text) <- "UTF-8"
  strsplit(text, "\n", fixed = TRUE)[[1]]
}

# The lines for people and of progress since the last call, and into `state$out` what it printed; waits for 100 ms at
# most. `ended`: whether that is all.
read_printed <- function(process, state) {
  if (process$has_error_connection()) {
    process$poll_io(100)
    state$out <- c(state$out, process$read_output())
    lines <- process$read_error_lines()
    ended <- !process$is_alive() && !process$is_incomplete_output() && !process$is_incomplete_error()
    return(list(lines = lines, ended = ended))
  }
  process$wait(100)
  ended <- !process$is_alive()
  if (ended) state$out <- paste(readLines(process$get_output_file(), warn = FALSE, encoding = "UTF-8"), collapse = "\n")
  lines <- next_lines(process$get_error_file(), state)
  # Of a day's progress only where it is now.
  progress <- startsWith(lines, "{")
  list(lines = lines[!progress | seq_along(lines) == max(0, which(progress))], ended = ended)
}

# What is printed from now on, until it ends or `until` is over; `state` keeps it.
collect_output <- function(process, state, progress, until = Inf) {
  if (isTRUE(state$ended)) return(TRUE)
  repeat {
    printed <- read_printed(process, state)
    for (line in printed$lines) {
      at <- progress_of(line)
      if (is.null(at)) {
        state$remarks <- c(state$remarks, line)
        if (!is.null(state$began)) at <- note_of(line, state$began)
      }
      if (!is.null(at)) {
        state$at <- at
        show_progress(at, isTRUE(progress))
      }
    }
    state$ended <- printed$ended
    if (printed$ended || Sys.time() >= until) return(printed$ended)
  }
}

# progress: TRUE draws, FALSE signals conditions only, NULL asks for none.
call_program <- function(arguments, progress = NULL) {
  process <- start_program(arguments, progress)
  state <- new.env()
  done <- FALSE
  on.exit({
    if (isTRUE(progress)) cat("\r\033[K", file = stderr())
    if (!done) stop_program(process)
  })
  collect_output(process, state, progress)
  done <- TRUE
  read_output(paste(state$out, collapse = ""), process$get_exit_status(), state$remarks)
}

# As Control-C does; by force if it takes more than five seconds.
stop_program <- function(process) {
  if (!process$is_alive()) return(invisible())
  process$interrupt()
  process$wait(5000)
  process$kill()
  invisible()
}
