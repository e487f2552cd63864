"""R24: servers, their disks and their network in one process, where a seed decides everything.

clients --commands--> primary ==stream==> replicas ==stream==> replicas of these
   |                      every node: engine, AOF, replication, loop; the real ones
ledger                    clock, disk, network, children, thread: simulated (testkit/sim_*)

operations   what clients send
clients      connections, replies, and the ledger: what was acknowledged, what was confirmed
cluster      nodes, network, who follows whom; a round is one turn of everybody, shuffled
accidents    kill -9, power loss, cuts inside of a frame, partitions, full disks, set clocks
operator     brings dead nodes back; fails over to the replica that is furthest
invariants   what must hold after each turn, and at each quiet point
world        a whole run: rounds, accidents, quiet points

python -m reliability.simulation SEED [ROUNDS]      one seed again, with its story
"""
