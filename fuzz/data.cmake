partita_fuzz(csv_fuzz csv_fuzz.cc DEPENDS partita_data)
partita_fuzz(formula_fuzz formula_fuzz.cc DEPENDS partita_data)
partita_fuzz(sums_fuzz sums_fuzz.cc DEPENDS partita_data)
