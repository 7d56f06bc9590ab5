package advise

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/advice"
	"github.com/muster-scale/muster/app/simulation"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/awsmetrics"
	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/sim/trace/recorded"
)

// Request says what to advise on.
type Request struct {
	// Config is the configuration, File the name of its file for messages, and Text its content; an empty Text gives no
	// lines.
	Config *config.Config
	File   string
	Text   []byte
	// Fleet is the name of the fleet; empty for the only one.
	Fleet string
	// From and To bound the window.
	From, To time.Time
	// Metrics reads the CPUUtilization of the members; nil reads none. See [MetricsOf].
	Metrics *awsmetrics.Reader
	// Progress displays how many runs are done; nil for nowhere.
	Progress io.Writer
}

// Found is the result, as muster advise -o json prints it.
type Found struct {
	Fleet string    `json:"fleet"`
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	// Figures are what was measured.
	Figures Figures `json:"figures"`
	// Advice are the changes worth making, in the order of the rules. Declined are those that the simulation speaks
	// against.
	Advice   []Advised `json:"advice"`
	Declined []Advised `json:"declined"`
	// Together is the effect of all simulated changes at once; nil with fewer than two.
	Together *Change `json:"together,omitzero"`
	// Unjudged are the rules that could not be applied, Fits the names of those whose values fit.
	Unjudged []advice.Unjudged `json:"unjudged"`
	Fits     []string          `json:"fits"`
	// Replayed says what the simulation replayed, and what it lacks; empty when nothing was.
	Replayed []string `json:"replayed"`
}

// Figures are the measured figures in the output. Unknown ones are missing.
type Figures struct {
	// Covered is the share of the window in which decisions were recorded, from 0 to 1.
	Covered  float64 `json:"covered_ratio"`
	Messages int64   `json:"messages"`
	// ProcessingMean, ProcessingP95 and BootMean are in seconds.
	ProcessingMean float64 `json:"processing_mean_s,omitzero"`
	ProcessingP95  float64 `json:"processing_p95_s,omitzero"`
	BootMean       float64 `json:"boot_mean_s,omitzero"`
	// InTime is the share of messages in time, over those whose sending time is known.
	InTime      *float64 `json:"in_time_ratio,omitzero"`
	Utilization *float64 `json:"worker_utilization,omitzero"`
	// CoresPerCall is the processor time of a call over its duration. Cores and MemoryBytes are those of a member,
	// PeakBytes is the largest memory of a process of the work.
	CoresPerCall *float64 `json:"cores_per_call,omitzero"`
	Cores        float64  `json:"cores,omitzero"`
	PeakBytes    int64    `json:"peak_bytes,omitzero"`
	MemoryBytes  int64    `json:"memory_bytes,omitzero"`
	PeakSize     int      `json:"peak_workers"`
	// CPU is the mean CPUUtilization of the members in CloudWatch, as a share.
	CPU *float64 `json:"cpu_utilization,omitzero"`
}

// Advised is an advice with its place in the file and its simulated effect.
type Advised struct {
	advice.Advice
	// Path is the path of the key from the root of the file. Line is the line of the value, or of the nearest value
	// around it if the file does not state it; Stated then is false. All are empty for what the file does not state.
	Path   string `json:"path,omitzero"`
	File   string `json:"file,omitzero"`
	Line   int    `json:"line,omitzero"`
	Stated bool   `json:"stated,omitzero"`
	// Effect is nil if the change was not simulated; NotSimulated then says why.
	Effect       *Change `json:"effect,omitzero"`
	NotSimulated string  `json:"not_simulated,omitzero"`
}

// Change is what the recorded work comes to before and after a change, in the simulator.
type Change struct {
	Before advice.Effect `json:"before"`
	After  advice.Effect `json:"after"`
}

// reader is the part of a history that Make needs.
type reader interface {
	Read(ctx context.Context, fleet string, since time.Time, yield func(muster.Record) bool) error
}

// Make advises on one fleet. Errors about the request are marked as misuse.
func Make(ctx context.Context, h reader, r Request) (Found, error) {
	at, err := simulation.FleetOf(r.Config, r.Fleet)
	if err != nil {
		return Found{}, err
	}
	f := r.Config.Fleets[at]
	figures := advice.NewCollector(r.From, r.To, max(1, f.Workers.Batch))
	work, err := recorded.New(f.Name, r.From, r.To)
	if err != nil {
		return Found{}, misuse.Wrap(err)
	}
	err = h.Read(ctx, f.Name, r.From, func(x muster.Record) bool { return figures.Add(x) && work.Add(x) })
	if err != nil {
		return Found{}, err
	}
	m, w := figures.Measured(), work.Window()
	readCPU(ctx, r.Metrics, f, r.To.Sub(r.From), &m)
	report := advice.Of(stated(r.Config, f), m)
	found := Found{Fleet: f.Name, From: r.From, To: r.To, Figures: figuresOf(m, w), Advice: []Advised{},
		Declined: []Advised{}, Unjudged: report.Unjudged, Fits: report.Fits, Replayed: []string{}}
	places := placesOf(r.Text)
	all := make([]Advised, len(report.Advice))
	for i, a := range report.Advice {
		all[i] = Advised{Advice: a}
		if a.Key != advice.Members {
			all[i].File, all[i].Path = r.File, pathOf(r.Config, at, f, a.Key)
			all[i].Line, all[i].Stated = places.line(all[i].Path)
		}
	}
	for _, a := range all {
		if a.Rule == advice.RuleSlots {
			f.Workers.Slots = a.Whole // those that the workers have
		}
	}
	s := simulated{fleet: f, boot: bootOf(m), progress: cmp.Or(r.Progress, io.Discard)}
	if err := s.effects(ctx, h, w, all, &found); err != nil {
		return Found{}, err
	}
	found.sort(all, f.Objective.Quantile)
	return found, nil
}

