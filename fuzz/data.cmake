partita_fuzz(csv_fuzz csv_fuzz.cc DEPENDS partita_data)
