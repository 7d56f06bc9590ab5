"""Counts the words of texts into an SQLite file, each message once.

It speaks Muster's JSON lines; docs/worker-protocol.md specifies them. Standard library only.
"""
import json
import os
import sqlite3
import sys


def count_words(message, totals):
    """Does the work for one message. Whatever it raises is the message's failure."""
    if "body" not in message:
        raise ValueError("the body is no text")
    text = json.loads(message["body"])["text"]
    with totals:  # one transaction: done as a whole or not at all
        # A message may come again, after a crash for instance. Its key tells that its words were counted before.
        first = totals.execute("INSERT OR IGNORE INTO done (key) VALUES (?)", (message["idempotency_key"],)).rowcount
        if first:
            for word in text.lower().split():
                totals.execute("INSERT INTO words VALUES (?, 1) ON CONFLICT DO UPDATE SET n = n + 1", (word,))


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
                try:
                    work(message)
                except Exception as e:  # a bad message must not end the program
                    answer(type="done", delivery=message["delivery"], ok=False, error=f"{type(e).__name__}: {e}")
                else:
                    answer(type="done", delivery=message["delivery"], ok=True)


def main():
    totals = sqlite3.connect(os.environ.get("WORDS", "words.db"), timeout=30)
    totals.execute("PRAGMA journal_mode = WAL")
    totals.execute("CREATE TABLE IF NOT EXISTS done (key TEXT PRIMARY KEY)")
    totals.execute("CREATE TABLE IF NOT EXISTS words (word TEXT PRIMARY KEY, n INTEGER NOT NULL)")
    serve(lambda message: count_words(message, totals))


if __name__ == "__main__":
    main()
