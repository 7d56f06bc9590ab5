package box

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-scale/muster/internal/durable"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/worlds"
	"github.com/muster-scale/muster/tools/score/arena"
)

// What the baselines did in each world is published beside the page, docs/quality-worlds.tsv: a reader sees which
// policy is best in which world, and a later run of the part plays the policy alone there, and all of them in further
// worlds. The file is tab-separated, a row for each world and baseline; rows whose policy is boundRow or oracleRow hold
// what the world allows. Lines with # say what was played.

// The rows of a world that are not of a baseline.
const (
	boundRow  = "(lower bound)"
	oracleRow = "(oracle)"
)

// columns is the head of the file. Figures are means over the draws of a world. For the oracle, launches and peak are
// those of its schedule, and in_time is 1 if that keeps the objective.
var columns = []string{"world", "policy", "loss", "worker_seconds", "in_time", "launches", "peak", "messages",
	"unfinished"}

// Published is what baselines did in worlds. The zero value has no worlds.
type Published struct {
	// Of tells what plays and how often: only for an equal Of do the figures hold. Tuned is the best setting of
	// [worlds.Reference].
	Of    string
	Tuned float64
	// worlds has each world by its number.
	worlds map[uint64]published
}

// published is one world: its digest with that of every message of its first draw, the outcomes of the baselines that
// answered, its lower bound and its oracle.
type published struct {
	digest string
	others []worlds.Outcome
	bound  float64
	oracle *oracle
}

// heads begin the lines that are no rows.
const ofHead, tunedHead, worldHead = "# of: ", "# tuned: ", "# world "

// ReadPublished reads the file at path. A file that is not there has no worlds.
func ReadPublished(path string) (Published, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return Published{}, nil
	}
	if err != nil {
		return Published{}, err
	}
	p, err := parsePublished(text)
	if err != nil {
		return Published{}, fmt.Errorf("read what baselines did: %s: %w; remove it, and it is written anew", path, err)
	}
	return p, nil
}

// parsePublished reads the text of a file.
func parsePublished(text []byte) (Published, error) {
	p := Published{worlds: map[uint64]published{}}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if of, ok := strings.CutPrefix(line, ofHead); ok {
			p.Of = of
		}
		if tuned, ok := strings.CutPrefix(line, tunedHead); ok {
			p.Tuned, _ = strconv.ParseFloat(tuned, 64) // 0 is no setting, so nothing is taken from the file
		}
		if world, ok := strings.CutPrefix(line, worldHead); ok {
			var number uint64
			var w published
			if _, err := fmt.Sscanf(world, "%d %s", &number, &w.digest); err != nil {
				return p, fmt.Errorf("the line %q: %w", line, err)
			}
			p.worlds[number] = w
		}
	}
	r := csv.NewReader(bytes.NewReader(text))
	r.Comma, r.Comment, r.FieldsPerRecord = '\t', '#', len(columns)
	rows, err := r.ReadAll()
	if err != nil {
		return p, err
	}
	for i, row := range rows {
		if i == 0 {
			continue
		}
		number, err := strconv.ParseUint(row[0], 10, 64)
		var v [7]float64
		for k, text := range row[2:] {
			if text == "" && (row[1] == boundRow || row[1] == oracleRow) {
				continue // they have no such figure, and it is not read
			}
			var wrong error
			v[k], wrong = strconv.ParseFloat(text, 64)
			err = errors.Join(err, wrong)
		}
		if err != nil {
			return p, fmt.Errorf("row %d: %w", i, err)
		}
		w := p.worlds[number]
		switch row[1] {
		case boundRow:
			w.bound = v[1]
		case oracleRow:
			w.oracle = &oracle{launches: v[3], workers: v[4], kept: v[2] == 1}
		default:
			w.others = append(w.others, worlds.Outcome{World: number, Policy: row[1], Loss: v[0], WorkerSeconds: v[1],
				InTime: v[2], Launches: int(v[3]), Peak: int(v[4]), Messages: int64(v[5]), Unfinished: int64(v[6])})
		}
		p.worlds[number] = w
	}
	return p, nil
}

