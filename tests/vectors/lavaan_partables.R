# Writes lavaan_partables.json: the parameter tables of lavaan 0.6-14 for many models.
# Run in this folder: Rscript lavaan_partables.R
# Data are only there because lavaan asks for them; nothing is fitted and no value of them is kept.
suppressMessages(library(lavaan))
stopifnot(packageVersion("lavaan") == "0.6.14")

three <- "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9"
poldem <- "ind60 =~ x1 + x2 + x3
dem60 =~ y1 + a*y2 + b*y3 + c*y4
dem65 =~ y5 + a*y6 + b*y7 + c*y8
dem60 ~ ind60
dem65 ~ ind60 + dem60
y1 ~~ y5
y2 ~~ y4 + y6
y3 ~~ y7
y4 ~~ y8
y6 ~~ y8"
line4 <- "i =~ 1*t1 + 1*t2 + 1*t3 + 1*t4\ns =~ 0*t1 + 1*t2 + 2*t3 + 3*t4"

# list(wrapper, model, options...)
cases <- list(
  list("cfa", three),
  list("cfa", three, std.lv = TRUE),
  list("cfa", three, meanstructure = TRUE),
  list("cfa", three, orthogonal = TRUE),
  list("lavaan", three),
  list("lavaan", three, meanstructure = TRUE),
  list("lavaan", three, std.lv = TRUE),
  list("growth", line4),
  list("growth", line4, meanstructure = FALSE),
  list("cfa", line4),
  list("lavaan", line4, meanstructure = TRUE),
  list("growth", paste(line4, "i ~ x1 + x2\ns ~ x1 + x2\nt1 ~ c1\nt2 ~ c2\nt3 ~ c3\nt4 ~ c4", sep = "\n")),
  list("growth", paste(line4, "i ~ x1 + x2\ns ~ x1", sep = "\n"), fixed.x = FALSE),
  list("growth", paste(line4, "t1 ~~ r*t1\nt2 ~~ r*t2\nt3 ~~ r*t3\nt4 ~~ r*t4", sep = "\n")),
  list("growth", paste(line4, "t1 ~ 1", sep = "\n")),
  list("sem", poldem),
  list("sem", poldem, std.lv = TRUE),
  list("sem", poldem, meanstructure = TRUE, fixed.x = FALSE),
  list("sem", "y ~ x1 + x2 + x3"),
  list("sem", "y ~ x1 + x2 + x3", fixed.x = FALSE),
  list("sem", "y ~ x1 + x2 + x3", meanstructure = TRUE),
  list("lavaan", "y ~ x1 + x2", fixed.x = FALSE, meanstructure = TRUE),
  list("lavaan", "y ~ x1 + x2\ny ~~ y"),
  list("sem", "y1 + y2 ~ x1 + x2"),
  list("sem", "y1 + y2 + y3 ~ a*x1 + x2\ny3 ~ y1"),
  list("sem", "m ~ a*x\ny ~ b*m + c*x\nab := a*b\ntotal := c + ab"),
  list("sem", "m ~ a*x\ny ~ b*m + c*x\na == b\nc == 0.5\nab := a*b\nexp(ab) == 1 + c^2"),
  list("sem", "y ~ 1 + x"),
  list("sem", "y ~ 0*1 + x"),
  list("sem", "y ~ 0 + x"),
  list("sem", "y ~ b*1 + start(2)*1 + x\nx ~ 1"),
  list("sem", "y ~ x1 + x2\nx1 ~~ x1"),
  list("sem", "y ~ x1 + x2\nx1 ~~ x2"),
  list("sem", "y ~ x1 + x2 + x3\nx2 ~ 1"),
  list("sem", "y ~ x\nx ~ z\nz ~ w"),
  list("sem", "y1 ~ y2 + x1\ny2 ~ y1 + x2"),
  list("sem", "f =~ x1 + x2 + x3\nf ~ z1 + z2\ny ~ f + z1"),
  list("sem", "f =~ x1 + x2 + x3\ng =~ x4 + x5 + x6\ng ~ f\ny ~ g\nw ~ g"),
  list("sem", "f =~ x1 + x2 + x3\nx1 ~ z\nx3 ~~ x2"),
  list("sem", "f =~ x1 + x2 + x3\nz ~~ z\nz ~~ y"),
  list("sem", "x3 ~~ x1 + x2\nx2 ~~ x1\nx1 ~~ x1"),
  list("lavaan", "x1 ~~ x1 + x2\nx2 ~~ x2"),
  list("sem", "f =~ x1 + x2 + x3\nx1 ~~ 0*x2 + x3"),
  list("cfa", "f =~ NA*x1 + x2 + x3\nf ~~ 1*f"),
  list("cfa", "f =~ 0.5*x1 + x2 + 1*x3"),
  list("cfa", "f =~ x1 + 1*x2 + x3"),
  list("cfa", "f =~ a*x1 + a*x2 + x3"),
  list("cfa", "f =~ NA*x1 + a*x1 + a*x2 + a*x3\nf ~~ 1*f"),
  list("cfa", "f =~ a*x1 + start(.5)*x2 + b*x3 + start(1e-1)*x3 + -1*x4"),
  list("cfa", "f =~ start(0.8)*x1 + x2 + x3"),
  list("cfa", "f =~ 1/3*x1 + x2 + sqrt(2)*x3 + 2^2*x4"),
  list("cfa", "f =~ x1 + equal(\"f=~x3\")*x2 + x3 + label(\"k\")*x4 + \"k\"*x5"),
  list("cfa", "f =~ x1 + equal(\"f=~x1\")*x2 + x3"),
  list("cfa", "f =~ x1 + k*x2 + equal(\"k\")*x3"),
  list("cfa", "f =~ x1"),
  list("cfa", "f =~ x1\ng =~ x2 + x3 + x4\ng ~ f"),
  list("cfa", "f =~ x1\nx1 ~~ 0.3*x1"),
  list("cfa", "f =~ x1\ng =~ x1 + x2 + x3"),
  list("lavaan", "f =~ 1*x1\ng =~ 1*x2 + x3 + x4\ng ~ f\nf ~~ f"),
  list("cfa", "f =~ x1 + x2\nf =~ x3 + x4"),
  list("cfa", "f1 + f2 =~ x1 + x2 + x3 + x4\nf1 ~~ 0*f2"),
  list("cfa", paste(three, "g =~ visual + textual + speed", sep = "\n")),
  list("cfa", paste(three, "g =~ visual + textual + speed", sep = "\n"), std.lv = TRUE),
  list("cfa", paste(three, "h =~ visual + x1 + textual\nh ~ z", sep = "\n"), meanstructure = TRUE),
  list("cfa", "g =~ x1 + x2 + x3 + x4 + x5 + x6\ns =~ x1 + x2 + x3\nt =~ x4 + x5 + x6", orthogonal = TRUE),
  list("cfa", paste(three, "visual ~~ 0.2*textual\nspeed ~~ visual\ntextual ~~ textual", sep = "\n"), std.lv = TRUE),
  list("cfa", paste(three, "visual ~ 1\nx1 ~ 0*1", sep = "\n")),
  list("cfa", paste(three, "visual ~ 1\nx1 ~ 0*1", sep = "\n"), meanstructure = FALSE),
  list("sem", "# a comment\nf =~ x1 +   x2 ! another\n   + x3 ; y ~\n  f\n; y ~~ y"),
  list("sem", "my.f_1 =~ x1 + x2 + x3\n.y ~ my.f_1"),
  # groups
  list("cfa", three, groups = 2),
  list("cfa", three, groups = 3),
  list("cfa", three, groups = 2, meanstructure = FALSE),
  list("cfa", three, groups = 2, meanstructure = FALSE, group.equal = "loadings"),
  list("cfa", three, groups = 2, meanstructure = FALSE, group.equal = c("loadings", "intercepts")),
  list("cfa", three, groups = 2, group.equal = "loadings"),
  list("cfa", three, groups = 2, group.equal = c("loadings", "intercepts")),
  list("cfa", three, groups = 3, group.equal = c("loadings", "intercepts", "residuals")),
  list("cfa", three, groups = 2, group.equal = c("loadings", "intercepts", "means")),
  list("cfa", three, groups = 2, group.equal = c("loadings", "intercepts", "residuals", "lv.variances", "lv.covariances", "means")),
  list("cfa", three, groups = 2, std.lv = TRUE),
  list("cfa", three, groups = 2, std.lv = TRUE, group.equal = "loadings"),
  list("cfa", three, groups = 2, std.lv = TRUE, group.equal = c("loadings", "lv.variances")),
  list("cfa", three, groups = 2, group.equal = c("loadings", "intercepts"), group.partial = c("visual=~x2", "x7~1")),
  list("cfa", three, groups = 2, group.equal = c("loadings", "intercepts", "means"), group.partial = "visual~1"),
  list("lavaan", three, groups = 2, group.equal = c("loadings", "intercepts")),
  list("growth", line4, groups = 2, group.equal = c("loadings", "intercepts", "means", "residuals")),
  list("sem", poldem, groups = 2, group.equal = c("regressions", "residual.covariances")),
  list("sem", poldem, groups = 2),
  list("sem", "y ~ a*x1 + c(b1,b2)*x2 + c(NA,0.5)*x3", groups = 2),
  list("sem", "y ~ x1 + x2", groups = 2, group.equal = c("regressions", "intercepts", "residuals")),
  list("sem", "y ~ x1 + x2", groups = 2, fixed.x = FALSE, group.equal = c("intercepts", "residuals", "residual.covariances")),
  list("cfa", "f =~ c(a,b)*x1 + c(NA,1)*x2 + c(\"d\",\"d\")*x3 + start(c(1,2))*x4", groups = 2),
  list("cfa", "f =~ x1 + c(\"a\",NA)*x2 + 0.7*x3 + label(c(\"p\",\"q\"))*x4\np == q", groups = 2),
  list("cfa", "f =~ x1 + c(a,a,b)*x2 + x3\nx1 ~ c(0,0,NA)*1\nd := a - b", groups = 3),
  list("cfa", "f =~ x1 + x2 + x3\nf ~ c(0,NA)*1\nx1 ~ c(i,i)*1", groups = 2, group.equal = "loadings"),
  list("cfa", "f =~ x1 + a*x2 + x3", groups = 2, group.equal = c("loadings", "intercepts"), group.partial = "f=~x3"),
  list("cfa", "f =~ x1 + x2 + equal(c(\"f=~x2\",\"f=~x2.g2\"))*x3", groups = 2)
)

