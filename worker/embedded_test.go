package worker_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/ledger"
	"github.com/muster-scale/muster/worker/sqsworker"
)

// another makes one more queue beside the embedded one.
func another(t *testing.T, client *sqs.Client, name string) (queueURL string) {
	t.Helper()
	in := &sqs.CreateQueueInput{QueueName: &name}
	if strings.HasSuffix(name, ".fifo") {
		in.Attributes = map[string]string{"FifoQueue": "true"}
	}
	created, err := client.CreateQueue(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return *created.QueueUrl
}

// TestRunKeepsTheOrderOfAnEmbeddedFIFOQueue has every third message fail at first, for single messages and for batches,
// with two workers at once.
func TestRunKeepsTheOrderOfAnEmbeddedFIFOQueue(t *testing.T) {
	_, client := embedded(t)
	for _, batch := range []int{1, 5} {
		t.Run(fmt.Sprint("batches of ", batch), func(t *testing.T) {
			queueURL := another(t, client, fmt.Sprintf("ordered-%d.fifo", batch))
			for i := range 30 {
				_, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{
					QueueUrl: &queueURL, MessageBody: aws.String(fmt.Sprint(i)),
					MessageGroupId: aws.String(fmt.Sprint(i % 3)), MessageDeduplicationId: aws.String(fmt.Sprint(i)),
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var mu sync.Mutex
			left := 30
			done, working := map[string][]string{}, map[string]bool{}
			do := func(_ context.Context, batch []worker.Message) []error {
				errs := make([]error, len(batch))
				mu.Lock()
				defer mu.Unlock()
				for i, m := range batch {
					if working[m.Group] {
						t.Errorf("message %s came while its group was worked on", m.Body)
					}
					working[m.Group] = true
					if strings.HasSuffix(m.Body, "3") && m.ReceiveCount == 1 {
						errs[i] = errBad
						continue
					}
					done[m.Group] = append(done[m.Group], m.Body)
					if left--; left == 0 {
						stop()
					}
				}
				for _, m := range batch {
					delete(working, m.Group)
				}
				return errs
			}
			var workers sync.WaitGroup
			for range 2 {
				q := open(t, queueURL)
				q.TakeTogether(batch)
				workers.Go(func() {
					if err := worker.Run(ctx, worker.Options{
						Queue: q, DoBatch: do, Batch: batch, Slots: 2, RetryBase: time.Millisecond,
					}); err != nil {
						t.Error(err)
					}
				})
			}
			workers.Wait()
			want := map[string][]string{}
			for i := range 30 {
				want[fmt.Sprint(i%3)] = append(want[fmt.Sprint(i%3)], fmt.Sprint(i))
			}
			if d := cmp.Diff(want, done); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestDeadLettersKeepTheMessageAndItsAttributes moves one by the worker and its ledger, and reads it from the other
// queue.
func TestDeadLettersKeepTheMessageAndItsAttributes(t *testing.T) {
	queueURL, client := embedded(t)
	for _, name := range []string{"dead", "dead.fifo"} {
		t.Run(name, func(t *testing.T) {
			send(t, client, queueURL, "poison")
			dead := open(t, another(t, client, name))
			ledger, err := ledger.OpenLedger(t.Context(), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = ledger.Close() }()
			var attempts []int
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			err = worker.Run(ctx, worker.Options{
				Queue: open(t, queueURL), RetryBase: time.Millisecond, Attempts: ledger, MaxAttempts: 2,
				DeadLetters: dead,
				Do: func(_ context.Context, m worker.Message) error {
					if attempts = append(attempts, m.Attempt); m.Attempt == 2 {
						stop()
					}
					return errBad
				},
			})
			if err != nil || !slices.Equal(attempts, []int{1, 2}) {
				t.Errorf("attempts %v, %v", attempts, err)
			}
			kept, err := dead.Receive(t.Context(), 10, time.Second, time.Minute)
			if err != nil || len(kept) != 1 || kept[0].Body != "poison" ||
				kept[0].Attributes["tenant"].Text != "acme" || string(kept[0].Attributes["raw"].Binary) != "\x01\x02" ||
				len(kept[0].Attributes) != 2 {
				t.Errorf("kept %+v, %v", kept, err)
			}
			if left, err := open(t, queueURL).Receive(t.Context(), 10, 0, time.Minute); err != nil || len(left) != 0 {
				t.Errorf("left %+v, %v", left, err)
			}
		})
	}
}

func TestHandleWorksUntilItsContextEnds(t *testing.T) {
	queueURL, client := embedded(t)
	t.Setenv("MUSTER_API_URL", "")
	send(t, client, queueURL, "only")
	previous := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	defer slog.SetDefault(previous)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	err := sqsworker.Handle(ctx, queueURL, func(_ context.Context, m worker.Message) error {
		if m.Body != "only" || m.Attempt != 1 {
			t.Errorf("got %+v", m)
		}
		stop()
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if left, err := open(t, queueURL).Receive(t.Context(), 10, 0, time.Minute); err != nil || len(left) != 0 {
		t.Errorf("left %+v, %v", left, err)
	}
	t.Setenv("MUSTER_API_URL", "http://10.0.0.1")
	if err := sqsworker.Handle(t.Context(), queueURL, nil); err == nil ||
		!strings.Contains(err.Error(), "http is allowed to this machine only") {
		t.Errorf("got %v", err)
	}
}

// protocolName matches the variables and headers that the sources name.
var protocolName = regexp.MustCompile(`"((?:MUSTER_|X-Muster-|X-Aws-Sqsd-)[A-Za-z-_]*[A-Za-z])`)

// TestTheProtocolPageNamesEverything keeps docs/worker-protocol.md complete: every variable and header.
func TestTheProtocolPageNamesEverything(t *testing.T) {
	page, err := os.ReadFile("../docs/worker-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	var sources []string
	for _, folder := range []string{".", "lease", "execution", "placement", "sqsqueue", "sqsworker", "httpreport",
		"ledger"} {
		found, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(found) == 0 {
			t.Fatal(folder, found, err)
		}
		sources = append(sources, found...)
	}
	names := 0
	for _, path := range sources {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range protocolName.FindAllStringSubmatch(string(text), -1) {
			names++
			if !strings.Contains(string(page), "`"+name[1]) {
				t.Errorf("%s has %s, which docs/worker-protocol.md does not name", path, name[1])
			}
		}
	}
	if names < 20 {
		t.Errorf("found %d names, the pattern fits no more", names)
	}
}