// sort puts each advice where it belongs: among those to give, or among those that the simulation speaks against.
func (f *Found) sort(all []Advised, quantile float64) {
	for _, a := range all {
		if a.Effect != nil && !advice.Effects(a.Effect.Before, a.Effect.After, quantile) {
			f.Declined = append(f.Declined, a)
			continue
		}
		f.Advice = append(f.Advice, a)
	}
}

// stated returns what the configuration says of a fleet.
func stated(c *config.Config, f config.Fleet) advice.Stated {
	w := f.Workers
	s := advice.Stated{Slots: max(1, w.Slots), Batch: max(1, w.Batch), Local: f.Local(), Reported: f.Facts().Reported,
		Boot: w.Boot, Processing: f.Policy.Processing, Objective: f.Objective, Limits: f.Limits,
		Price: f.Policy.PricePerHour}
	if f.Local() {
		s.Visibility = w.Visibility
	}
	if len(f.Queues) == 1 && f.Queues[0].Own() {
		s.Retention = defaultRetention
		if i := queueOf(c, f); i >= 0 {
			s.Retention = c.Queues[i].Retention
		}
	}
	return s
}

// defaultRetention is that of an embedded queue which states none.
const defaultRetention = 4 * 24 * time.Hour

// queueOf returns the index of the fleet's embedded queue among the stated ones; -1 if it is not stated.
func queueOf(c *config.Config, f config.Fleet) int {
	return slices.IndexFunc(c.Queues, func(q config.Queue) bool { return q.Name == f.Queues[0].Name })
}

// bootOf returns the measured mean boot time; zero if none was measured.
func bootOf(m advice.Measured) time.Duration {
	if m.Boots.Count == 0 {
		return 0
	}
	return time.Duration(m.Boots.SumSeconds / float64(m.Boots.Count) * float64(time.Second))
}

// figuresOf returns the figures for the output.
func figuresOf(m advice.Measured, w recorded.Window) Figures {
	x := Figures{Messages: w.Messages, Cores: m.Usage.Cores, PeakBytes: m.Usage.PeakBytes,
		MemoryBytes: m.Usage.MemoryBytes, PeakSize: m.PeakSize, BootMean: shorter(bootOf(m).Seconds())}
	if m.Window > 0 {
		x.Covered = shorter(m.Covered.Seconds() / m.Window.Seconds())
	}
	if n := m.Processing.Count; n > 0 {
		x.ProcessingMean = shorter(m.Processing.SumSeconds / float64(n))
		x.ProcessingP95 = shorter(series.Quantile(m.Processing, 0.95))
	}
	for _, y := range []struct {
		into         **float64
		part, of     float64
		alsoRequired bool
	}{
		{&x.InTime, m.InTime, m.Ended, true},
		{&x.Utilization, m.Utilization * m.SlotSeconds, m.SlotSeconds, true},
		{&x.CoresPerCall, m.Usage.CPUSeconds, m.Usage.WallSeconds, m.Usage.Calls > 0},
	} {
		if y.of > 0 && y.alsoRequired {
			v := shorter(y.part / y.of)
			*y.into = &v
		}
	}
	if m.CPUPoints > 0 {
		v := shorter(m.CPU)
		x.CPU = &v
	}
	return x
}

// shorter rounds to what the measurements support.
func shorter(v float64) float64 { return math.Round(v*1e4) / 1e4 }

// Window reads the length of a window, such as 7d, 36h or 90m.
func Window(text string) (time.Duration, error) {
	number, days := strings.CutSuffix(text, "d")
	d, err := time.ParseDuration(text)
	if n, wrong := strconv.ParseFloat(number, 64); days && wrong == nil && n < 1e4 {
		d, err = time.Duration(n*24*float64(time.Hour)), nil
	}
	if err != nil || d < time.Minute || d > longestWindow {
		return 0, misuse.Setting("window", "found %q, allowed is 1m to 400d, such as 7d or 36h", text)
	}
	return d, nil
}

// longestWindow is the longest time for which a history keeps records.
const longestWindow = 400 * 24 * time.Hour

// NoFigures tells whether the history had nothing of the fleet in the window.
func (f Found) NoFigures() bool {
	return f.Figures.Covered == 0 && f.Figures.Messages == 0 && f.Figures.ProcessingMean == 0
}

// where names the place of an advice: file, line and path.
func (a Advised) where() string {
	switch {
	case a.Path == "":
		return "members"
	case a.Line == 0:
		return a.Path
	case !a.Stated:
		return fmt.Sprintf("%s:%d %s (not stated)", a.File, a.Line, a.Path)
	}
	return fmt.Sprintf("%s:%d %s", a.File, a.Line, a.Path)
}
