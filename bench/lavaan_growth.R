# Prints the seconds that lavaan needs to fit FOLDER/model.txt to FOLDER/pooled.csv: the median of five fits.
suppressPackageStartupMessages(library(lavaan))
folder <- commandArgs(trailingOnly = TRUE)[1]
model <- paste(readLines(file.path(folder, "model.txt")), collapse = "\n")
data <- read.csv(file.path(folder, "pooled.csv"))
invisible(growth(model, data = data))
cat(median(replicate(5, system.time(growth(model, data = data))["elapsed"])))
