# Model servers that a spec declares: started when there is work, waited for, stopped whatever happens.
# (A `service()` rule would be grouped with its consumers; see docs/decisions/.)

from cortexdsl.serve import start_servers, stop_servers


onstart:
    SERVERS = start_servers([plan_of(name) for name in EXPERIMENTS])


onsuccess:
    stop_servers(SERVERS)


onerror:
    stop_servers(SERVERS)
