"""Shared by tests, reliability and bench: servers, clients, disks that forget, models of data.

tests > reliability > bench > testkit          the order of imports (tests/tidy/test_circles.py)

servers, oracle, waiting          real processes of Forebay and Redis; wait for an event
nodes, node_state                 nodes of replicated sets, and all data of a node
proxy, network, sentinels         links that fail on request; three real Sentinels
resp                              a client of raw bytes, and a parser of its own
engine_client                     the engine without a socket, with its own clock
hand_server, durable_server       a whole server in this process; the test runs its clock and loop
forgetful_disk                    a disk that loses unsynced data
sim_machine, sim_network,
sim_node                          many servers in this process, where a seed decides what happens
recovery, replaying, portrait     load files back to data, and compare data
random_keyspace, rdb_files        data to save, files to load
"""
