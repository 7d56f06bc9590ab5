package risk_test

import (
	"math"
	"slices"
	"testing"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/risk"
	"pgregory.net/rapid"
)

// work takes 10 s, one in twenty messages 50 s and one in a hundred 100 s.
var work = muster.Estimate{Known: true, Count: 1000, MeanSeconds: 12, P50Seconds: 10, P95Seconds: 50, P99Seconds: 100}

// after tells what has begun if one message begins each so many seconds.
func after(each float64) func(messages, within float64) bool {
	return func(messages, within float64) bool { return messages*each <= within }
}

func TestAMessageIsLateWhereItsWorkIsLongerThanTheTimeThatIsLeft(t *testing.T) {
	for _, row := range []struct {
		name        string
		waiting     []muster.Waiting
		oldest      float64
		each        float64
		late, worst float64
	}{
		{"nothing waits", nil, 60, 10, 0, 0},
		{"101 s are left, and what was measured says nothing of the few messages that take longer",
			[]muster.Waiting{{AgeSeconds: 0, Messages: 5}}, 151, 10, 0, 0},
		{"50 s are left for the last of five, and one in twenty takes longer",
			[]muster.Waiting{{AgeSeconds: 0, Messages: 5}}, 100, 10, 0.25, 0.05},
		{"the older ones have waited for 40 s, and 50 s are left; the younger ones begin behind them",
			[]muster.Waiting{{AgeSeconds: 40, Messages: 1}, {AgeSeconds: 0, Messages: 4}}, 100, 10, 0.05 + 0.2, 0.05},
		{"messages of one age are one group, in however many parts they are counted",
			[]muster.Waiting{{AgeSeconds: 0, Messages: 2}, {AgeSeconds: 0, Messages: 3}}, 100, 10, 0.25, 0.05},
		{"half of all messages take longer than what is left",
			[]muster.Waiting{{AgeSeconds: 0, Messages: 2}}, 30, 9.999, 1, 0.5},
		{"they have not begun when it is over", []muster.Waiting{{AgeSeconds: 0, Messages: 3}}, 20, 10, 3, 1},
		{"it is over", []muster.Waiting{{AgeSeconds: 60, Messages: 3}}, 60, 0, 3, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			late, worst := risk.Late(row.waiting, row.oldest, work, after(row.each))
			if math.Abs(late-row.late) > 2e-3 || math.Abs(worst-row.worst) > 1e-3 {
				t.Errorf("%v late, and the worst chance is %v; want %v and %v", late, worst, row.late, row.worst)
			}
		})
	}
}

// More messages, older ones and slower workers never make fewer of them late. All messages of one age grow older
// together: to tell some of them apart says more of when those begin, and can make fewer of them late.
func TestNothingThatDelaysMessagesMakesFewerLate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var waiting []muster.Waiting
		age := rapid.Float64Range(0, 200).Draw(t, "age")
		for range rapid.IntRange(1, 8).Draw(t, "groups") {
			waiting = append(waiting, muster.Waiting{AgeSeconds: age,
				Messages: float64(rapid.IntRange(1, 50).Draw(t, "messages"))})
			age = math.Max(0, age-rapid.Float64Range(0, 40).Draw(t, "younger"))
		}
		oldest, each := rapid.Float64Range(1, 300).Draw(t, "oldest"), rapid.Float64Range(0, 20).Draw(t, "each")
		late, worst := risk.Late(waiting, oldest, work, after(each))
		worse := append([]muster.Waiting(nil), waiting...)
		slower := each
		switch i := rapid.IntRange(0, len(waiting)-1).Draw(t, "of"); rapid.IntRange(0, 2).Draw(t, "what") {
		case 0:
			worse[i].Messages++
		case 1:
			for i := range worse {
				if waiting[i].AgeSeconds == waiting[0].AgeSeconds {
					worse[i].AgeSeconds += 10
				}
			}
		case 2:
			slower *= 1.5
		}
		more, worstThen := risk.Late(worse, oldest, work, after(slower))
		// When is exact to a ten-thousandth of the time that is left.
		if more < late*(1-1e-2)-1e-9 || worstThen < worst*(1-1e-2) {
			t.Errorf("%v late and a worst chance of %v became %v and %v", late, worst, more, worstThen)
		}
	})
}

func TestWhenIsTheFirstMomentAtWhichSoManyHaveBegun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		each, most := rapid.Float64Range(0, 20).Draw(t, "each"), rapid.Float64Range(1, 1e5).Draw(t, "most")
		messages := rapid.Float64Range(0, most/math.Max(each, 1e-9)).Draw(t, "messages")
		exact := most / 1000
		at := risk.When(messages, most, exact, after(each))
		if want := messages * each; at > most || at < want*(1-1e-12) || at > want+exact*(1+1e-9) {
			t.Errorf("%v messages begin within %v s, found %v", messages, want, at)
		}
	})
}

func TestTheOldestMessagesAreLeftOut(t *testing.T) {
	waiting := []muster.Waiting{{AgeSeconds: 9, Messages: 4}, {AgeSeconds: 5, Messages: 2}}
	before := slices.Clone(waiting)
	for _, row := range []struct {
		name   string
		oldest float64
		want   []muster.Waiting
	}{
		{"none", 0, waiting},
		{"a part of the first group", 1.5, []muster.Waiting{{AgeSeconds: 9, Messages: 2.5}, waiting[1]}},
		{"the whole first group", 4, waiting[1:]},
		{"a part of the second", 5, []muster.Waiting{{AgeSeconds: 5, Messages: 1}}},
		{"all of them", 6, nil},
		{"more than there are", 10, nil},
	} {
		if found := risk.Without(row.oldest, waiting); !slices.Equal(found, row.want) {
			t.Errorf("%s: found %v, want %v", row.name, found, row.want)
		}
	}
	if !slices.Equal(waiting, before) {
		t.Errorf("%v became %v", before, waiting)
	}
}
