"""Walks the prefixes of S3 buckets, each prefix once, and writes down what lies in them.

It speaks Muster's JSON lines, so that boto3 is loaded once for each slot and not for each prefix;
docs/worker-protocol.md specifies them. With --sum it adds up what was found.
"""
import json
import os
import sys
import tempfile


def walk(s3, message, found, name):
    """Lists one prefix: names the prefixes below it, and writes down the objects that lie in it directly.

    Where no deeper level may be spread, it goes on by itself and takes everything below.
    """
    if "tree" not in message:
        raise ValueError("the message names no node of a tree; begin with muster tree submit")
    bucket, slash, prefix = message["body"].removeprefix("s3://").partition("/")
    if not slash or not message["body"].startswith("s3://"):
        raise ValueError(f"found {message['body']!r}, want an address like s3://bucket/prefix/")
    alone = message["tree"]["depth_left"] == 0
    objects = size = 0
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix, **({} if alone else {"Delimiter": "/"})):
        for below in page.get("CommonPrefixes", []):  # named page by page: others begin while this one is still listing
            name(below["Prefix"][len(prefix):], f"s3://{bucket}/{below['Prefix']}")
        for entry in page.get("Contents", []):
            objects += 1
            size += entry["Size"]
    # The node's id is the same whenever it comes again, so a second time replaces the first.
    keep(os.path.join(found, message["tree"]["node"] + ".json"), {"address": message["body"], "objects": objects, "bytes": size})


def keep(path, what):
    """Writes a file whole or not at all."""
    with tempfile.NamedTemporaryFile("w", dir=os.path.dirname(path), delete=False) as f:
        json.dump(what, f)
    os.replace(f.name, path)


def serve(work):
    """Answers every message that comes on standard input with what work makes of it."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # from here on print() goes to standard error, and cannot be taken for an answer

    def answer(**fields):
        print(json.dumps(fields), file=answers, flush=True)

    for line in sys.stdin.buffer:
        request = json.loads(line)
        if request["type"] == "hello":
            answer(type="ready", protocol=1)
        elif request["type"] == "work":
            for message in request["messages"]:
                delivery = message["delivery"]
                try:
                    work(message, lambda key, body: answer(type="child", delivery=delivery, key=key, body=body))
                except Exception as e:  # a prefix that cannot be listed must not end the program
                    answer(type="done", delivery=delivery, ok=False, error=f"{type(e).__name__}: {e}")
                else:
                    answer(type="done", delivery=delivery, ok=True)


def total(found):
    """Adds up what was found."""
    prefixes = objects = size = 0
    for entry in os.scandir(found):
        if entry.name.endswith(".json"):
            with open(entry.path, encoding="utf-8") as f:
                one = json.load(f)
            prefixes, objects, size = prefixes + 1, objects + one["objects"], size + one["bytes"]
    print(f"{prefixes} prefixes, {objects} objects of {size} bytes")


def main():
    found = os.environ.get("FOUND", "found")
    if sys.argv[1:] == ["--sum"]:
        total(found)
        return
    import boto3  # after the above, which needs no client
    os.makedirs(found, exist_ok=True)
    s3 = boto3.client("s3")
    serve(lambda message, name: walk(s3, message, found, name))


if __name__ == "__main__":
    main()
