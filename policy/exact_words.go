package policy

import (
	"fmt"
	"strings"

	"github.com/muster-scale/muster"
)

// exactWhy says in words why exact adds so many workers.
func exactWhy(o muster.Observation, queued, pending, free float64, add int) string {
	if queued == 0 {
		return nothingWaits(o) + ", and workers that stay idle leave by themselves"
	}
	var there []string
	if free > 0 {
		there = append(there, muster.Plural(int(free), "slot")+" free")
	}
	if pending > 0 {
		there = append(there, muster.Plural(int(pending), "slot")+" coming")
	}
	switch soon := strings.Join(there, " and "); {
	case add == 0:
		return fmt.Sprintf("%s waiting, %s: enough", muster.Number(queued), soon) + retries(o)
	case soon == "":
		return fmt.Sprintf("%s waiting and no slot free or coming, so %s", muster.Number(queued), muster.Plural(add, "more worker")) + retries(o)
	default:
		return fmt.Sprintf("%s waiting, only %s, so %s", muster.Number(queued), soon, muster.Plural(add, "more worker")) + retries(o)
	}
}
