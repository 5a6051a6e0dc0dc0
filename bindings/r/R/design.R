# Columns of a model, by the names of its terms, of rows that the caller has.

one_column <- function(name, rows) {
  if (name %in% names(rows)) return(as.numeric(rows[[name]]))
  found <- regmatches(name, regexec("^(log|log1p|sqrt)\\(([A-Za-z0-9._]+)\\)$", name))[[1]]
  if (length(found) && found[3] %in% names(rows)) {
    return(get(found[2], baseenv())(as.numeric(rows[[found[3]]])))
  }
  found <- regmatches(name, regexec("^I\\(([A-Za-z0-9._]+) *\\^ *([0-9]+)\\)$", name))[[1]]
  if (length(found) && found[2] %in% names(rows)) return(as.numeric(rows[[found[2]]])^as.numeric(found[3]))
  found <- regmatches(name, regexec("^I\\(([A-Za-z0-9._]+) *\\* *([A-Za-z0-9._]+)\\)$", name))[[1]]
  if (length(found) && all(found[2:3] %in% names(rows))) {
    return(as.numeric(rows[[found[2]]]) * as.numeric(rows[[found[3]]]))
  }
  # The column of a level: "sex.male", "factor(k).3".
  for (column in names(rows)[order(-nchar(names(rows)))]) {
    for (before in c(paste0(column, "."), paste0("factor(", column, ")."))) {
      if (!startsWith(name, before)) next
      return(as.numeric(as.character(rows[[column]]) == substring(name, nchar(before) + 1)))
    }
  }
  refuse("usage", paste0("the column ", name, " of the model cannot be made from the columns ",
                         paste(names(rows), collapse = ", ")),
         "add the variable that it comes from, or a column of that name")
}

# Contrasts are treatment contrasts.
model_column <- function(term, rows) {
  if (term %in% c("(Intercept)", "(intercept)")) return(rep(1, nrow(rows)))
  if (term %in% names(rows)) return(as.numeric(rows[[term]]))
  Reduce(`*`, lapply(strsplit(term, ":", fixed = TRUE)[[1]], one_column, rows))
}

linear_predictor <- function(terms, estimates, rows) {
  columns <- vapply(terms, model_column, numeric(nrow(rows)), rows)
  drop(matrix(columns, nrow(rows)) %*% estimates)
}

predict.partita_coefs <- function(object, newdata, ...) {
  if (missing(newdata)) no_rows_back()
  if (object$method == "meta") no_such(object, "predictions")
  linear_predictor(object$coefficients$term, object$coefficients$estimate, newdata)
}
