partita_fuzz(csv csv_fuzz.cc DEPENDS partita_data)
