# Writes what lavaan prints for reference fits, one text per fit, into the folder of this script.
# Run with R 4.2.2 and lavaan 0.6-14:  Rscript summaries.R FOLDER_WITH_CSV
# The tables are those of the R package lavaan and the UCI wine quality data as CSV.
suppressMessages(library(lavaan))
options(width = 200)
data_folder <- commandArgs(trailingOnly = TRUE)[1]
read <- function(name) read.csv(file.path(data_folder, paste0(name, ".csv")))
write_summary <- function(name, fit) {
  # Tight, so that the digits shown are those of the optimum: nlminb as far as it goes, then BFGS.
  fit <- update(fit, optim.force.converged = TRUE,
                control = list(rel.tol = 1e-14, x.tol = 1e-12, iter.max = 10000, eval.max = 20000))
  fit <- update(fit, start = fit, optim.method = "BFGS",
                control = list(reltol = 1e-16, maxit = 10000))
  text <- capture.output(summary(fit, fit.measures = TRUE, standardized = TRUE, ci = TRUE))
  writeLines(sub(" +$", "", text), paste0(name, ".txt"))
}
hs <- read("holzinger_swineford_1939")
three <- "visual =~ x1 + x2 + x3
textual =~ x4 + x5 + x6
speed =~ x7 + x8 + x9"
write_summary("hs_cfa3", cfa(three, hs))
write_summary("hs_cfa3_group", cfa(three, hs, group = "school"))
write_summary("path_indirect", sem("x4 ~ a*x1 + x2
x7 ~ b*x4 + c*x1
x9 ~ d*x7 + f*x4
ab := a*b
abd := a*b*d
total := c + a*b", hs, meanstructure = TRUE, fixed.x = FALSE))
write_summary("poldem_sem_eq", sem("ind60 =~ x1 + x2 + x3
dem60 =~ y1 + d1*y2 + d2*y3 + d3*y4
dem65 =~ y5 + d1*y6 + d2*y7 + d3*y8
dem60 ~ ind60
dem65 ~ ind60 + dem60
y1 ~~ y5
y2 ~~ y4 + y6
y3 ~~ y7
y4 ~~ y8
y6 ~~ y8", read("political_democracy"), meanstructure = TRUE, fixed.x = TRUE))
write_summary("growth_predictors", growth("i =~ 1*t1 + 1*t2 + 1*t3 + 1*t4
s =~ 0*t1 + 1*t2 + 2*t3 + 3*t4
i ~ x1 + x2
s ~ x1 + x2
t1 ~ c1
t2 ~ c2
t3 ~ c3
t4 ~ c4", read("demo_growth"), fixed.x = FALSE))
write_summary("reg_multiple_fixedx", sem("quality ~ volatile_acidity + chlorides + sulphates + alcohol",
                                         read("winequality_red"), meanstructure = TRUE, fixed.x = TRUE))
