package realcrash

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

var kills = flag.Int("kills", 50, "how many times the program is killed")

// visibility is that of the queue.
const visibility = 2 * time.Second

// account is what the clients asked for and were answered, by message number.
type account struct {
	mu                      sync.Mutex
	next                    int
	sent, deleting, deleted map[int]bool
	wrong                   []string
}

// seen notes a received message and returns its number.
func (a *account) seen(body string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	digits, rest, _ := strings.Cut(body, "|")
	n, err := strconv.Atoi(digits)
	switch {
	case err != nil || n >= a.next || rest != filling(n):
		a.wrong = append(a.wrong, fmt.Sprintf("the body %.40q was never sent", body))
	case a.deleted[n]:
		a.wrong = append(a.wrong, fmt.Sprintf("message %d is back after its delete was acknowledged", n))
	}
	return n
}

func filling(n int) string { return strings.Repeat(string(rune('a'+n%26)), n%700) }

// TestKillingTheProgramLosesNothing kills it again and again, 5 to 100 ms after it began to answer or, every second
// time, after a delete was acknowledged, under clients that send, receive and delete. At the end every message that was
// acknowledged and that nobody began to delete must be there.
func TestKillingTheProgramLosesNothing(t *testing.T) {
	slow(t)
	p := install(t, t.TempDir(), build(t))
	a := &account{sent: map[int]bool{}, deleting: map[int]bool{}, deleted: map[int]bool{}}
	chance := rand.New(rand.NewPCG(1, 2))
	for n := range *kills {
		p.start(t)
		worked := make(chan struct{}, 1)
		ctx, cancel := context.WithCancel(t.Context())
		var clients sync.WaitGroup
		for range 4 {
			clients.Go(func() { use(ctx, p, a, worked) })
		}
		if n%2 == 1 { // however slow the machine is
			select {
			case <-worked:
			case <-time.After(20 * time.Second):
			}
		}
		<-time.After(time.Duration(5+chance.IntN(95)) * time.Millisecond)
		p.kill()
		cancel()
		clients.Wait()
	}
	p.start(t)
	there := drain(t, p, a)
	p.stop(t)
	for n := range a.sent {
		if !there[n] && !a.deleting[n] {
			t.Errorf("message %d was acknowledged, and it is lost", n)
		}
	}
	for _, text := range a.wrong {
		t.Error(text)
	}
	t.Logf("%d kills; %d sends and %d deletes acknowledged, %d messages left", *kills, len(a.sent), len(a.deleted),
		len(there))
	if len(a.sent) < *kills/2 || len(a.deleted) < *kills/2 {
		t.Errorf("that is too little work for %d kills", *kills)
	}
}

// TestAStopAnswersWhoWaits stops the program in order while a client waits for a message.
func TestAStopAnswersWhoWaits(t *testing.T) {
	slow(t)
	p := install(t, t.TempDir(), build(t))
	p.start(t)
	c := p.client()
	if _, err := c.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: p.queue()}); err != nil {
		t.Error(err)
	}
	asked, answered := make(chan struct{}), make(chan error, 1)
	ctx := httptrace.WithClientTrace(t.Context(),
		&httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { close(asked) }})
	go func() {
		_, err := c.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: p.queue(), WaitTimeSeconds: 20})
		answered <- err
	}()
	<-asked
	<-time.After(300 * time.Millisecond) // for the program to read it
	began := time.Now()
	p.stop(t)
	if err := <-answered; err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("stopping took %v", took)
	}
}

// use sends, receives and deletes until the program is gone; it tells worked of an acknowledged delete.
func use(ctx context.Context, p *program, a *account, worked chan<- struct{}) {
	c := p.client()
	for ctx.Err() == nil {
		if send(ctx, p, c, a) != nil {
			return
		}
		began := time.Now()
		got, err := c.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: p.queue(), MaxNumberOfMessages: 3})
		if err != nil {
			return
		}
		for i, m := range got.Messages {
			n := a.seen(*m.Body)
			if i > 0 {
				continue // it stays
			}
			a.mu.Lock()
			a.deleting[n] = true
			a.mu.Unlock()
			if _, err := c.DeleteMessage(ctx,
				&sqs.DeleteMessageInput{QueueUrl: p.queue(), ReceiptHandle: m.ReceiptHandle}); err != nil {
				return
			}
			if time.Since(began) < visibility { // nobody else can have received it since
				a.mu.Lock()
				a.deleted[n] = true
				a.mu.Unlock()
				select {
				case worked <- struct{}{}:
				default: // it was told
				}
			}
		}
	}
}

func send(ctx context.Context, p *program, c *sqs.Client, a *account) error {
	var numbers []int
	var entries []types.SendMessageBatchRequestEntry
	a.mu.Lock()
	for range 3 {
		n := a.next
		a.next++
		id, body := strconv.Itoa(n), strconv.Itoa(n)+"|"+filling(n)
		numbers = append(numbers, n)
		entries = append(entries, types.SendMessageBatchRequestEntry{Id: &id, MessageBody: &body})
	}
	a.mu.Unlock()
	out, err := c.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: p.queue(), Entries: entries})
	if err != nil {
		return err
	}
	if len(out.Failed) > 0 {
		return fmt.Errorf("%d messages were refused", len(out.Failed))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, n := range numbers {
		a.sent[n] = true
	}
	return nil
}

// drain receives and deletes everything, until nothing came for longer than messages can be hidden. An answer that is
// lost on its way loses no message: it is seen again.
func drain(t *testing.T, p *program, a *account) map[int]bool {
	t.Helper()
	c := p.client()
	there := map[int]bool{}
	failed := 0
	for quiet := time.Now(); time.Since(quiet) < visibility+time.Second; {
		got, err := c.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: p.queue(), MaxNumberOfMessages: 10,
			WaitTimeSeconds: 1})
		if err != nil {
			if failed++; failed > 5 {
				t.Fatal(err)
			}
			t.Logf("lost answer: %v", err)
			quiet = time.Now()
			continue
		}
		for _, m := range got.Messages {
			quiet = time.Now()
			there[a.seen(*m.Body)] = true
			if _, err := c.DeleteMessage(t.Context(),
				&sqs.DeleteMessageInput{QueueUrl: p.queue(), ReceiptHandle: m.ReceiptHandle}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return there
}
