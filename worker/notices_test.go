package worker_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/placement"
	"github.com/muster-scale/muster/worker/protocol"
)

// direct asks a service without a network between, so that the time of a bubble passes.
type direct struct{ service http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	answered := make(chan struct{})
	go func() {
		d.service.ServeHTTP(w, r)
		close(answered)
	}()
	select {
	case <-answered:
		return w.Result(), nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func via(service http.Handler) *http.Client { return &http.Client{Transport: direct{service}} }

func onEC2(s *mustertest.IMDS) []worker.Notices {
	return []worker.Notices{placement.EC2Notices{Client: via(s)}}
}

func TestRunUsesTheTimeUntilAnInterruption(t *testing.T) {
	for _, row := range []struct {
		name   string
		action string
		ahead  time.Duration // from the notice to the interruption
		skew   time.Duration // of the instance's clock against that of EC2
		takes  time.Duration // the work that is in hand
		done   bool
		within time.Duration // from the notice
	}{
		{"work that ends in time is finished", "terminate", 2 * time.Minute, 0, 100 * time.Second, true,
			101 * time.Second},
		{"what would not is given back ten seconds before", "terminate", 2 * time.Minute, 0, time.Hour, false,
			111 * time.Second},
		{"also when the instance is to be stopped", "stop", 2 * time.Minute, 0, time.Hour, false, 111 * time.Second},
		{"the clock of the instance may be an hour fast", "terminate", 2 * time.Minute, time.Hour, 100 * time.Second,
			true, 101 * time.Second},
		{"or slow", "terminate", 2 * time.Minute, -time.Hour, time.Hour, false, 116 * time.Second},
		{"a late notice leaves less", "terminate", 30 * time.Second, 0, time.Hour, false, 21 * time.Second},
		{"hibernation begins at once", "hibernate", 2 * time.Minute, 0, time.Hour, false, 6 * time.Second},
		{"what cannot be read is an interruption too", "\x00", 2 * time.Minute, 0, time.Hour, false, 116 * time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue("held")
				theirs := func() time.Time { return time.Now().Add(-row.skew) }
				s := mustertest.NewIMDS(theirs)
				c := &fakeController{rule: keepWorking}
				attempts := newCounter()
				r := run(t, worker.Options{Queue: q, Reporter: c, Do: takes(row.takes), Notices: onEC2(s),
					Attempts: attempts})
				after(3 * time.Second)
				if n := attempts.of("held"); n != 1 {
					t.Errorf("%d attempts are counted, want 1", n)
				}
				begun := time.Now().Add(-3 * time.Second)
				if n := q.calls().receives; n == 0 {
					t.Fatalf("nothing was received\n%s", r.logs)
				}
				s.Interrupt(row.action, theirs().Add(row.ahead))
				if row.action == "\x00" {
					s.Set(mustertest.SpotAction, "soon")
				}
				after(6 * time.Second)
				q.send("more")
				r.left(row.within + 3*time.Second)
				if took := time.Since(begun); took > row.within+3*time.Second || row.done && took < row.takes {
					t.Errorf("left %s after it began", took)
				}
				deleted, hidden := q.state()
				if done := len(deleted) == 1; done != row.done || len(deleted) > 1 {
					t.Errorf("finished %v, want that of the one in hand to be %t\n%s", deleted, row.done, r.logs)
				}
				if !row.done && (hidden[len(hidden)-1] != 0 || q.visibleIn("held") != 0) {
					t.Errorf("the last change of visibility is %v, want 0", hidden)
				}
				if in := q.visibleIn("more"); in != 0 {
					t.Errorf("a message that came after the notice is hidden for %s", in)
				}
				if n := attempts.of("held"); n != 0 {
					t.Errorf("%d attempts are counted after it was finished or interrupted, want none", n)
				}
				if n := strings.Count(r.logs.String(), "receives no more"); n != 1 {
					t.Errorf("the notice was logged %d times, want once\n%s", n, r.logs)
				}
				if last := c.last(); last.State != protocol.Leaving || last.Cause != protocol.Signalled ||
					last.Failed != 0 {
					t.Errorf("the last report is %+v: an interruption is no failure", last)
				}
			})
		})
	}
}

