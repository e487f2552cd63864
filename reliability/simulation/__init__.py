"""R24: servers, their disks and their network in one process, where a seed decides everything.

clients --commands--> primary ==stream==> replicas ==stream==> replicas of these
   |                      every node: the real engine, AOF, replication and loop
ledger                    clock, disk, network, children, thread: simulated (testkit/sim_*)

operations   the commands of clients
clients      connections, replies, and the ledger: acknowledged and confirmed writes
cluster      nodes, network, roles; a round is one turn of every part, in random order
accidents    kill -9, power loss, cuts inside a frame, partitions, full disks, changed clocks
operator     brings dead nodes back; fails over to the replica that has most
invariants   conditions that must hold after each turn, and at each quiet point
world        a whole run: rounds, accidents, quiet points

python -m reliability.simulation SEED [ROUNDS]      one seed again, with its story
"""
