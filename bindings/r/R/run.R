# What is done with a study: checks, plan, rehearsal, simulation, a party's part of a run.

study_call <- function(study, command, words = character(), progress = NULL) {
  with_folder(function(folder) call_program(c("study", command, study_file(study, folder), words), progress))
}

partita_validate <- function(study) as.character(unlist(study_call(study, "validate")$warnings))

partita_plan <- function(study, latency = NULL, bandwidth = NULL) {
  structure(class = "partita_plan",
            list(raw = study_call(study, "plan", option_words(list(latency = latency, bandwidth = bandwidth)))))
}

print_item <- function(text) cat(strwrap(text, initial = "  - ", prefix = "    "), sep = "\n")

print.partita_plan <- function(x, ...) {
  raw <- x$raw
  cat("Plan of ", if (nzchar(raw$title)) raw$title else raw$study, "\n", raw$method, ", engine ", raw$engine, ", ",
      raw$partition, ": ", raw$totals$rounds, " rounds, ", raw$totals$bytes, " bytes\n\n", sep = "")
  for (party in raw$parties) {
    cat(party$name, " (", paste(unlist(party$roles), collapse = ", "), ") learns:\n", sep = "")
    learns <- unlist(party$learns)
    if (is.null(learns)) learns <- "nothing beyond this plan"
    for (clause in learns) print_item(clause)
  }
  cat("\nOpens:\n")
  for (release in raw$releases) {
    times <- if (release$max_count > 1) paste0(", at most ", release$max_count, " times") else ""
    print_item(paste0(release$id, ", to ", release$to, ", ", release$mechanism, times, ": ", release$what))
  }
  cat("\nGives away:\n")
  for (exposure in raw$exposures) {
    print_item(paste0(exposure$of, ", to ", exposure$to, ": ", paste(c(unlist(exposure$exposes), exposure$bits$meaning), collapse = "; ")))
  }
  for (row in raw$privacy) print_item(paste0(row$adversary, ": ", row$loss))
  for (note in unlist(raw$notes)) print_item(note)
  cat("\nWhat it rests on: partita study plan, 'Assumptions'\n")
  invisible(x)
}

partita_rehearse <- function(study, rows = NULL, seed = NULL, progress = interactive()) {
  raw <- study_call(study, "rehearse", option_words(list(rows = rows, seed = seed)), progress)
  structure(class = "partita_rehearsal",
            list(passed = raw$passed, lowest_digits = raw$lowest_digits, rows = raw$rows, raw = raw))
}

print.partita_rehearsal <- function(x, ...) {
  agree <- if (x$passed) "all numbers agree" else "NUMBERS DO NOT AGREE"
  cat("Rehearsal on ", x$rows, " made-up rows: ", agree, sep = "")
  if (!is.null(x$lowest_digits)) cat(", to", format(x$lowest_digits, digits = 3), "digits at least")
  cat("\n")
  invisible(x)
}

# ------------------------------------------------------------------------------------------- tables

# The digits of 64-bit integers, whose bits class integer64 keeps in doubles: from four parts of 16 bits, by division
# by 10000 again and again.
integer64_texts <- function(values) {
  words <- matrix(readBin(writeBin(as.vector(unclass(values)), raw(), endian = "little"), "integer", 4 * length(values),
                          size = 2, signed = FALSE, endian = "little"), nrow = 4)[4:1, , drop = FALSE]
  vapply(seq_along(values), function(i) {
    parts <- words[, i]
    if (identical(as.numeric(parts), c(32768, 0, 0, 0))) return(NA_character_)
    negative <- parts[1] >= 32768
    if (negative) {
      parts <- 65535 - parts
      at <- 4
      while (parts[at] == 65535) at <- at - 1
      parts[at] <- parts[at] + 1
      if (at < 4) parts[(at + 1):4] <- 0
    }
    digits <- character()
    while (any(parts > 0) || length(digits) == 0) {
      rest <- 0
      for (k in 1:4) {
        rest <- rest * 65536 + parts[k]
        parts[k] <- rest %/% 10000
        rest <- rest %% 10000
      }
      digits <- c(sprintf("%04.0f", rest), digits)
    }
    text <- sub("^0+(?=.)", "", paste(digits, collapse = ""), perl = TRUE)
    if (negative) paste0("-", text) else text
  }, "")
}

# Numbers with all their digits, whole ones without a point; missing: empty.
cell_texts <- function(values, decimal = ".") {
  if (inherits(values, "integer64")) {
    values <- integer64_texts(values)
    return(ifelse(is.na(values), "", values))
  }
  texts <- if (is.logical(values)) {
    as.character(as.integer(values))
  } else if (inherits(values, "Date") || inherits(values, "POSIXt")) {
    format(values, "%Y-%m-%d")
  } else if (is.numeric(values)) {
    numbers <- number_texts(values)
    if (decimal == ".") numbers else sub(".", decimal, numbers, fixed = TRUE)
  } else {
    quoted <- as.character(values)
    needs <- grepl("[\",;\t\r\n]", quoted)
    ifelse(needs, paste0("\"", gsub("\"", "\"\"", quoted, fixed = TRUE), "\""), quoted)
  }
  ifelse(is.na(values), "", texts)
}

