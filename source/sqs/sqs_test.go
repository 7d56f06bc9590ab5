package sqs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/source/sqs"
)

const queueURL = "https://sqs.eu-west-1.amazonaws.com/123456789012/work"

// standIn answers GetQueueAttributes over the wire protocol with the counts it is given.
type standIn struct {
	mu      sync.Mutex
	counts  [3]string // backlog, in flight, delayed
	fault   string
	actions []string
}

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.actions = append(s.actions, r.Header.Get("X-Amz-Target"))
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	if s.fault != "" {
		w.WriteHeader(http.StatusBadRequest)
		json.NewEncoder(w).Encode(map[string]string{"__type": s.fault, "message": "no"})
		return
	}
	json.NewEncoder(w).Encode(map[string]any{"Attributes": map[string]string{
		"ApproximateNumberOfMessages": s.counts[0], "ApproximateNumberOfMessagesNotVisible": s.counts[1],
		"ApproximateNumberOfMessagesDelayed": s.counts[2],
	}})
}

func (s *standIn) set(backlog, inFlight, delayed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts = [3]string{fmt.Sprint(backlog), fmt.Sprint(inFlight), fmt.Sprint(delayed)}
}

func (s *standIn) fail(code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = code
}

// looks returns how many calls were made since the last time, and fails the test for any call but GetQueueAttributes.
func (s *standIn) looks(t *testing.T) int {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.actions {
		if a != "AmazonSQS.GetQueueAttributes" {
			t.Errorf("the source called %s, only GetQueueAttributes is allowed", a)
		}
	}
	n := len(s.actions)
	s.actions = nil
	return n
}

