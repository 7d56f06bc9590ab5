package planning

import (
	"fmt"
	"strings"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// exactWhy says in words why exact adds so many workers.
func exactWhy(o muster.Observation, queued, pending, free float64, add int) string {
	if queued == 0 {
		return rules.NothingWaits(o) + ", and workers that stay idle leave by themselves"
	}
	var there []string
	if free > 0 {
		there = append(there, render.Plural(int(free), "slot")+" free")
	}
	if pending > 0 {
		there = append(there, render.Plural(int(pending), "slot")+" coming")
	}
	switch soon := strings.Join(there, " and "); {
	case add == 0:
		return fmt.Sprintf("%s waiting, %s: enough", render.Number(queued), soon) + rules.Retries(o)
	case soon == "":
		return fmt.Sprintf("%s waiting and no slot free or coming, so %s", render.Number(queued),
			render.Plural(add, "more worker")) + rules.Retries(o)
	default:
		return fmt.Sprintf("%s waiting, only %s, so %s", render.Number(queued), soon,
			render.Plural(add, "more worker")) + rules.Retries(o)
	}
}
