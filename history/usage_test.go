package history_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/muster-scale/muster"
)

// Advice reads what messages came to and what work used over days, so folding keeps their sums.
func TestFoldingKeepsSharesInTimeAndUsage(t *testing.T) {
	both(t, func(t *testing.T, h store) {
		hour := noon.Add(-26 * time.Hour)
		body := func(ended, cpu int) string {
			return fmt.Sprintf(`{"ended":%d,"in_time":1,"usage":{"calls":1,"wall_s":9,"cpu_s":%d,"cores":2}}`, ended, cpu)
		}
		fill(t, h, "a", record(hour, muster.Learned, body(3, 4)),
			record(hour.Add(time.Minute), muster.Learned, body(5, 6)),
			record(hour.Add(2*time.Minute), muster.Learned, `{"usage":{"calls":1,"wall_s":9,"cpu_s":-6}}`),
			record(noon, muster.Learned, body(1, 1)))
		prune(t, h, noon, 0)
		after := read(t, h, "a")
		if len(after) != 3 {
			t.Fatalf("left are %d records, want the sum, the damaged one and the newest", len(after))
		}
		var got struct {
			Ended  float64 `json:"ended"`
			InTime float64 `json:"in_time"`
			Usage  struct {
				Calls int     `json:"calls"`
				CPU   float64 `json:"cpu_s"`
				Cores float64 `json:"cores"`
			} `json:"usage"`
		}
		if err := json.Unmarshal(after[0].Body, &got); err != nil {
			t.Fatal(err)
		}
		if got.Ended != 8 || got.InTime != 2 || got.Usage.Calls != 2 || got.Usage.CPU != 10 || got.Usage.Cores != 2 {
			t.Errorf("found %+v", got)
		}
	})
}