// text returns the file for worlds that were played. Six digits are more than a page shows. A cell is empty where there
// is no such figure.
func (p Published) text(all []drawn) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# What every other policy does in each world of quality.md. Written by make score; do not edit.\n"+
		"%s%s\n%s%g\n%s\n", ofHead, p.Of, tunedHead, p.Tuned, strings.Join(columns, "\t"))
	row := func(world uint64, policy string, values ...float64) {
		fmt.Fprintf(&b, "%d\t%s", world, policy)
		for _, v := range values {
			b.WriteByte('\t')
			if !math.IsNaN(v) {
				b.WriteString(strconv.FormatFloat(v, 'g', 6, 64))
			}
		}
		b.WriteByte('\n')
	}
	none := math.NaN()
	for _, d := range all {
		fmt.Fprintf(&b, "%s%d %s\n", worldHead, d.number, d.digest)
		if d.bound > 0 {
			row(d.number, boundRow, none, d.bound, none, none, none, none, none)
		}
		if o := d.oracle; o != nil {
			kept := 0.0
			if o.kept {
				kept = 1
			}
			row(d.number, oracleRow, none, none, kept, o.launches, o.workers, none, none)
		}
		for _, o := range d.others {
			row(d.number, o.Policy, o.Loss, o.WorkerSeconds, o.InTime, float64(o.Launches), float64(o.Peak),
				float64(o.Messages), float64(o.Unfinished))
		}
	}
	return b.Bytes()
}

// playAll plays the policy in all worlds, and the baselines where the file does not have what they did. It returns the
// worlds and the reference at its best setting, which is among the others, and writes the file anew if more was played.
func (b *Box) playAll(baselines []contest.Contender) ([]drawn, contest.Contender, error) {
	now := Published{Of: fmt.Sprintf("baselines %s, each world %s, lower bounds %d", b.Print, b.timesPlayed(),
		arena.LimitRevision)}
	past, err := ReadPublished(b.Outcomes)
	if err != nil {
		return nil, contest.Contender{}, err
	}
	if b.Print == "" || past.Of != now.Of || !(past.Tuned > 0) {
		past = Published{}
	}
	known, digests, err := b.knownFrom(past)
	if err != nil {
		return nil, contest.Contender{}, err
	}
	tuned, err := b.tunedAsIn(past)
	if err != nil {
		return nil, tuned, err
	}
	others := baselines
	// The best setting may be the default one; then it plays only once.
	if tuned.Name != worlds.Reference {
		others = append(others[:len(others):len(others)], tuned)
	}
	b.Say("   plays %d worlds, and the baselines in %d of them", len(b.Numbers), len(b.Numbers)-len(known))
	all, err := b.playDrawn(b.Numbers, arena.Ours(), others, known)
	if err != nil {
		return nil, tuned, err
	}
	for i := range all {
		d := &all[i]
		d.digest = digests[d.number]
		if w, ok := known[d.number]; ok {
			d.others, d.bound, d.oracle = w.others, w.bound, w.oracle
			d.missing(others)
		}
	}
	if b.Outcomes == "" || len(known) == len(b.Numbers) {
		return all, tuned, nil
	}
	now.Tuned = tuned.Value
	kept := slices.Clone(all) // and what the file has of other worlds
	for _, n := range slices.Sorted(maps.Keys(past.worlds)) {
		if w := past.worlds[n]; !slices.Contains(b.Numbers, n) {
			kept = append(kept, drawn{number: n, digest: w.digest, others: w.others, bound: w.bound, oracle: w.oracle})
		}
	}
	return all, tuned, durable.Replace(b.Outcomes, func(to io.Writer) error {
		_, err := to.Write(now.text(kept))
		return err
	})
}

// knownFrom returns those worlds of the part that a file has, and the digests of all: a world that is drawn otherwise
// than in the file is not known.
func (b *Box) knownFrom(past Published) (known map[uint64]published, digests map[uint64]string, err error) {
	const once = 1
	all, err := b.inWorlds(b.Numbers, once, func(w worlds.World, p contest.Prepared) (d drawn, err error) {
		d.number = w.Number
		d.digest, err = w.Digest(p)
		return d, err
	})
	known, digests = map[uint64]published{}, map[uint64]string{}
	for _, d := range all {
		digests[d.number] = d.digest[:min(len(d.digest), 16)] // 64 bits tell worlds apart
		if w, ok := past.worlds[d.number]; ok && w.digest == digests[d.number] {
			known[d.number] = w
		}
	}
	return known, digests, err
}

// tunedAsIn returns the reference at its best setting, as a file has it, or as playing finds it.
func (b *Box) tunedAsIn(past Published) (contest.Contender, error) {
	if past.Tuned > 0 {
		return contest.Find(fmt.Sprintf("%s[%g]", worlds.Reference, past.Tuned))
	}
	return b.tunedReference()
}

// missing names the baselines without an outcome as unanswered.
func (d *drawn) missing(baselines []contest.Contender) {
	for _, c := range baselines {
		if d.other(c.Name) == nil {
			d.unanswered = append(d.unanswered, c.Name)
		}
	}
}