build <- function(case) {
  wrapper <- case[[1]]
  model <- case[[2]]
  options <- case[-(1:2)]
  flat <- lavaanify(model, ngroups = if (is.null(options$groups)) 1 else options$groups, warn = FALSE)
  names <- lavNames(flat, "ov")
  set.seed(1)
  data <- as.data.frame(matrix(rnorm(300 * length(names)), 300))
  names(data) <- names
  arguments <- options[setdiff(names(options), "groups")]
  if (!is.null(options$groups)) {
    data$grp <- rep(letters[seq_len(options$groups)], length.out = 300)
    arguments$group <- "grp"
  }
  fit <- tryCatch(suppressWarnings(do.call(wrapper, c(list(model, data = data, do.fit = FALSE, test = "none", se = "none",
                                           baseline = FALSE, h1 = FALSE, implied = FALSE, loglik = FALSE), arguments))),
    error = function(e) stop(wrapper, " refuses\n", model, "\n", conditionMessage(e)))
  table <- parTable(fit)
  table <- table[!(table$op == "==" & table$user == 2), ]
  quoted <- function(x) paste0('"', gsub("\n", "\\n", gsub('"', '\\"', x, fixed = TRUE), fixed = TRUE), '"')
  texts <- function(x) paste0("[", paste(quoted(x), collapse = ", "), "]")
  # JSON has no NA: a free parameter without a start value is null.
  value <- ifelse(is.na(table$ustart) | table$exo == 1 | table$group == 0, "null",
                  sprintf("%.17g", table$ustart))
  rows <- paste0("      [", quoted(table$lhs), ", ", quoted(table$op), ", ", quoted(table$rhs), ", ",
                 table$group, ", ", quoted(table$label), ", ", table$free, ", ", value, ", ",
                 table$exo, ", ", as.integer(table$user > 0), "]")
  option <- function(name) {
    v <- options[[name]]
    if (is.logical(v)) tolower(as.character(v)) else if (is.numeric(v)) v else texts(v)
  }
  shown <- vapply(names(options), function(n) paste0(quoted(n), ": ", option(n)), "")
  paste0("    {\"wrapper\": ", quoted(wrapper), ", \"model\": ", quoted(model), ",\n     \"options\": {",
         paste(shown, collapse = ", "), "},\n     \"observed\": ", texts(lavNames(fit, "ov")),
         ", \"latent\": ", if (length(lavNames(fit, "lv"))) texts(lavNames(fit, "lv")) else "[]",
         ", \"exogenous\": ", if (length(lavNames(fit, "ov.x"))) texts(lavNames(fit, "ov.x")) else "[]",
         ",\n     \"meanstructure\": ", tolower(lavInspect(fit, "options")$meanstructure),
         ", \"rows\": [\n", paste(rows, collapse = ",\n"), "]}")
}

writeLines(c(
  "{",
  paste0('  "provenance": "parTable() of lavaan ', packageVersion("lavaan"), ", R ", getRversion(),
         ', made by lavaan_partables.R; rows added for equal labels (user == 2) left out",'),
  '  "columns": ["lhs", "op", "rhs", "group", "label", "free", "value", "exogenous", "user"],',
  '  "cases": [',
  paste(vapply(cases, build, ""), collapse = ",\n"),
  "  ]", "}"), "lavaan_partables.json")
