package report

import (
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// rules reads the colours of a style: by class and property, in the light scheme and in the dark one.
func rules(t *testing.T) (light, dark map[string]string) {
	light, dark = map[string]string{}, map[string]string{}
	lightText, darkText, found := strings.Cut(chartStyle, "@media screen and (prefers-color-scheme: dark)")
	if !found {
		t.Fatal("the style has no dark scheme")
	}
	for text, into := range map[string]map[string]string{lightText: light, darkText: dark} {
		for _, rule := range regexp.MustCompile(`([^{}]+){([^{}]*)}`).FindAllStringSubmatch(text, -1) {
			for _, selector := range strings.Split(rule[1], ",") {
				for _, d := range regexp.MustCompile(`(fill|stroke): (#[0-9a-f]{6})`).FindAllStringSubmatch(rule[2],
					-1) {
					into[strings.TrimPrefix(strings.TrimSpace(selector), ".chart ")+" "+d[1]] = d[2]
				}
			}
		}
	}
	return light, dark
}

// contrast is the ratio of the brightness of two colours as WCAG 2 defines it, from 1 to 21.
func contrast(t *testing.T, a, b string) float64 {
	brightness := func(colour string) (sum float64) {
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			n, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			v := float64(n) / 255
			if v <= 0.04045 {
				v /= 12.92
			} else {
				v = math.Pow((v+0.055)/1.055, 2.4)
			}
			sum += weight * v
		}
		return sum
	}
	x, y := brightness(a), brightness(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func TestWhatIsDrawnCanBeSeenInBothSchemes(t *testing.T) {
	light, dark := rules(t)
	for scheme, of := range map[string]map[string]string{"light": light, "dark": dark} {
		for _, c := range []struct {
			what, on string
			least    float64 // WCAG 2: 4.5 for text, 3 for what must be seen
		}{
			{"text fill", ".paper fill", 4.5}, {".name fill", ".paper fill", 4.5},
			{".name .unit fill", ".paper fill", 4.5},
			{".run fill", ".paper fill", 4.5}, {".goal fill", ".paper fill", 4.5},
			{".arrivals stroke", ".paper fill", 3}, {".backlog stroke", ".paper fill", 3},
			{".age stroke", ".paper fill", 3},
			{".late stroke", ".paper fill", 3}, {".busy fill", ".paper fill", 3}, {".desired stroke", ".paper fill", 3},
			{".objective stroke", ".paper fill", 3}, {".bound stroke", ".paper fill", 3},
			{".up stroke", ".paper fill", 3},
			{".fall stroke", ".paper fill", 3}, {".best fill", ".paper fill", 3}, {".beaten stroke", ".paper fill", 3},
			{".busy fill", ".service fill", 3}, {".axis stroke", ".paper fill", 3},
		} {
			if of[c.what] == "" || of[c.on] == "" {
				t.Errorf("%s: no colour of %s or %s", scheme, c.what, c.on)
			} else if got := contrast(t, of[c.what], of[c.on]); got < c.least {
				t.Errorf("%s: %s %s on %s %s has a contrast of %.2f, at least %v is needed", scheme, c.what, of[c.what],
					c.on, of[c.on], got, c.least)
			}
		}
	}
	for what := range dark {
		if light[what] == "" {
			t.Errorf("%s has a colour in the dark scheme alone", what)
		}
	}
}

func TestEveryClassInAPictureHasAStyle(t *testing.T) {
	style := chartStyle + pageStyle
	for _, draw := range []func(w io.Writer) error{
		func(w io.Writer) error { return HTML(w, "t", several()) },
		func(w io.Writer) error { return SVG(w, burst()) },
		func(w io.Writer) error { return Attainment(w, several()) },
	} {
		all, _ := parsed(t, written(t, draw))
		for _, e := range all {
			for _, class := range strings.Fields(e.attributes["class"]) {
				if !regexp.MustCompile(`\.` + class + `\b`).MatchString(style) {
					t.Errorf("a %s has the class %s, which the style does not know", e.name, class)
				}
			}
		}
	}
}
