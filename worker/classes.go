package worker

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/series"
)

const (
	// maxClassBytes bounds the name of a class.
	maxClassBytes = 64
	// OtherClass is [muster.OtherClass].
	OtherClass = muster.OtherClass
)

// classOf returns the class of m: the text of the named attribute. It is empty when m has none, or when no name is given.
func classOf(m Message, attribute string) string {
	class := m.Attributes[attribute].Text
	switch {
	case attribute == "" || class == "":
		return ""
	case len(class) > maxClassBytes, !utf8.ValidString(class), strings.ContainsFunc(class, func(r rune) bool { return !unicode.IsGraphic(r) }):
		return OtherClass
	}
	return class
}

// plusClasses returns the histograms of both, of at most muster.MaxClasses classes and the other one. Neither is changed.
func plusClasses(a, b map[string]muster.Durations) map[string]muster.Durations {
	if len(b) == 0 {
		return a
	}
	sum := make(map[string]muster.Durations, len(a)+len(b))
	maps.Copy(sum, a)
	for _, class := range slices.Sorted(maps.Keys(b)) {
		name := class
		if _, known := sum[class]; !known && len(sum) >= muster.MaxClasses {
			name = OtherClass
		}
		sum[name] = series.Merge(sum[name], b[class])
	}
	return sum
}

// ofClass returns one duration as the histogram of its class.
func ofClass(class string, d time.Duration) map[string]muster.Durations {
	if class == "" {
		return nil
	}
	return map[string]muster.Durations{class: series.Add(muster.Durations{}, d)}
}
