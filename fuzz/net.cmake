partita_fuzz(channel_stream_fuzz channel_stream_fuzz.cc DEPENDS partita_net)
partita_fuzz(frame_fuzz frame_fuzz.cc DEPENDS partita_net)
partita_fuzz(roster_fuzz roster_fuzz.cc DEPENDS partita_net)
