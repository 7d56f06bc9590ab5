package dynamoreport_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"pgregory.net/rapid"

	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/worker/dynamoreport"
	"github.com/muster-scale/muster/worker/protocol"
)

// follows returns a follower of the fleet jobs.
func follows(t *testing.T) (*mustertest.ReportTable, *dynamoreport.Table, *dynamoreport.Follower) {
	t.Helper()
	s, table := serve(t)
	return s, table, dynamoreport.NewReader(table, "eu-west-1").Follow("jobs")
}

func reports(t *testing.T, f *dynamoreport.Follower, now time.Time) []protocol.Report {
	t.Helper()
	found, err := f.Reports(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func after(n int) time.Time { return noon.Add(time.Duration(n) * time.Second) }

func TestAReaderTellsWhatIsNew(t *testing.T) {
	_, table, f := follows(t)
	take(t, table, says("a", 1, after(-3), time.Second), says("b", 1, after(-2), time.Second))
	first := reports(t, f, noon)
	if len(first) != 2 || first[0].Finished != 0 || first[0].Processing.Count != 0 || first[0].Classes != nil {
		t.Fatalf("found %+v, want both workers, without what they had counted before anybody looked", first)
	}
	take(t, table, says("a", 2, after(5), time.Second, 4*time.Second))
	fresh := says("c", 1, after(6), 2*time.Second)
	fresh.Started = after(1)
	take(t, table, fresh)
	next := reports(t, f, after(10))
	if len(next) != 2 || next[0].Worker != "a" || next[0].Finished != 1 || next[0].Processing.SumSeconds != 4 ||
		next[0].Classes["thumbnail"].Count != 1 {
		t.Errorf("found %+v, want what a has done since", next)
	}
	if len(next) == 2 && (next[1].Worker != "c" || next[1].Finished != 1) {
		t.Errorf("found %+v, want all that c has done, which started after the first look", next[1])
	}
	if again := reports(t, f, after(20)); len(again) != 0 {
		t.Errorf("found %+v, which is not new", again)
	}
}

func TestTheInstantOfAReport(t *testing.T) {
	for _, row := range []struct {
		name    string
		written time.Duration // by the worker's clock, after noon
		known   bool          // the worker was there at the read before, at noon
		want    time.Duration // at the read at 12:00:10
	}{
		{"as it was written", 7 * time.Second, true, 7 * time.Second},
		{"by a clock that is late: not before the last look", -50 * time.Minute, true, 0},
		{"by one that is a day ahead: not later than now", 24 * time.Hour, true, 10 * time.Second},
		{"of a new worker", 7 * time.Second, false, 7 * time.Second},
		{"of a new one whose clock is late", -30 * time.Minute, false, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, table, f := follows(t)
			if row.known {
				take(t, table, says("a", 1, noon))
			}
			reports(t, f, noon)
			d := says("a", 2, noon.Add(row.written))
			take(t, table, d)
			found := reports(t, f, after(10))
			if len(found) != 1 || !found[0].At.Equal(noon.Add(row.want)) {
				t.Errorf("found %+v, want one of %s", found, noon.Add(row.want))
			}
		})
	}
	t.Run("an old entry at the first look is old", func(t *testing.T) {
		_, table, f := follows(t)
		take(t, table, says("a", 1, noon.Add(-50*time.Minute)))
		if found := reports(t, f, noon); len(found) != 1 || !found[0].At.Equal(noon.Add(-50*time.Minute)) {
			t.Errorf("found %+v, want one of 50 minutes ago", found)
		}
	})
}

func TestReadsAreBoundedInTime(t *testing.T) {
	s, table, f := follows(t)
	take(t, table, says("a", 1, noon))
	for i := range 60 {
		reports(t, f, after(i))
	}
	if n := s.Calls("Query"); n < 6 || n > 7 {
		t.Errorf("asked every second, it read %d times in a minute, want one read in ten seconds", n)
	}
	s.Refuse("AccessDeniedException")
	before, failed := s.Calls("Query"), 0
	for i := range 1800 {
		if _, err := f.Reports(t.Context(), after(70+i)); err != nil {
			failed++
		}
	}
	if n := s.Calls("Query") - before; n < 6 || n > 12 || failed != 1800 {
		t.Errorf("half an hour of failures saw %d reads, and %d times why; want ever fewer, and always why", n, failed)
	}
}

func TestWhyNothingCanBeRead(t *testing.T) {
	for code, says := range map[string]string{
		"ResourceNotFoundException": "there is none in the region eu-west-1",
		"AccessDeniedException":     "allow dynamodb:Query",
	} {
		s, _, f := follows(t)
		s.Refuse(code)
		found, err := f.Reports(t.Context(), noon)
		if len(found) > 0 || awsapi.KindOf(err) == "" || !strings.Contains(err.Error(), says) {
			t.Errorf("found %v and %v, want an error that says %q", found, err, says)
		}
		s.Refuse("")
		if n := len(reports(t, f, noon.Add(time.Minute))); n != 0 {
			t.Errorf("found %d reports", n)
		}
	}
}

func TestOfManyWrongEntriesSomeAreTold(t *testing.T) {
	s, table, f := follows(t)
	for i := range 9 {
		take(t, table, says(fmt.Sprint("w", i), 1, noon))
	}
	s.Do(func(entries map[string]mustertest.Attributes) {
		for _, e := range entries {
			e["report"]["S"] = "{"
		}
	})
	_, err := f.Reports(t.Context(), noon)
	if err == nil || !strings.Contains(err.Error(), `"w4"`) || strings.Contains(err.Error(), `"w5"`) ||
		!strings.Contains(err.Error(), "and 4 more") {
		t.Errorf("found %v, want the first five and how many more there are", err)
	}
}

// pagesWithoutEnd is a table whose pages never end.
type pagesWithoutEnd struct {
	dynamoreport.API
	calls int
}

func (p *pagesWithoutEnd) Query(_ context.Context, in *dynamodb.QueryInput,
	_ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	p.calls++
	return &dynamodb.QueryOutput{LastEvaluatedKey: in.ExpressionAttributeValues}, nil
}

func TestPagesAreBounded(t *testing.T) {
	p := &pagesWithoutEnd{}
	table, err := dynamoreport.New(p, "reports")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Read(t.Context(), "jobs", noon); err == nil || p.calls != dynamoreport.MaxPages {
		t.Errorf("found %v after %d pages, want an error after %d", err, p.calls, dynamoreport.MaxPages)
	}
	// Fleets of one table share what may be read of it: forty reads at once need more than there is.
	reader, soon := dynamoreport.NewReader(table, "eu-west-1"), 0
	ctx, stop := context.WithDeadline(t.Context(), time.Now().Add(time.Millisecond))
	defer stop()
	before := p.calls
	for i := range 40 {
		if _, err := reader.Follow(fmt.Sprint("fleet", i)).Reports(ctx, noon); err != nil {
			soon++
		}
	}
	if n := p.calls - before; soon != 40 || n > 25 {
		t.Errorf("%d of 40 reads gave up after %d pages at once, want at most 20 and a few", soon, n)
	}
}

// What is told adds up to what workers have done since they were first seen, whatever is missed.
func TestCountsAddUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		_, table, f := follows(t)
		var all []time.Duration
		told, seen := int64(0), false
		before := 0
		for i := range rapid.IntRange(1, 12).Draw(rt, "steps") {
			if rapid.Bool().Draw(rt, "writes") || i == 0 {
				for range rapid.IntRange(0, 3).Draw(rt, "messages") {
					all = append(all, time.Second)
				}
				take(t, table, says("a", int64(i+1), after(10*i), all...))
			}
			if rapid.Bool().Draw(rt, "reads") {
				for _, r := range reports(t, f, after(10*i)) {
					told += r.Finished
				}
				if !seen {
					seen, before = true, len(all)
				}
			}
		}
		for _, r := range reports(t, f, noon.Add(time.Hour)) {
			told += r.Finished
		}
		if !seen {
			before = len(all)
		}
		if told != int64(len(all)-before) {
			rt.Fatalf("told of %d messages, and %d ended since the first look", told, len(all)-before)
		}
	})
}
