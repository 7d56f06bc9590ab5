"""The queue M/M/k in SimPy: Poisson arrivals, exponential services, k servers, first come first served.

Usage: mmk.py MESSAGES SERVERS RATE MEAN SEED. It prints the mean wait and the processor time as JSON.
"""

import json
import platform
import random
import sys
import time

import simpy


class Queue:
    def __init__(self, servers, mean, chance):
        self.env = simpy.Environment()
        self.servers = simpy.Resource(self.env, capacity=servers)
        self.mean = mean
        self.chance = chance
        self.waited = 0.0
        self.done = 0

    def message(self):
        sent = self.env.now
        with self.servers.request() as request:
            yield request
            self.waited += self.env.now - sent
            yield self.env.timeout(self.chance.expovariate(1 / self.mean))
        self.done += 1

    def arrivals(self, messages, rate):
        for _ in range(messages):
            yield self.env.timeout(self.chance.expovariate(rate))
            self.env.process(self.message())


def main(messages, servers, rate, mean, seed):
    queue = Queue(servers, mean, random.Random(seed))
    begin = time.process_time()
    queue.env.process(queue.arrivals(messages, rate))
    queue.env.run()
    seconds = time.process_time() - begin
    print(json.dumps({
        "messages": queue.done, "seconds": seconds, "mean_wait_s": queue.waited / queue.done,
        "version": "SimPy " + simpy.__version__ + ", Python " + platform.python_version(),
    }))


main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
