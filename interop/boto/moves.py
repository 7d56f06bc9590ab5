"""Move tasks: from a dead-letter queue back or elsewhere."""

from checks import Rules, equal, true, within

rules = Rules()


def dead_letters(w, count):
    """Return a queue and its dead-letter queue that holds count messages which came from it."""
    dead = w.queue()
    url = w.queue(VisibilityTimeout="0", RedrivePolicy=f'{{"deadLetterTargetArn":"{w.arn(dead)}","maxReceiveCount":1}}')
    for start in range(0, count, 10):
        w.sqs.send_message_batch(QueueUrl=url, Entries=[{"Id": str(i), "MessageBody": f"m{i}"} for i in range(start, min(count, start + 10))])

    def drained():
        w.receive(url)
        return w.counts(dead)[0] == count

    within(10, f"{count} dead messages", drained)
    return url, dead


@rules("StartMessageMoveTask moves dead messages back to where they came from")
def _(w):
    url, dead = dead_letters(w, 12)
    w.sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "30"})
    true(w.sqs.start_message_move_task(SourceArn=w.arn(dead))["TaskHandle"], "no task handle")
    task = within(10, "COMPLETED", lambda: next((t for t in w.sqs.list_message_move_tasks(SourceArn=w.arn(dead))["Results"] if t["Status"] == "COMPLETED"), None))
    equal((task["SourceArn"], task["ApproximateNumberOfMessagesMoved"], task["ApproximateNumberOfMessagesToMove"]), (w.arn(dead), 12, 12), "task")
    true("TaskHandle" not in task and task["StartedTimestamp"] > 1_600_000_000_000, f"task {task}")
    equal((w.counts(dead), w.counts(url)), ((0, 0, 0), (12, 0, 0)), "counts")
    equal(len(w.bodies(url)), 10, "received")


@rules("a move goes where it is told, at its rate, until it is cancelled")
def _(w):
    _, dead = dead_letters(w, 20)
    elsewhere = w.queue()
    source, destination = w.arn(dead), w.arn(elsewhere)
    handle = w.sqs.start_message_move_task(SourceArn=source, DestinationArn=destination, MaxNumberOfMessagesPerSecond=2)["TaskHandle"]
    w.refused("InvalidParameterValue", w.sqs.start_message_move_task, SourceArn=source)
    task, = w.sqs.list_message_move_tasks(SourceArn=source)["Results"]
    equal((task["Status"], task["TaskHandle"], task["DestinationArn"], task["MaxNumberOfMessagesPerSecond"]), ("RUNNING", handle, destination, 2), "task")
    within(6, "messages moved", lambda: w.counts(elsewhere)[0] >= 2)
    moved = w.sqs.cancel_message_move_task(TaskHandle=handle)["ApproximateNumberOfMessagesMoved"]
    true(2 <= moved < 20, f"{moved} moved at 2 per second")
    within(5, "CANCELLED", lambda: w.sqs.list_message_move_tasks(SourceArn=source, MaxResults=10)["Results"][0]["Status"] == "CANCELLED")
    equal(w.counts(elsewhere)[0] + w.counts(dead)[0], 20, "messages in both queues")


@rules("moves from what is no dead-letter queue, to nowhere, or too fast are refused")
def _(w):
    plain = w.queue()
    _, dead = dead_letters(w, 1)
    start = w.sqs.start_message_move_task
    missing = w.arn(plain) + "-none"
    w.refused("InvalidParameterValue", start, SourceArn=w.arn(plain))
    w.refused("ResourceNotFoundException", start, status=404, SourceArn=missing)
    w.refused("ResourceNotFoundException", start, SourceArn=w.arn(dead), DestinationArn=missing)
    w.refused("InvalidParameterValue", start, SourceArn=w.arn(dead), MaxNumberOfMessagesPerSecond=501)
    w.refused("ResourceNotFoundException", w.sqs.list_message_move_tasks, SourceArn=missing)
    try:
        w.sqs.cancel_message_move_task(TaskHandle="forged")
        raise AssertionError("a forged task handle was accepted")
    except w.sqs.exceptions.ClientError:
        pass
    true(not w.sqs.list_message_move_tasks(SourceArn=w.arn(dead)).get("Results"), "a refused task is listed")
