package cloud

import (
	"fmt"

	"github.com/muster-scale/muster/metricmath"
)

// JudgeRow is the state that an alarm with a threshold of 5 finds from a row of points: "0" is below, "X" above, "-"
// missing.
func JudgeRow(in MetricAlarm, row, before string) (string, error) {
	a := alarm{MetricAlarm: in}
	a.StateValue = before
	var points []metricmath.Point
	for _, c := range row {
		switch c {
		case '0':
			points = append(points, metricmath.Known(0))
		case 'X':
			points = append(points, metricmath.Known(9))
		case '-':
			points = append(points, metricmath.Point{})
		default:
			return "", fmt.Errorf("a row has 0, X and -, not %q", c)
		}
	}
	return a.judge(points), nil
}
