# Studies: parties, a dictionary of public bounds and levels, an analysis. Nothing of a study is data.

# TOML knows no "\/", which JSON writes in "</".
toml_text <- function(text) {
  gsub("<\\/", "</", as.character(jsonlite::toJSON(enc2utf8(text), auto_unbox = TRUE)), fixed = TRUE)
}
# As short as reads back the same; whole ones without an exponent as long as doubles have all whole numbers.
number_texts <- function(values) {
  short <- sprintf("%.15g", values)
  exact <- is.na(values) | suppressWarnings(as.numeric(short)) == values
  whole <- !is.na(values) & abs(values) < 2^53 & values == trunc(values)
  ifelse(whole, sprintf("%.0f", values), ifelse(exact, short, sprintf("%.17g", values)))
}
toml_scalar <- function(value) {
  if (is.na(value)) {
    refuse("usage", "a missing value cannot be written into a study", "leave it out, or give it a value")
  }
  if (inherits(value, "Date")) return(format(value))
  if (is.logical(value)) return(if (value) "true" else "false")
  if (is.numeric(value)) return(number_texts(value))
  toml_text(value)
}
toml_list <- function(values) paste0("[", paste(vapply(values, toml_part, ""), collapse = ", "), "]")
# A named list is a table on one line.
toml_part <- function(value) {
  if (!is.list(value)) return(if (length(value) == 1) toml_scalar(value) else toml_list(value))
  if (is.null(names(value))) return(toml_list(value))
  paste0("{", paste(names(value), "=", vapply(value, toml_part, ""), collapse = ", "), "}")
}

partita_variable <- function(type = c("numeric", "integer", "factor", "ordered", "date", "survival"), lower = NULL,
                             upper = NULL, levels = NULL, unit = NULL, time = NULL, event = NULL,
                             missing_codes = NULL) {
  structure(class = "partita_variable",
            list(type = match.arg(type), unit = unit, time = time, event = event, lower = lower, upper = upper,
                 levels = levels, missing_codes = if (length(missing_codes)) as.character(missing_codes)))
}

as_variable <- function(spec, name) {
  if (inherits(spec, "partita_variable")) return(spec)
  if (is.character(spec) && length(spec) >= 2) return(partita_variable("factor", levels = spec))
  if (inherits(spec, "Date") && length(spec) == 2) return(partita_variable("date", spec[1], spec[2]))
  if (is.numeric(spec) && length(spec) == 2) return(partita_variable("numeric", spec[1], spec[2]))
  refuse("usage", paste0("variables$", name, " is neither two bounds nor levels"),
         "for example list(age = c(18, 100), sex = c(\"female\", \"male\")), or partita_variable(...)")
}

dictionary_text <- function(variables) {
  one <- function(name) {
    variable <- variables[[name]]
    keys <- variable[!vapply(variable, is.null, NA)]
    values <- vapply(names(keys), function(key) {
      if (key %in% c("levels", "missing_codes")) toml_list(keys[[key]]) else toml_scalar(keys[[key]])
    }, "")
    paste(c("[[variable]]", paste("name =", toml_text(name)), paste(names(keys), "=", values), ""), collapse = "\n")
  }
  vapply(names(variables), one, "")
}

option_text <- function(value) if (is.numeric(value)) number_texts(value) else as.character(value)

# --option value for those that are there.
option_words <- function(values) {
  values <- values[!vapply(values, is.null, NA)]
  words <- Map(function(option, value) rbind(paste0("--", option), option_text(value)), names(values), values)
  as.character(unlist(words))
}

partita_study <- function(name, parties, variables, title = NULL, helper = NULL, receiver = NULL, engine = NULL,
                          columns = NULL, key = NULL, rows = NULL, min_rows = NULL, site = NULL, missing = NULL,
                          purpose = NULL, ethics = NULL, legal_basis = NULL, contact = NULL) {
  variables <- Map(as_variable, variables, names(variables))
  if (!is.null(names(rows))) rows <- paste0(names(rows), "=", option_text(unlist(rows)))
  options <- option_words(list(title = title, helper = helper, receiver = receiver, engine = engine, key = key,
                               rows = rows, "min-rows" = min_rows, site = site, missing = missing, purpose = purpose,
                               ethics = ethics, "legal-basis" = legal_basis, contact = contact))
  structure(class = "partita_study",
            list(name = name, parties = parties, variables = variables, columns = columns, options = options,
                 text = NULL, path = NULL, remarks = character()))
}

read_study <- function(file) {
  if (!file.exists(file)) refuse("usage", paste("there is no study file", file), "check the path")
  text <- paste(readLines(file, encoding = "UTF-8", warn = FALSE), collapse = "\n")
  name <- sub("^name *= *\"(.*)\" *(#.*)?$", "\\1", grep("^name *=", strsplit(text, "\n")[[1]], value = TRUE)[1])
  structure(class = "partita_study", list(name = name, text = text, path = normalizePath(file), remarks = character()))
}

write_study <- function(study, file) {
  if (file.exists(file)) refuse("usage", paste(file, "exists"), "give it another name, or remove it")
  writeLines(study_text(study), file, useBytes = TRUE)
  invisible(file)
}

study_text <- function(study) {
  if (is.null(study$text)) refuse("usage", "this study has no analysis", "add one, for example with partita_glm()")
  study$text
}

# A private folder that is there while `code` runs.
with_folder <- function(code) {
  folder <- tempfile("partita-")
  dir.create(folder, mode = "0700")
  on.exit(unlink(folder, recursive = TRUE))
  code(folder)
}

study_file <- function(study, folder) {
  if (!is.null(study$path)) return(study$path)
  file <- file.path(folder, "study.toml")
  writeLines(study_text(study), file, useBytes = TRUE)
  file
}

format.partita_study <- function(x, ...) study_text(x)

print.partita_study <- function(x, ...) {
  if (is.null(x$text)) {
    cat("A study of ", paste(x$parties, collapse = ", "), ", without an analysis: ", x$name, "\n", sep = "")
  } else {
    cat(x$text, "\n", sep = "")
    if (length(x$remarks)) cat("\n# taken without being told:", paste0("#   ", x$remarks), sep = "\n")
  }
  invisible(x)
}
