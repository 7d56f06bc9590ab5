package roster_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/worker/protocol"
)

func names(r roster.Roster) (all []string) {
	for _, m := range r.Members() {
		all = append(all, m.ID)
	}
	slices.Sort(all)
	return all
}

func TestAServiceNamesTheMembersThatWereOrdered(t *testing.T) {
	rows := []struct {
		name  string
		to    func(r *roster.Roster)
		named []roster.Naming
		want  []string
	}{
		{"the oldest order comes first", func(r *roster.Roster) {}, []roster.Naming{{Ordered: "o.1", Member: "i-1"}},
			[]string{"i-1", "o.2"}},
		{"a member that is known keeps its name", func(r *roster.Roster) { r.Listed(list(1, "o.1", "o.2", "i-1")) },
			nil, []string{"i-1", "o.1", "o.2"}},
		{"one that has ended does not come back",
			func(r *roster.Roster) { r.Listed(list(1, "i-1")); r.Listed(list(2)) }, nil, []string{"o.1", "o.2"}},
		{"an order whose launch failed exists after all",
			func(r *roster.Roster) { r.NotLaunched(at(1), []string{"o.1", "o.2"}, "no capacity") },
			[]roster.Naming{{Ordered: "o.1", Member: "i-1"}}, []string{"i-1"}},
		{"an order given up is not filled any more", func(r *roster.Roster) { r.Tidy(at(1000), rules) }, nil,
			[]string{"i-1"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var r roster.Roster
			r.Launched(at(0), []string{"o.1", "o.2"})
			row.to(&r)
			l := list(1001, "i-1")
			named := r.Name(l)
			if !slices.Equal(named, row.named) {
				t.Errorf("named %v, want %v", named, row.named)
			}
			if row.name == "a member that is known keeps its name" {
				return // what the listing lacks ends, which is not what this row is about
			}
			r.Listed(l)
			if got := names(r); !slices.Equal(got, row.want) {
				t.Errorf("the members are %v, want %v", got, row.want)
			}
		})
	}
}

func TestANamedMemberKeepsTheInstantOfItsOrder(t *testing.T) {
	var r roster.Roster
	r.Launched(at(0), []string{"o.1"})
	if n, ok := r.NameOne("i-1"); !ok || n.Ordered != "o.1" {
		t.Fatalf("NameOne = %v, %v", n, ok)
	}
	_, news := r.Reported(protocol.Report{Member: "i-1", Worker: "i-1", Seq: 1, Slots: 1, State: protocol.Receiving,
		At: at(70)})
	if !news.Joined || news.Boot != 70*time.Second {
		t.Errorf("it joined as %+v, want a boot of 70 s since the order", news)
	}
	if _, again := r.NameOne("i-1"); again {
		t.Error("a member was named twice")
	}
}

func TestARestartRemembersNames(t *testing.T) {
	var r roster.Roster
	r.RecallLaunch(at(0), []string{"o.1", "o.2"})
	r.Rename("o.1", "i-1")
	r.Listed(list(10, "i-1"))
	if got := names(r); !slices.Equal(got, []string{"i-1"}) || !r.Members()[0].LaunchedAt.Equal(at(0)) {
		t.Errorf("the members are %v, want i-1 as of its order: what was ordered and is not listed has ended", got)
	}
}

func TestNamingNeverMakesOrLosesAMember(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r roster.Roster
		ordered := rapid.IntRange(0, 30).Draw(t, "ordered")
		var ids []string
		for i := range ordered {
			ids = append(ids, fmt.Sprintf("o.%d", i))
		}
		r.Launched(at(0), ids)
		var listed []string
		for range rapid.IntRange(0, 4).Draw(t, "listings") {
			for range rapid.IntRange(0, 12).Draw(t, "more") {
				listed = append(listed, fmt.Sprintf("i-%d", len(listed)))
			}
			l := list(float64(len(listed)+1), listed...)
			r.Name(l)
			r.Listed(l)
			c := r.Capacity(at(1), rules, 1)
			if c.Live() != max(ordered, len(listed)) || c.Booting != len(listed) {
				t.Fatalf("%d ordered and %d listed make %d members, %d of them seen", ordered, len(listed), c.Live(),
					c.Booting)
			}
			for _, id := range listed {
				if !slices.Contains(names(r), id) {
					t.Fatalf("%s was listed and is not known", id)
				}
			}
		}
	})
}

func TestMembersThatNothingProtectsAreExposedUntilTheyAreReleased(t *testing.T) {
	var r roster.Roster
	l := list(1, "a", "b")
	l.Members[1].Exposed = true
	r.Listed(l)
	if got := r.Exposed(); !slices.Equal(got, []string{"b"}) {
		t.Errorf("exposed are %v, want b", got)
	}
	r.Release("b", at(2))
	if got := r.Exposed(); len(got) != 0 {
		t.Errorf("exposed are %v although b may be ended", got)
	}
}
