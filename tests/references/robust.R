# Writes robust.json: fits by lavaan with estimator = "MLR" (robust standard errors and the scaled
# test statistic), some with clusters. Run in this folder as: Rscript robust.R robust.json
suppressMessages(library(lavaan))

json <- function(x) {
  if (is.null(x)) return("null")
  if (length(x) == 0) return("[]")
  if (is.list(x)) {
    if (is.null(names(x))) return(paste0("[", paste(sapply(x, json), collapse = ",\n "), "]"))
    return(paste0("{", paste0("\"", names(x), "\": ", sapply(x, json), collapse = ",\n "), "}"))
  }
  one <- function(v) {
    if (is.na(v)) return("null")
    if (is.character(v)) return(paste0("\"", gsub("\n", "\\\\n", gsub("\"", "\\\\\"", v)), "\""))
    if (is.logical(v)) return(if (v) "true" else "false")
    sprintf("%.15g", v)
  }
  if (length(x) == 1 && !inherits(x, "AsIs")) return(one(x))
  paste0("[", paste(sapply(x, one), collapse = ", "), "]")
}

# Newton steps to the maximum (lavaan stops a little before it), under linear equality constraints.
polish <- function(fit) {
  m <- fit@Model
  x <- lavaan:::lav_model_get_parameters(m)
  gradient <- function(x) lavaan:::lav_model_gradient(m, GLIST = lavaan:::lav_model_x2GLIST(m, x),
    lavsamplestats = fit@SampleStats, lavdata = fit@Data, ceq.simple = FALSE)
  hessian <- lavTech(fit, "information.observed")
  z <- if (length(m@ceq.JAC) > 0) MASS::Null(t(m@ceq.JAC)) else diag(length(x))
  for (step in 1:100) {
    move <- z %*% solve(t(z) %*% hessian %*% z, -t(z) %*% gradient(x))
    x <- x + as.vector(move)
    if (max(abs(move)) < 1e-13) break
  }
  pt <- parTable(fit)
  pt$est[pt$free > 0] <- x[pt$free[pt$free > 0]]
  pt
}

# cluster_size k: rows 1..k of the table are cluster 1, and so on; 0: no clusters.
case <- function(id, wrapper, model, path, ..., group = NULL, cluster_size = 0) {
  data <- read.csv(file.path("../..", path))
  options <- list(...)
  if (is.null(options$fixed.x)) options$fixed.x <- TRUE
  if (!is.null(group)) options$group <- group
  if (cluster_size > 0) {
    data$made_up_cluster <- (seq_len(nrow(data)) - 1) %/% cluster_size
    options$cluster <- "made_up_cluster"
  }
  run <- function(...) suppressWarnings(
    do.call(wrapper, c(list(model, data = data, estimator = "MLR"), options, list(...))))
  fit <- run(start = polish(run()), optim.method = "none")
  pe <- parameterEstimates(fit, remove.system.eq = FALSE)
  pe <- pe[!(pe$op == "==" & grepl("^[.]p", pe$lhs)), ]
  fm <- fitMeasures(fit)
  keep <- c("chisq.scaled", "df.scaled", "pvalue.scaled", "chisq.scaling.factor",
    "baseline.chisq.scaled", "baseline.df.scaled", "baseline.pvalue.scaled",
    "baseline.chisq.scaling.factor", "cfi.scaled", "tli.scaled", "cfi.robust", "tli.robust",
    "rmsea.scaled", "rmsea.ci.lower.scaled", "rmsea.ci.upper.scaled", "rmsea.pvalue.scaled",
    "rmsea.robust", "rmsea.ci.lower.robust", "rmsea.ci.upper.robust", "rmsea.pvalue.robust")
  fit_list <- as.list(unclass(fm)[intersect(keep, names(fm))])
  write(sprintf("%s: scaling factor %.6f", id, fm["chisq.scaling.factor"]), stderr())
  list(id = id, wrapper = wrapper, model = model, data = path,
    meanstructure = lavInspect(fit, "meanstructure"), fixed_x = options$fixed.x,
    group = if (is.null(group)) NA else group,
    group_levels = I(if (is.null(group)) character(0) else lavInspect(fit, "group.label")),
    group_equal = I(if (is.null(options$group.equal)) character(0) else options$group.equal),
    cluster_size = cluster_size,
    parameters = lapply(seq_len(nrow(pe)), function(i) list(lhs = pe$lhs[i], op = pe$op[i],
      rhs = pe$rhs[i], group = if (is.null(pe$group)) 1 else pe$group[i], est = pe$est[i],
      se = if (is.na(pe$se[i])) 0 else pe$se[i])),
    fit = fit_list)
}

cfa3 <- "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9"
labelled <- paste0(cfa3, "\nvisual ~~ v*visual\ntextual ~~ t*textual\nratio := v/t")
poldem <- paste("ind60 =~ x1 + x2 + x3", "dem60 =~ y1 + d1*y2 + d2*y3 + d3*y4",
  "dem65 =~ y5 + d1*y6 + d2*y7 + d3*y8", "dem60 ~ ind60", "dem65 ~ ind60 + dem60", "y1 ~~ y5",
  "y2 ~~ y4 + y6", "y3 ~~ y7", "y4 ~~ y8", "y6 ~~ y8", sep = "\n")
wine <- paste("quality ~ volatile_acidity + chlorides + sulphates",
  "sulphates ~ alcohol", sep = "\n")
growth_model <- "i =~ 1*t1 + 1*t2 + 1*t3 + 1*t4\ns =~ 0*t1 + 1*t2 + 2*t3 + 3*t4"
hs <- "tests/tables/gpl/holzinger_swineford_1939.csv"
example <- "examples/three_factor/pooled.csv"

cases <- list(
  case("example", "cfa", cfa3, example, meanstructure = TRUE),
  case("example_clusters", "cfa", cfa3, example, meanstructure = TRUE, cluster_size = 4),
  case("hs", "cfa", labelled, hs),
  case("hs_means", "cfa", cfa3, hs, meanstructure = TRUE),
  case("hs_clusters", "cfa", cfa3, hs, meanstructure = TRUE, cluster_size = 7),
  case("hs_clusters_no_means", "cfa", cfa3, hs, cluster_size = 7),
  case("hs_group", "cfa", cfa3, hs, group = "school", group.equal = "loadings"),
  case("hs_group_clusters", "cfa", cfa3, hs, group = "school", group.equal = "loadings",
    cluster_size = 7),
  case("poldem_eq", "sem", poldem, "tests/tables/gpl/political_democracy.csv", meanstructure = TRUE),
  case("wine_fixed_x", "sem", wine, "tests/tables/winequality_red.csv"),
  case("wine_fixed_x_means", "sem", wine, "tests/tables/winequality_red.csv",
    meanstructure = TRUE),
  case("growth", "growth", growth_model, "tests/tables/gpl/demo_growth.csv"),
  case("saturated", "sem", "x1 ~~ x2 + x3\nx2 ~~ x3", hs, meanstructure = TRUE))
writeLines(json(list(lavaan = as.character(packageVersion("lavaan")), cases = cases)),
  commandArgs(trailingOnly = TRUE)[1])
