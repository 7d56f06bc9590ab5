package server

import (
	"bufio"
	"compress/gzip"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// expositionType is the media type of Prometheus' text format, as its documentation gives it.
const expositionType = "text/plain; version=0.0.4; charset=utf-8"

// family is a metric: its name, what it says, its type, and the names of the labels by which its series differ.
type family struct {
	name, help, kind string
	labels           []string
}

func gaugeOf(name, help string, labels ...string) family { return family{name, help, "gauge", labels} }

func counterOf(name, help string, labels ...string) family {
	return family{name, help, "counter", labels}
}

// exposition holds the values of metrics, and writes them in the text format of Prometheus:
// https://prometheus.io/docs/instrumenting/exposition_formats/.
type exposition struct {
	families map[string]family
	// series are the values of each family by its labels, as they are written.
	series map[string]map[string]float64
}

func newExposition() *exposition {
	return &exposition{families: map[string]family{}, series: map[string]map[string]float64{}}
}

// set makes v the value of the series of f that has the given values of its labels.
func (e *exposition) set(f family, v float64, values ...string) { e.of(f)[f.written(values)] = v }

// add counts v more.
func (e *exposition) add(f family, v float64, values ...string) { e.of(f)[f.written(values)] += v }

func (e *exposition) of(f family) map[string]float64 {
	if e.series[f.name] == nil {
		e.families[f.name], e.series[f.name] = f, map[string]float64{}
	}
	return e.series[f.name]
}

// merge takes over what another exposition holds.
func (e *exposition) merge(other *exposition) {
	for name, series := range other.series {
		maps.Copy(e.of(other.families[name]), series)
	}
}

// written returns the labels with the given values as the format wants them, in the order of their names.
func (f family) written(values []string) string {
	pairs := make([]string, 0, len(f.labels))
	for i, name := range f.labels {
		if i < len(values) {
			pairs = append(pairs, name+`="`+escaped(values[i], `"`, `\"`)+`"`)
		}
	}
	if len(pairs) == 0 {
		return ""
	}
	slices.Sort(pairs)
	return "{" + strings.Join(pairs, ",") + "}"
}

// escaped writes a text on one line, as UTF-8. The format escapes backslashes and line feeds, and more in places.
func escaped(text string, more ...string) string {
	return strings.NewReplacer(append([]string{`\`, `\\`, "\n", `\n`}, more...)...).Replace(strings.ToValidUTF8(text, "\uFFFD"))
}

// write writes all families in the order of their names, and their series in the order of their labels.
func (e *exposition) write(to io.Writer) error {
	w := bufio.NewWriter(to)
	for _, name := range slices.Sorted(maps.Keys(e.families)) {
		f := e.families[name]
		w.WriteString("# HELP " + name + " " + escaped(f.help) + "\n# TYPE " + name + " " + f.kind + "\n")
		for _, labels := range slices.Sorted(maps.Keys(e.series[name])) {
			w.WriteString(name + labels + " " + strconv.FormatFloat(e.series[name][labels], 'g', -1, 64) + "\n")
		}
	}
	return w.Flush() // with the first error of them all
}

// serve answers a request with the exposition, compressed for those that say they can read that.
func (e *exposition) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", expositionType)
	w.Header().Set("Vary", "Accept-Encoding")
	if !acceptsGzip(r.Header) {
		e.write(w)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	if e.write(z) == nil { // else the other end has gone
		z.Close()
	}
}

// acceptsGzip tells whether a header names gzip, or anything, as an encoding that is not refused with a quality of 0.
func acceptsGzip(h http.Header) bool {
	for _, one := range strings.Split(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		name, parameter, _ := strings.Cut(one, ";")
		if name = strings.TrimSpace(name); !strings.EqualFold(name, "gzip") && name != "*" {
			continue
		}
		_, quality, given := strings.Cut(parameter, "=")
		q, err := strconv.ParseFloat(strings.TrimSpace(quality), 64)
		return !given || err == nil && q > 0
	}
	return false
}
