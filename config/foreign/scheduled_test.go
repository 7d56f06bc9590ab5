package foreign_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// At any time of a week the schedule, or else the minimum, is what the last action before has set.
func TestAScheduleHasTheSizeOfTheLastAction(t *testing.T) {
	days := []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}
	rapid.Check(t, func(t *rapid.T) {
		type set struct{ minute, size int }
		var all []set
		text := "Resources:\n  G: {Type: 'AWS::AutoScaling::AutoScalingGroup', Properties: {MinSize: 2, MaxSize: 50}}\n"
		n := rapid.IntRange(1, 4).Draw(t, "actions")
		for k := range n {
			// Each action has a minute of the hour of its own, so that no two are at one time.
			hour, size := rapid.IntRange(0, 23).Draw(t, "hour"), rapid.IntRange(0, 9).Draw(t, "size")
			on := rapid.SliceOfNDistinct(rapid.IntRange(0, 6), 1, 7, func(d int) int { return d }).Draw(t, "days")
			var names []string
			for _, d := range on {
				names = append(names, days[d])
				all = append(all, set{(d*24+hour)*60 + k, size})
			}
			text += fmt.Sprintf(
				"  A%d: {Type: 'AWS::AutoScaling::ScheduledAction', Properties: {AutoScalingGroupName: !Ref G, "+
					"DesiredCapacity: %d, Recurrence: '%d %d * * %s'}}\n",
				k, size, k, hour, strings.Join(names, ","),
			)
		}
		r, err := readText("t.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		f := r.Fleets[0]
		slices.SortFunc(all, func(a, b set) int { return a.minute - b.minute })
		sunday := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		for minute := 0; minute < 7*24*60; minute += rapid.IntRange(1, 200).Draw(t, "later") {
			want := all[len(all)-1].size // of the week before
			for _, x := range all {
				if x.minute <= minute {
					want = x.size
				}
			}
			got := f.Min
			for _, s := range f.Policies {
				for _, i := range s.Intervals {
					if i.Contains(sunday.Add(time.Duration(minute) * time.Minute)) {
						got = max(got, i.Workers)
					}
				}
			}
			if got != want {
				t.Fatalf("%d minutes into the week there are %d, want %d: %+v of\n%s", minute, got, want, f, text)
			}
		}
	})
}

func TestWhenAScheduledActionIs(t *testing.T) {
	for _, row := range []struct{ name, action, want string }{
		{"on Saturday, which is 7 there", "{Schedule: 'cron(0 6 ? * 7 *)', ScalableTargetAction: {MinCapacity: 4}}",
			""},
		{"every Saturday and Sunday, from the one to Monday", "{Schedule: 'cron(0 6 ? * SAT-SUN *)', " +
			"ScalableTargetAction: {MinCapacity: 4}}", ""},
		{"at a rate", "{Schedule: 'rate(5 minutes)', ScalableTargetAction: {MinCapacity: 4}}",
			`found "rate(5 minutes)", which is not one time of each week`},
		{"once", "{Schedule: 'at(2026-01-01T00:00:00)', ScalableTargetAction: {MinCapacity: 4}}",
			"which is not one time of each week"},
		{"in one year", "{Schedule: 'cron(0 6 ? * 7 2026)', ScalableTargetAction: {MinCapacity: 4}}",
			"which is not one time of each week"},
		{"on the first of a month", "{Schedule: 'cron(0 6 1 * ? *)', ScalableTargetAction: {MinCapacity: 4}}",
			"which is not one time of each day"},
		{"without a size", "{Schedule: 'cron(0 6 ? * 7 *)'}", "it sets no size"},
		{"with an unknown size", "{Schedule: 'cron(0 6 ? * 7 *)', ScalableTargetAction: {MinCapacity: " +
			"!Ref N}}", "its MinCapacity cannot be determined"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r, err := readText("t.yaml", []byte(`Resources:
  Target:
    Type: AWS::ApplicationAutoScaling::ScalableTarget
    Properties: {ServiceNamespace: ecs, ScalableDimension: "ecs:service:DesiredCount", ResourceId: service/c/s, MinCapacity: 0, MaxCapacity: 9, ScheduledActions: [`+row.action+`]}
`))
			if err != nil {
				t.Fatal(err)
			}
			notes := fmt.Sprint(r.Notes)
			if (row.want == "") != (len(r.Notes) == 0) || !strings.Contains(notes, row.want) {
				t.Errorf("noted %s, want %q", notes, row.want)
			}
			if want := map[bool]int{true: 4, false: 0}[row.want == ""]; r.Fleets[0].Min != want {
				t.Errorf("at least %d are kept, want %d", r.Fleets[0].Min, want)
			}
			valid(t, r)
		})
	}
}
