package testload

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/internal/terminal"
)

// Load describes test load: its messages and its rate.
type Load struct {
	// Count is the number of messages, Body the body of each. With a Duration above 0, each body is a processing
	// duration instead: a lognormal draw with the coefficient of variation Spread, from the seed Seed.
	Count    int
	Body     string
	Duration time.Duration
	Spread   float64
	Seed     uint64
	// Bodies is a file with one body per line, or - for standard input; empty for none. Count then bounds the number of
	// messages, except that 1 means all.
	Bodies string
	// Rate is the number of messages per second; 0 sends as fast as possible. Over is how long sending takes, as an
	// alternative to Rate.
	Rate float64
	Over time.Duration
}

const (
	// maxLoad bounds the messages of a load, batchSize those of one request.
	maxLoad   = 10_000_000
	batchSize = 10
)

// Make returns the bodies to send, or an error about the load or the file of bodies.
func (l *Load) Make(stdin io.Reader) ([]string, error) {
	switch {
	case l.Count < 1 || l.Count > maxLoad:
		return nil, fmt.Errorf("--count: found %d, allowed is 1 to %d", l.Count, maxLoad)
	case l.Rate < 0 || l.Over < 0 || l.Spread < 0 || l.Spread > 10 || l.Duration < 0:
		return nil, errors.New("--rate, --over, --duration and --spread are at least 0, and --spread at most 10")
	case l.Rate > 0 && l.Over > 0:
		return nil, errors.New("give --rate or --over, not both")
	case l.Bodies != "":
		return l.lines(stdin)
	}
	random := rand.New(rand.NewPCG(l.Seed, 0))
	bodies := make([]string, l.Count)
	for i := range bodies {
		bodies[i] = l.Body
		if l.Duration > 0 {
			bodies[i] = time.Duration(float64(l.Duration) * lognormal(random,
				l.Spread)).Round(time.Microsecond).String()
		}
	}
	return bodies, nil
}

// lognormal draws from the lognormal distribution of mean 1 with the given coefficient of variation.
func lognormal(random *rand.Rand, cv float64) float64 {
	sigma2 := math.Log(1 + cv*cv)
	return math.Exp(random.NormFloat64()*math.Sqrt(sigma2) - sigma2/2)
}

// lines reads the bodies from a file or from standard input.
func (l *Load) lines(stdin io.Reader) ([]string, error) {
	in := stdin
	if l.Bodies != "-" {
		f, err := os.Open(l.Bodies)
		if err != nil {
			return nil, fmt.Errorf("--bodies: %w", err)
		}
		defer f.Close()
		in = f
	}
	most := l.Count
	if most == 1 {
		most = maxLoad // the flag was left at its default
	}
	var bodies []string
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20+1)
	for lines.Scan() && len(bodies) < most {
		if strings.TrimSpace(lines.Text()) != "" {
			bodies = append(bodies, lines.Text())
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("--bodies: line %d: %w; a body is at most 1 MiB", len(bodies)+1, err)
	}
	if len(bodies) == 0 {
		return nil, fmt.Errorf("--bodies: %s holds no line with a body", l.Bodies)
	}
	return bodies, nil
}

// Send sends the bodies at the requested rate to the queue at url, with its progress on progress. It returns how many
// were accepted, also with an error.
func (l *Load) Send(ctx context.Context, client *awssqs.Client, url string, bodies []string, progress io.Writer) (
	sent int, err error,
) {
	p := terminal.NewProgress(progress, "sent", len(bodies))
	defer p.Done()
	rate := l.Rate
	if l.Over > 0 {
		rate = float64(len(bodies)) / l.Over.Seconds()
	}
	started := time.Now()
	for sent < len(bodies) {
		n := min(batchSize, len(bodies)-sent)
		if rate > 0 {
			// Each message has its own due time, so that a slow answer does not lower the rate.
			due := started.Add(time.Duration(float64(sent) / rate * float64(time.Second)))
			if err := host.Sleep(ctx, time.Until(due)); err != nil {
				return sent, err
			}
			// As many messages as are due now, at most a batch: after a slow answer several are.
			late := int(time.Since(started).Seconds()*rate) - sent + 1
			n = min(n, max(1, late))
		}
		if err := sendBatch(ctx, client, url, bodies[sent:sent+n]); err != nil {
			return sent, err
		}
		sent += n
		p.At(sent)
	}
	return sent, nil
}

func sendBatch(ctx context.Context, client *awssqs.Client, url string, bodies []string) error {
	// A request holds at most 1 MiB, so large bodies are split into several.
	size := 0
	for _, b := range bodies {
		size += len(b)
	}
	if len(bodies) > 1 && size > 1<<20 {
		half := len(bodies) / 2
		if err := sendBatch(ctx, client, url, bodies[:half]); err != nil {
			return err
		}
		return sendBatch(ctx, client, url, bodies[half:])
	}
	in := &awssqs.SendMessageBatchInput{QueueUrl: &url}
	for i, b := range bodies {
		id := strconv.Itoa(i)
		in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{Id: &id, MessageBody: &b})
	}
	out, err := client.SendMessageBatch(ctx, in)
	if err != nil {
		return err
	}
	if len(out.Failed) > 0 {
		f := out.Failed[0]
		return fmt.Errorf("%s: %s", aws.ToString(f.Code), aws.ToString(f.Message))
	}
	return nil
}