// inTime runs a test of one source in virtual time.
func inTime(t *testing.T, url string, metrics sqs.Metrics, test func(t *testing.T, s *sqs.Source, aws *standIn)) {
	t.Helper()
	mustertest.AWSEnvironment(t)
	synctest.Test(t, func(t *testing.T) {
		aws := &standIn{}
		aws.set(0, 0, 0)
		account, err := awsapi.Open(t.Context(), awsapi.Options{HTTP: mustertest.InProcess{Handler: aws}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := sqs.NewQueues(sqs.Options{Account: account, Metrics: metrics}).Queue(url, 0)
		if err != nil {
			t.Fatal(err)
		}
		test(t, s, aws)
	})
}

func observe(t *testing.T, s *sqs.Source) muster.QueueObservation {
	t.Helper()
	q, err := s.Observe(t.Context())
	if err != nil {
		t.Fatalf("Observe: %v", err)
	}
	return q
}

// watch asks every second, as a loop does, until so much time has passed.
func watch(t *testing.T, s *sqs.Source, d time.Duration) (last muster.QueueObservation) {
	t.Helper()
	for range int(d / time.Second) {
		time.Sleep(time.Second)
		last = observe(t, s)
	}
	return last
}

func TestCountsAboveZeroAreBelievedAtOnce(t *testing.T) {
	inTime(t, queueURL, nil, func(t *testing.T, s *sqs.Source, aws *standIn) {
		aws.set(7, 2, 1)
		q := observe(t, s)
		now := time.Now().UTC()
		for name, want := range map[string]struct {
			sample muster.Sample
			value  float64
		}{"backlog": {q.Backlog, 7}, "in flight": {q.InFlight, 2}, "delayed": {q.Delayed, 1}} {
			if want.sample != muster.Measured(now, want.value) {
				t.Errorf("%s is %+v, want %g measured at %v", name, want.sample, want.value, now)
			}
		}
		if q.OldestAge.Known || !strings.Contains(q.OldestAge.Reason, "does not tell") {
			t.Errorf("the oldest age is %v, want unknown with a reason", q.OldestAge)
		}
	})
}

func TestAnEmptyQueueIsBelievedWhenSeveralLooksHaveShownIt(t *testing.T) {
	inTime(t, queueURL, nil, func(t *testing.T, s *sqs.Source, aws *standIn) {
		aws.set(3, 0, 0)
		observe(t, s)
		aws.set(0, 0, 0)
		q := watch(t, s, 10*time.Second)
		if q.Backlog.Known || !q.Backlog.Doubted || q.InFlight.Known ||
			!strings.Contains(q.Backlog.Reason, "believed after 3 readings in a row") {
			t.Errorf("after 10 s found %+v, want a doubt that says what it waits for", q.Backlog)
		}
		if q = watch(t, s, 25*time.Second); !q.Backlog.Known || q.Backlog.Value != 0 || !q.InFlight.Known ||
			!q.Delayed.Known {
			t.Errorf("after 35 s found %+v, want a known zero", q)
		}
		aws.set(0, 0, 0)
		if q = watch(t, s, time.Hour); !q.Backlog.Known {
			t.Errorf("after an hour found %+v, want the known zero to stay known", q.Backlog)
		}
		aws.set(0, 1, 0) // one in flight: not empty, so its backlog of zero needs no second opinion
		if q = watch(t, s, time.Minute); !q.Backlog.Known || q.InFlight.Value != 1 {
			t.Errorf("with one in flight found %+v", q)
		}
	})
}

func TestAnyCountBreaksTheRowOfEmptyLooks(t *testing.T) {
	inTime(t, queueURL, nil, func(t *testing.T, s *sqs.Source, aws *standIn) {
		aws.set(1, 0, 0)
		observe(t, s)
		for range 6 {
			aws.set(0, 0, 0)
			if q := watch(t, s, 15*time.Second); q.Backlog.Known {
				t.Fatalf("found a known %v although the queue was seen with messages 15 s ago", q.Backlog)
			}
			aws.set(2, 0, 0)
			if q := watch(t, s, 6*time.Second); q.Backlog.Value != 2 {
				t.Fatalf("found %v, want 2", q.Backlog)
			}
		}
	})
}

func TestLooksAreRareWhileNothingHappens(t *testing.T) {
	inTime(t, queueURL, nil, func(t *testing.T, s *sqs.Source, aws *standIn) {
		watch(t, s, 5*time.Minute)
		aws.looks(t)
		q := watch(t, s, 10*time.Minute)
		if n := aws.looks(t); n > 21 {
			t.Errorf("%d looks in ten quiet minutes, at most two a minute are allowed", n)
		}
		if age := time.Since(q.Backlog.At); !q.Backlog.Known || age > 30*time.Second {
			t.Errorf("the count is %v and %v old, want it to carry the instant of its look, at most 30 s ago",
				q.Backlog, age)
		}
		for i := range 12 {
			aws.set(i+1, 0, 0)
			watch(t, s, 5*time.Second)
		}
		if n := aws.looks(t); n < 7 || n > 13 {
			t.Errorf("%d looks in a minute of changes, want about one every 5 s", n)
		}
	})
}

func TestWhoExpectsSomethingGetsAFreshLook(t *testing.T) {
	inTime(t, queueURL, nil, func(t *testing.T, s *sqs.Source, aws *standIn) {
		watch(t, s, 5*time.Minute)
		time.Sleep(time.Second)
		aws.set(5, 0, 0)
		s.Expect()
		if q := observe(t, s); q.Backlog.Value != 5 {
			t.Errorf("found %v, want what is there now", q.Backlog)
		}
	})
}

func TestAQueueIsLookedAtAgainASecondAfterAnEvent(t *testing.T) {
	for _, url := range []string{queueURL, queueURL + ".fifo"} {
		inTime(t, url, nil, readAgain)
	}
}

func readAgain(t *testing.T, s *sqs.Source, aws *standIn) {
	watch(t, s, 5*time.Minute)
	wakes, stop := s.Wakes()
	defer stop()
	aws.looks(t)
	s.Expect()                        // an event said that a message was sent; the count does not show it yet
	time.Sleep(20 * time.Millisecond) // a call takes its time
	observe(t, s)
	aws.set(4, 0, 0)
	select {
	case <-wakes:
	case <-time.After(2 * time.Second):
		t.Fatal("nobody was woken for the second look")
	}
	if q := observe(t, s); q.Backlog.Value != 4 {
		t.Errorf("the second look found %v, want 4", q.Backlog)
	}
	if n := aws.looks(t); n != 2 {
		t.Errorf("%d looks, want 2", n)
	}
}

func TestFailuresAreExplainedAndNotRepeatedTooSoon(t *testing.T) {
	inTime(t, queueURL, nil, func(t *testing.T, s *sqs.Source, aws *standIn) {
		aws.fail("QueueDoesNotExist")
		for range 60 {
			_, err := s.Observe(t.Context())
			if awsapi.KindOf(err) != awsapi.Missing || !strings.Contains(err.Error(), queueURL) {
				t.Fatalf("Observe = %v, want an error that says that the queue does not exist", err)
			}
			time.Sleep(time.Second)
		}
		if n := aws.looks(t); n > 6 {
			t.Errorf("%d calls in a minute of failures, want ever fewer", n)
		}
		aws.fail("")
		aws.set(1, 0, 0)
		time.Sleep(30 * time.Second)
		if q := observe(t, s); q.Backlog.Value != 1 {
			t.Errorf("found %v once it exists, want 1", q.Backlog)
		}
	})
}

func TestACountThatIsNoNumberIsUnknownAndSaysWhy(t *testing.T) {
	inTime(t, queueURL, nil, func(t *testing.T, s *sqs.Source, aws *standIn) {
		aws.counts = [3]string{"many", "2", "-1"}
		q := observe(t, s)
		if q.Backlog.Known || !strings.Contains(q.Backlog.Reason, `"many"`) || q.InFlight.Value != 2 ||
			q.Delayed.Known {
			t.Errorf("found %+v", q)
		}
	})
}

func TestAnEndedContextChangesNothing(t *testing.T) {
	inTime(t, queueURL, nil, func(t *testing.T, s *sqs.Source, aws *standIn) {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if _, err := s.Observe(ctx); err == nil {
			t.Error("Observe with an ended context gave counts")
		}
		aws.set(2, 0, 0)
		if q := observe(t, s); q.Backlog.Value != 2 {
			t.Errorf("found %v, want 2", q.Backlog)
		}
	})
}

func TestFleetsOfOneQueueShareItsSource(t *testing.T) {
	mustertest.AWSEnvironment(t)
	account, err := awsapi.Open(t.Context(), awsapi.Options{HTTP: mustertest.InProcess{Handler: &standIn{}}})
	if err != nil {
		t.Fatal(err)
	}
	queues := sqs.NewQueues(sqs.Options{Account: account})
	one, _ := queues.Queue(queueURL, 0)
	other, _ := queues.Queue(queueURL, 0)
	if one == nil || one != other {
		t.Error("two fleets of one queue have two sources")
	}
	if _, err := queues.Queue("https://sqs.eu-west-1.amazonaws.com/", 0); err == nil {
		t.Error("a URL without a queue was accepted")
	}
}

func TestAQueueOnThisMachineIsExact(t *testing.T) {
	inTime(t, "http://127.0.0.1:9324/000000000000/work", nil, func(t *testing.T, s *sqs.Source, aws *standIn) {
		for n := range 20 {
			aws.set(n%2, 0, 0)
			if q := observe(t, s); !q.Backlog.Known || q.Backlog.Value != float64(n%2) {
				t.Fatalf("found %v, want %d at once", q.Backlog, n%2)
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
}

// told gives fixed samples for metrics by their names.
type told map[string]muster.Sample

func (m told) Newest(_ context.Context, region string, stats ...metricmath.MetricStat) (all []muster.Sample) {
	for _, s := range stats {
		if region != "eu-west-1" || s.Metric.Namespace != "AWS/SQS" || s.Metric.Dimensions[0].Value != "work" ||
			s.PeriodSeconds != 60 {
			return append(all, muster.Sample{}, muster.Sample{}, muster.Sample{})
		}
		all = append(all, m[s.Metric.MetricName+" "+s.Stat])
	}
	return all
}

func TestAgesAndRatesComeFromCloudWatchWithTheirOwnInstants(t *testing.T) {
	minute := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	metrics := told{
		"ApproximateAgeOfOldestMessage Maximum": muster.Measured(minute, 42),
		"NumberOfMessagesSent Sum":              muster.Measured(minute, 120),
		"NumberOfMessagesDeleted Sum":           muster.Unknown(minute, "no datapoint"),
	}
	inTime(t, queueURL, metrics, func(t *testing.T, s *sqs.Source, aws *standIn) {
		aws.set(9, 1, 0)
		q := observe(t, s)
		if q.OldestAge != muster.Measured(minute, 42) || q.Published.Value().SentPerSecond != muster.Measured(minute,
			2) || q.Published.DeletedPerSecond.Known || q.Published.DeletedPerSecond.Reason != "no datapoint" {
			t.Errorf("found %+v", q)
		}
		if q.Sent.Known {
			t.Errorf("found %v sent in all, which CloudWatch does not know", q.Sent)
		}
		aws.set(0, 1, 0)
		if q := watch(t, s, 10*time.Second); !q.OldestAge.Known || q.OldestAge.Value != 0 {
			t.Errorf("the oldest age of no backlog is %v, want 0", q.OldestAge)
		}
	})
}

func TestNothingThatWaitsIsOlderThanTheLastEmptyLook(t *testing.T) {
	metrics := told{"ApproximateAgeOfOldestMessage Maximum": muster.Measured(time.Date(1999, 12, 31, 23, 59, 0, 0,
		time.UTC), 500)}
	inTime(t, queueURL, metrics, func(t *testing.T, s *sqs.Source, aws *standIn) {
		watch(t, s, time.Minute) // believed to be empty
		aws.set(4, 0, 0)
		s.Expect()
		if q := observe(t, s); !q.OldestAge.Known || q.OldestAge.Value > 31 {
			t.Errorf("the oldest age is %v, although the queue was empty half a minute ago at most", q.OldestAge)
		}
	})
}

func TestAStormOfEventsIsOneLookASecondAfterABurst(t *testing.T) {
	for _, url := range []string{queueURL, queueURL + ".fifo"} {
		inTime(t, url, nil, func(t *testing.T, s *sqs.Source, aws *standIn) {
			watch(t, s, 5*time.Minute)
			wakes, stop := s.Wakes()
			defer stop()
			aws.looks(t)
			for i := range 1000 { // a hundred events a second for ten seconds
				if i == 999 {
					aws.set(5, 0, 0)
				}
				s.Expect()
				observe(t, s)
				select {
				case <-wakes:
				default:
				}
				time.Sleep(10 * time.Millisecond)
			}
			if n := aws.looks(t); n < 18 || n > 20 {
				t.Errorf("%d looks in ten seconds of events, want a burst of ten and one a second", n)
			}
			select {
			case <-wakes:
			case <-time.After(2 * time.Second):
				t.Fatal("nobody was woken for the last event")
			}
			if q := observe(t, s); q.Backlog.Value != 5 {
				t.Errorf("after the last event found %v, want 5", q.Backlog)
			}
		})
	}
}

func TestEachEventOfABurstIsFollowedAtOnce(t *testing.T) {
	inTime(t, queueURL, nil, func(t *testing.T, s *sqs.Source, aws *standIn) {
		watch(t, s, 5*time.Minute)
		wakes, stop := s.Wakes()
		defer stop()
		aws.looks(t)
		for i := range 10 {
			time.Sleep(50 * time.Millisecond)
			aws.set(i+1, 0, 0)
			s.Expect()
			if q := observe(t, s); q.Backlog.Value != float64(i+1) {
				t.Errorf("after event %d found %v", i+1, q.Backlog)
			}
		}
		// The counts may lag, so a reading a second after the last event follows, and no further one.
		aws.set(11, 0, 0)
		time.Sleep(time.Second + time.Millisecond)
		select {
		case <-wakes:
		default:
			t.Fatal("no wake a second after the last event")
		}
		if q := observe(t, s); q.Backlog.Value != 11 {
			t.Errorf("a second after the last event found %v, want 11", q.Backlog)
		}
		if n := aws.looks(t); n != 11 {
			t.Errorf("%d looks for ten events, want one for each and one more", n)
		}
		time.Sleep(3 * time.Second)
		select {
		case <-wakes:
			t.Error("a further wake without an event")
		default:
		}
	})
}

// A failed call costs as much as another one: events must not repeat it at once.
func TestEventsDoNotHammerAQueueThatCannotBeRead(t *testing.T) {
	inTime(t, queueURL, nil, func(t *testing.T, s *sqs.Source, aws *standIn) {
		watch(t, s, time.Minute)
		aws.fail("AccessDenied")
		aws.looks(t)
		for range 1000 {
			s.Expect()
			_, _ = s.Observe(t.Context())
			time.Sleep(10 * time.Millisecond)
		}
		if n := aws.looks(t); n > 20 {
			t.Errorf("%d calls failed in ten seconds of events, want at most 20", n)
		}
	})
}