# `key`: the column that links rows; its digits must be all there.
write_table <- function(rows, file, separator = ",", decimal = ".", key = NULL) {
  if (!is.list(rows) || is.null(names(rows))) {
    refuse("usage", "a table is neither a path nor a data frame", "give it data.frame(...)")
  }
  for (name in names(rows)) {
    values <- rows[[name]]
    plain <- is.atomic(values) && is.null(dim(values)) && !is.complex(values) && !inherits(values, "difftime")
    if (inherits(values, "POSIXlt")) plain <- TRUE
    if (!plain || length(values) != length(rows[[1]])) {
      refuse("usage", paste0("the column ", name, " has no one value in each row"),
             "give it a data frame of numbers, texts, factors and dates, without columns of matrices or lists")
    }
    large <- is.double(values) && !inherits(values, "integer64") && any(abs(as.numeric(values)) >= 2^53, na.rm = TRUE)
    if (identical(name, key) && large) {
      refuse("usage", paste0("the key ", name, " has numbers that a double does not hold exactly"), "give it texts")
    }
  }
  columns <- lapply(as.list(rows), cell_texts, decimal)
  lines <- c(paste(cell_texts(names(rows)), collapse = separator), do.call(paste, c(unname(columns), sep = separator)))
  # An empty line is no row to readers of CSV.
  lines[!nzchar(lines)] <- "\"\""
  writeLines(enc2utf8(lines), file, useBytes = TRUE)
}

# The value of a key of [table].
table_key <- function(text, key, otherwise) {
  lines <- strsplit(text, "\n")[[1]]
  start <- grep("^\\[table\\]", lines)
  if (length(start) == 0) return(otherwise)
  rest <- lines[-seq_len(start[1])]
  end <- grep("^\\[", rest)
  if (length(end)) rest <- rest[seq_len(end[1] - 1)]
  found <- grep(paste0("^ *", key, " *="), rest, value = TRUE)
  if (length(found) == 0) return(otherwise)
  text <- sub("^[^=]*= *(\"[^\"]*\"|'[^']*').*$", "\\1", found[1])
  if (startsWith(text, "'")) substr(text, 2, nchar(text) - 1) else parse_json(text)
}

data_words <- function(study, data, folder, option = function(party, file) c("--data", paste0(party, "=", file))) {
  words <- character()
  for (i in seq_along(data)) {
    file <- data[[i]]
    if (is.character(file) && length(file) == 1) {
      file <- normalizePath(file, mustWork = FALSE)
    } else {
      file <- file.path(folder, paste0(basename(names(data)[i]), ".csv"))
      text <- study_text(study)
      write_table(data[[i]], file, table_key(text, "separator", ","), table_key(text, "decimal", "."),
                  table_key(text, "key", NULL))
    }
    words <- c(words, option(names(data)[i], file))
  }
  words
}

# --------------------------------------------------------------------------------------------- runs

partita_simulate <- function(study, data = NULL, in_process = FALSE, output = NULL, accept_useless = FALSE,
                             progress = interactive()) {
  if (!is.null(output)) output <- normalizePath(output, mustWork = FALSE)
  with_folder(function(folder) {
    words <- c("study", "simulate", study_file(study, folder), data_words(study, data, folder),
               if (in_process) "--in-process", if (accept_useless) "--accept-useless",
               if (!is.null(output)) c("--output", output))
    results_of(call_program(words, progress))
  })
}

partita_run <- function(study, folder = ".", party = NULL, data = NULL, patience = "10m", options = character(),
                        wait = TRUE, progress = interactive()) {
  made <- tempfile("partita-")
  dir.create(made, mode = "0700")
  started <- FALSE
  on.exit(if (!started) unlink(made, recursive = TRUE))
  data <- if (!is.null(data)) {
    data_words(study, list(data = data), made, function(party, file) c("--data", file))
  }
  words <- c("study", "join", study_file(study, made), "--folder", normalizePath(folder), "--wait", patience, "--yes",
             option_words(list(party = party)), data, options)
  handle <- structure(class = "partita_handle",
                      list(process = start_program(words, progress, made), state = new.env(), folder = made, study = study))
  started <- TRUE
  if (wait) partita_wait(handle, progress = progress) else handle
}

partita_status <- function(handle) {
  ended <- isTRUE(handle$state$stopped) || collect_output(handle$process, handle$state, FALSE, until = Sys.time())
  at <- handle$state$at
  list(running = !ended && handle$process$is_alive(), phase = at$phase, done = at$done, total = at$total, seconds = at$seconds)
}

partita_wait <- function(handle, progress = interactive()) {
  if (isTRUE(handle$state$stopped)) refuse("cancelled", "this run was cancelled", "start it again")
  done <- FALSE
  on.exit({
    if (isTRUE(progress)) cat("\r\033[K", file = stderr())
    if (!done) {
      stop_program(handle$process)
      handle$state$stopped <- TRUE
    }
    unlink(handle$folder, recursive = TRUE)
  })
  collect_output(handle$process, handle$state, progress)
  done <- TRUE
  data <- read_output(paste(handle$state$out, collapse = ""), handle$process$get_exit_status(), handle$state$remarks)
  if (is.null(handle$read)) results_of(data) else handle$read(data)
}

partita_cancel <- function(handle) {
  stop_program(handle$process)
  handle$state$stopped <- TRUE
  unlink(handle$folder, recursive = TRUE)
  invisible(handle)
}

print.partita_handle <- function(x, ...) {
  at <- partita_status(x)
  cat("A run of study ", x$study$name, if (at$running) ", going on" else ", at its end",
      if (!is.null(at$phase)) paste0(": ", at$phase), "\n", sep = "")
  invisible(x)
}
