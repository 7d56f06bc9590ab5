package sqsapi

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-scale/muster/sqsapi/internal/action"
)

var update = flag.Bool("update", false, "write docs/sqs-compatibility.md anew")

// general are the differences from AWS that no single action has.
var general = []string{
	"Counts are exact, and changes of attributes take effect at once.",
	"Access is decided by one key pair. Policies are checked for their form, kept and shown, and grant or deny " +
		"nothing.",
	"The region that a request is signed for and the account in its queue URL have queues of their own. Those of the " +
		"configuration, and requests signed for `local`, are in us-east-1 and 000000000000; up to 100 other pairs " +
		"may hold queues. The one key pair is for all of them. A dead-letter queue is always in the region and " +
		"account of its source.",
	"KMS attributes and SqsManagedSseEnabled are kept and shown. Nothing is encrypted at rest.",
	"There are no limits on the number of calls per second. The times for which AWS refuses a second purge and the " +
		"name of a deleted queue are held only by a strict service: `strict: true` in the configuration, or `muster " +
		"up --strict`. It is relaxed by default, and a restart forgets the times. Limits of sizes, counts, ranges " +
		"and names hold either way.",
	"A service holds up to 10,000 queues; a queue up to 50 tags.",
	"A request is judged by its head before its body is read. Bodies that are not verified yet take up to 64 MiB in " +
		"all; beyond that requests fail with ServiceUnavailable (503) for a moment. Connections are bounded by the " +
		"descriptors that the program may open; those that have shown no valid signature go first when there are too " +
		"many.",
	"AWS JSON 1.0 and the Query protocol are served on one port; the answer to a Query request is XML whatever it " +
		"accepts. Signatures may be in a header or, for Query, in the URL. Session tokens are not looked at.",
	"Requests of browsers (with Origin, Sec-Fetch-Site, or a GET with a browser's User-Agent or a Referer) and for " +
		"foreign hosts are refused.",
	"A short poll sees every message: it never returns fewer than there are.",
	"Messages of a standard queue are received in the order in which they became visible. AWS promises no order.",
}

// differences are those of single actions.
var differences = map[string][]string{
	"CreateQueue": {"A queue is usable at once."},
	"DeleteQueue": {"Its messages are gone at once."},
	"PurgeQueue":  {"The messages are gone at once, those in flight too, and deduplication begins anew."},
	"SetQueueAttributes": {"A new DelaySeconds of a FIFO queue applies to later messages only.",
		"A new DeduplicationScope applies at once: what was sent under the other scope is not compared."},
	"AddPermission":        {"The statement is kept and grants nothing."},
	"ListMessageMoveTasks": {"The status CANCELLING is never seen: a task stops at once."},
	"SendMessage": {"A FIFO message has its sequence number from one counter for the whole service.",
		"FifoThroughputLimit is kept and limits nothing."},
	"StartMessageMoveTask": {"Messages keep their ids. They get a new sent time, and a receive count of zero.",
		"It moves as many messages as were visible when it started; those in flight stay.",
		"A limit of MaximumMessageSize of the destination is not applied.", "It goes on after a restart, and never " +
			"times out."},
	"CancelMessageMoveTask": {"What was moved is exact."},
	"ChangeMessageVisibility": {"A FIFO queue takes the newest handle of a message alone, until its time runs out. " +
		"The error MessageNotInflight is never seen."},
	"DeleteMessage": {"An old handle of a message that was received again succeeds and deletes nothing."},
	"ReceiveMessage": {
		"Fair queues: a tenant (MessageGroupId on a standard queue) is noisy while it has at least 30 messages in " +
			"flight and more than a tenth of all; processing time is not looked at. Among noisy tenants the oldest " +
			"message goes first.",
		"A FIFO receive looks at every group, not at the first 120,000 messages. A group that was locked takes its " +
			"turn after the others.",
		"A FIFO receive is on disk before it is answered, so that a crash does not open a locked group.",
		"ReceiveRequestAttemptId is forgotten on a restart. An attempt of which a message was deleted, changed or " +
			"has become visible is a new attempt.",
		"With 120,000 messages in flight a short poll of a standard queue fails with OverLimit; a long poll waits, " +
			"and a FIFO queue returns nothing.",
		"A message of a standard queue is not moved to the back after three receives.",
		"The first receive of a message of a standard queue is on disk within 20 ms after the answer: if the power " +
			"goes or the program is killed in between, the message is visible at once after the start, and the " +
			"receive is not counted. Later receives, and those of a FIFO queue, are on disk before the answer.",
	},
}

// TestTheDocumentationIsWhatTheTestsShow writes the page with -update.
func TestTheDocumentationIsWhatTheTestsShow(t *testing.T) {
	path := filepath.Join("..", "docs", "sqs-compatibility.md")
	want := compatibilityPage()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil || string(have) != want {
		t.Errorf("%s is stale (%v); run: go test ./sqsapi -run Documentation -update", path, err)
	}
	for name := range differences {
		if _, ok := action.Table[name]; !ok {
			t.Errorf("differences of %s, which is no action", name)
		}
	}
}

// compatibilityPage is the page of the documentation.
func compatibilityPage() string {
	var b strings.Builder
	names := slices.Sorted(maps.Keys(action.Table))
	fmt.Fprintf(&b, `# SQS compatibility

The embedded queue serves %d of the %d actions of Amazon SQS, API version 2012-11-05. This page is made from the table that the tests run: every
sentence under "shown" is a test, over each protocol named. It is written by `+"`go test ./sqsapi -run Documentation -update`"+`.

## Differences everywhere

`, len(names), len(names))
	for _, d := range general {
		fmt.Fprintf(&b, "- %s\n", d)
	}
	b.WriteString("\n## Actions\n\n| action | protocols | shown | differences |\n|---|---|---|---|\n")
	over := strings.Join(slices.Sorted(maps.Keys(protocols)), ", ")
	for _, name := range names {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %d | %d |\n", name, strings.ToLower(name), over, len(shown(name)),
			len(differences[name]))
	}
	for _, name := range names {
		fmt.Fprintf(&b, "\n### %s\n\nShown:\n\n", name)
		for _, does := range shown(name) {
			fmt.Fprintf(&b, "- %s\n", does)
		}
		if len(differences[name]) > 0 {
			b.WriteString("\nDifferences:\n\n")
		}
		for _, d := range differences[name] {
			fmt.Fprintf(&b, "- %s\n", d)
		}
	}
	return b.String()
}

// shown are the sentences of the rules of an action.
func shown(action string) (does []string) {
	for _, r := range rules {
		if r.action == action {
			does = append(does, r.does)
		}
	}
	return does
}
