"""The example that walks the prefixes of S3 buckets, against a simulated S3 and with a fleet of real workers."""

import json
import logging
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import boto3
from moto.server import ThreadedMotoServer

import checks
from checks import Rules, equal, true, within

rules = Rules()
root = pathlib.Path(__file__).resolve().parent.parent


class World:
    """A simulated S3, and muster up with the example's configuration."""

    def __init__(self, work):
        self.work = pathlib.Path(work)
        self.server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        self.server.start()
        host, port = self.server.get_host_and_port()
        endpoint = f"http://{host}:{port}"
        credentials = self.work / "credentials"
        credentials.write_text("[default]\naws_access_key_id = s3\naws_secret_access_key = s3\n")
        config = self.work / "config"
        config.write_text("[default]\nregion = us-east-1\n")
        self.s3 = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="s3", aws_secret_access_key="s3")
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        self.env |= {
            "AWS_ENDPOINT_URL_S3": endpoint, "AWS_SHARED_CREDENTIALS_FILE": str(credentials), "AWS_CONFIG_FILE": str(config),
            "AWS_EC2_METADATA_DISABLED": "true", "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        example = root / "examples" / "s3walk"
        shutil.copy(example / "walk.py", self.work)
        text = (example / "muster.yaml").read_text().replace("version: 1\n", 'version: 1\nlisten: {queue: "127.0.0.1:0", api: "127.0.0.1:0"}\n', 1)
        text = text.replace("env: [", "env: [PYTHONPATH, ", 1).replace("command: [python3,", f"command: [{json.dumps(sys.executable)},", 1)
        (self.work / "muster.yaml").write_text(text)
        self.log = open(self.work / "log", "w+", encoding="utf-8")
        self.up = subprocess.Popen([root / "bin/muster", "up", "-f", "muster.yaml"], cwd=self.work, env=self.env, stdout=self.log, stderr=self.log)
        ready = lambda: re.search(r"(http://\S+/000000000000/prefixes)\s[\s\S]*AWS_SECRET_ACCESS_KEY=", (self.work / "log").read_text())
        self.queue = within(20, "muster up is ready", ready)[1]
        exported = dict(re.findall(r"^export (AWS_\w+)=(\S+)$", (self.work / "log").read_text(), re.M))
        self.operator = self.env | exported

    def close(self):
        self.up.send_signal(signal.SIGINT)
        self.up.wait(30)
        self.server.stop()
        self.log.close()

    def fill(self, bucket, keys):
        """Makes a bucket with an object of as many bytes as its key has under each key."""
        self.s3.create_bucket(Bucket=bucket)
        for key in keys:
            self.s3.put_object(Bucket=bucket, Key=key, Body=key.encode())

    def tree(self, *arguments, ends=0):
        """Runs muster tree and returns the JSON that it prints."""
        done = subprocess.run([root / "bin/muster", "tree", "-f", "muster.yaml", "-o", "json", *arguments], cwd=self.work, env=self.operator,
                              capture_output=True, text=True, timeout=150, check=False)
        equal(done.returncode, ends, f"the end of muster tree {' '.join(arguments)}: {done.stderr.strip()}")
        return json.loads(done.stdout) if done.stdout.strip() else None

    def walk(self, bucket, *arguments, ends=0):
        """Walks a bucket to the end of its tree and returns how that ended."""
        for old in (self.work / "found").glob("*.json"):
            old.unlink()
        self.tree("submit", "--queue", self.queue, "--id", f"{bucket}-{len(arguments)}", *arguments, f"s3://{bucket}/")
        return self.tree("watch", f"{bucket}-{len(arguments)}", "--timeout", "140s", ends=ends)

    def found(self):
        """Returns what was found, by address."""
        all_found = [json.loads(path.read_text()) for path in (self.work / "found").glob("*.json")]
        return {one["address"]: one for one in all_found}


def prefixes(keys):
    """Returns every prefix of the keys, the empty one too."""
    return {""} | {"/".join(parts[:i]) + "/" for parts in (key.split("/") for key in keys) for i in range(1, len(parts))}


def account():
    """Keys like those of a grown account: chains of dozens of levels, and many small prefixes."""
    dice = random.Random(7)
    keys = {"/".join(f"level {i:02}" for i in range(36)) + "/last.txt"}
    for _ in range(300):
        depth = min(int(dice.expovariate(0.5)) + 1, 12)
        keys.add("/".join(dice.choice("abcé+ ") + str(dice.randrange(4)) for _ in range(depth)) + f"/{dice.randrange(10**6)}.csv")
    return sorted(keys)


def compare(world, bucket, keys, names):
    """Checks that everything under the names was found, and nothing twice."""
    found = world.found()
    equal(sorted(found), sorted(f"s3://{bucket}/{name}" for name in names), "prefixes")
    equal(sum(one["objects"] for one in found.values()), len(keys), "objects")
    equal(sum(one["bytes"] for one in found.values()), sum(len(key.encode()) for key in keys), "bytes")


@rules("a bucket of 36 levels is walked to its end, each prefix and object once")
def _(world):
    keys = account()
    world.fill("account", keys)
    ended = world.walk("account")
    names = prefixes(keys)
    equal((ended["state"], ended["done"], ended["failed"]), ("complete", len(names), 0), "the end")
    equal(len(ended["levels"]), 37, "levels")
    compare(world, "account", keys, names)


@rules("with a depth the prefixes there take all that is below them")
def _(world):
    keys = account()
    world.walk("account", "--depth", "2")
    compare(world, "account", keys, {name for name in prefixes(keys) if name.count("/") <= 2})


@rules("a prefix with more others than a page has names them all")
def _(world):
    keys = [f"day {i:04}/events" for i in range(1100)]
    world.fill("wide", keys)
    ended = world.walk("wide")
    equal(ended["levels"][0]["branching"], 1100, "children of the root")
    compare(world, "wide", keys, prefixes(keys))


@rules("a bucket that is not there fails with what S3 says, and a retry finds it")
def _(world):
    ended = world.walk("late", "--attempts", "1", ends=1)
    true("NoSuchBucket" in ended["failed_nodes"][0]["reason"], str(ended["failed_nodes"]))
    world.fill("late", ["a/b"])
    world.tree("retry", "late-2")
    equal(world.tree("watch", "late-2", "--timeout", "60s")["done"], 2, "nodes done")


@rules("the fleet's decisions tell of the trees, and recompute")
def _(world):
    done = subprocess.run([root / "bin/muster", "explain", "-f", "muster.yaml", "--verify"], cwd=world.work, env=world.operator, capture_output=True, text=True, check=False)
    equal(done.returncode, 0, f"the end of muster explain --verify: {done.stdout} {done.stderr}")
    true("of trees open" in (world.work / "log").read_text(), "no decision of the fleet tells of a tree")


def main():
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # else a line for each request
    with tempfile.TemporaryDirectory() as work:
        world = World(work)
        try:
            return checks.run("s3walk", world, rules.rows)
        finally:
            world.close()


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