func TestRunMindsTheOtherNotices(t *testing.T) {
	for _, row := range []struct {
		name  string
		grace time.Duration
		tell  func(s *mustertest.IMDS)
		takes time.Duration
		done  bool
		left  time.Duration // at the latest, from the notice
	}{
		{"a recommendation to rebalance leaves all the time that is needed", time.Minute,
			func(s *mustertest.IMDS) { s.Rebalance(time.Now()) }, time.Hour, true, time.Hour},
		{"a lifecycle hook too", 0, func(s *mustertest.IMDS) { s.Target("Terminated") }, time.Hour, true, time.Hour},
		{"but within the grace", time.Minute, func(s *mustertest.IMDS) { s.Target("Terminated") }, time.Hour, false,
			66 * time.Second},
		{"return to a warm pool is an end like others", 0, func(s *mustertest.IMDS) { s.Target("Warmed:Stopped") },
			time.Minute, true, time.Minute},
		{"the end in a warm pool too", 0, func(s *mustertest.IMDS) { s.Target("Warmed:Terminated") }, time.Minute, true,
			time.Minute},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue("held")
				s := mustertest.NewIMDS(time.Now)
				s.Target("InService")
				r := run(t, worker.Options{Queue: q, Do: takes(row.takes), Notices: onEC2(s), Grace: row.grace})
				after(3 * time.Second)
				row.tell(s)
				after(6 * time.Second)
				q.send("more")
				r.left(row.left)
				if deleted, _ := q.state(); (len(deleted) == 1) != row.done || q.visibleIn("more") != 0 {
					t.Errorf("finished %v\n%s", deleted, r.logs)
				}
			})
		})
	}
}

func TestRunGivesBackInTimeWhenAnInterruptionFollowsARecommendation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue("held")
		s := mustertest.NewIMDS(time.Now)
		r := run(t, worker.Options{Queue: q, Do: takes(time.Hour), Notices: onEC2(s)})
		s.Rebalance(time.Now())
		after(10 * time.Minute)
		if n := q.calls().changes; n == 0 {
			t.Error("the message is not held any more")
		}
		s.Interrupt("terminate", time.Now().Add(2*time.Minute))
		s.Clear(mustertest.RebalanceAdvice)
		r.left(111 * time.Second)
		if in := q.visibleIn("held"); in != 0 {
			t.Errorf("the message is hidden for %s more\n%s", in, r.logs)
		}
	})
}

func TestRunMindsTheEarlierOfTwoEnds(t *testing.T) {
	for _, row := range []struct {
		name   string
		grace  time.Duration
		within time.Duration
	}{
		{"the interruption comes before the grace is over", time.Hour, 111 * time.Second},
		{"the grace is over before the interruption", time.Minute, 66 * time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue("held")
				s := mustertest.NewIMDS(time.Now)
				r := run(t, worker.Options{Queue: q, Do: takes(3 * time.Hour), Notices: onEC2(s), Grace: row.grace})
				after(time.Second)
				s.Interrupt("terminate", time.Now().Add(2*time.Minute))
				after(5 * time.Second)
				r.told()
				r.left(row.within - 5*time.Second)
				if in := q.visibleIn("held"); in != 0 {
					t.Errorf("the message is hidden for %s more\n%s", in, r.logs)
				}
			})
		})
	}
}

func TestRunTakesNothingOnAMachineThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue("m")
		s := mustertest.NewIMDS(time.Now)
		s.Interrupt("terminate", time.Now().Add(time.Minute))
		r := run(t, worker.Options{Queue: q, Do: takes(0), Notices: onEC2(s)})
		r.left(0)
		if n := q.calls().receives; n != 0 {
			t.Errorf("%d receive calls, want none", n)
		}
	})
}

