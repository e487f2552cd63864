"""What tests, reliability and bench share: servers, clients, disks that forget, models of data.

tests > reliability > bench > testkit          which may import which (tests/tidy/test_circles.py)

servers, oracle, waiting          real processes of Forebay and Redis; wait for an event
nodes, node_state                 nodes of replicated sets, and all that one holds
proxy, network, sentinels         links that fail when they are told to; three real Sentinels
resp                              a client of raw bytes, and a parser of its own
engine_client                     the engine without a socket, with a clock of its own
hand_server, durable_server       a whole server in this process, turned by hand
forgetful_disk                    a disk that loses what was not synced
sim_machine, sim_network,
sim_node                          many servers in this process, where a seed decides what happens
recovery, replaying, portrait     from files back to data, and whether it is the same
random_keyspace, rdb_files        data to save, files to load
"""