func TestRunWaitsInAWarmPoolAndBeginsInService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue("m")
		s := mustertest.NewIMDS(time.Now)
		s.Target("Warmed:Running")
		c := &fakeController{rule: keepWorking}
		a := mustertest.NewECSAgent(time.Now) // stands for any protection
		_, protection := onECS(a)
		r := run(t, worker.Options{Queue: q, Reporter: c, Do: takes(time.Second), Notices: onEC2(s),
			Protection: protection})
		after(time.Hour)
		if n := q.calls().receives; n != 0 || c.last().State != protocol.Starting || a.Protected() {
			t.Errorf("%d receive calls in the warm pool, it says %s, and is protected: %t", n, c.last().State,
				a.Protected())
		}
		s.Target("InService")
		after(10 * time.Second)
		if !a.Protected() {
			t.Error("not protected in service")
		}
		if deleted, _ := q.state(); len(deleted) != 1 {
			t.Errorf("finished %v in service\n%s", deleted, r.logs)
		}
		r.told()
		r.left(3 * time.Second)
	})
}

func TestRunWorksWhereThereIsNoMetadata(t *testing.T) {
	for _, row := range []struct {
		name string
		set  func(s *mustertest.IMDS)
		says string
	}{
		{"no answer comes from two hops away", func(s *mustertest.IMDS) { s.Hops(2, 1) }, "HttpPutResponseHopLimit"},
		{"it fails", func(s *mustertest.IMDS) { s.Fail(1 << 30) }, "status 500"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue("m")
				s := mustertest.NewIMDS(time.Now)
				row.set(s)
				r := run(t, worker.Options{Queue: q, Do: takes(time.Second), Notices: onEC2(s)})
				after(time.Minute)
				if deleted, _ := q.state(); len(deleted) != 1 {
					t.Errorf("finished %v", deleted)
				}
				if n, _ := s.Requests(); n > 14 {
					t.Errorf("%d requests in a minute: one that shows that there is no answer is enough for each look",
						n)
				}
				if n := strings.Count(r.logs.String(), row.says); n == 0 ||
					strings.Count(r.logs.String(), "level=WARN") != 1 {
					t.Errorf("want one warning that says %q\n%s", row.says, r.logs)
				}
				// It may come back, and an interruption is still noticed.
				s.Hops(1, 1)
				s.Fail(0)
				s.Interrupt("terminate", time.Now().Add(2*time.Minute))
				r.left(25 * time.Second)
			})
		})
	}
}

func TestRunFindsNoticesAfterItsTokenHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mustertest.NewIMDS(time.Now)
		r := run(t, worker.Options{Queue: newFakeQueue(), Do: takes(0), Notices: onEC2(s)})
		after(13 * time.Hour)
		if _, tokens := s.Requests(); tokens != 3 {
			t.Errorf("took %d tokens in 13 hours, want 3", tokens)
		}
		s.Interrupt("terminate", time.Now().Add(2*time.Minute))
		r.left(30 * time.Second)
		if strings.Contains(r.logs.String(), "fails") {
			t.Errorf("a token that ended is no fault\n%s", r.logs)
		}
	})
}

func onECS(a *mustertest.ECSAgent) (placement.ECSNotices, placement.ECSProtection) {
	env := a.Environment("http://169.254.170.2")
	return placement.ECSNotices{MetadataURI: env["ECS_CONTAINER_METADATA_URI_V4"], Client: via(a)},
		placement.ECSProtection{AgentURI: env["ECS_AGENT_URI"], MetadataURI: env["ECS_CONTAINER_METADATA_URI_V4"],
			Client: via(a)}
}

func TestRunNoticesThatItsTaskIsStoppedWithoutASignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue("held")
		a := mustertest.NewECSAgent(time.Now)
		notices, _ := onECS(a)
		r := run(t, worker.Options{Queue: q, Do: takes(time.Hour), Notices: []worker.Notices{notices},
			Grace: 15 * time.Second})
		after(time.Minute)
		a.Stop()
		r.left(21 * time.Second)
		if in := q.visibleIn("held"); in != 0 {
			t.Errorf("the message is hidden for %s more\n%s", in, r.logs)
		}
	})
}
