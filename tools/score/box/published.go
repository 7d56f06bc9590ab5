package box

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

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

// text returns the file for worlds that were played, which have the given digests. Six digits are more than a page
// shows.
func (p Published) text(all []drawn, digests map[uint64]string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# What every other policy does in each world of quality.md. Written by make score; do not edit.\n"+
		"%s%s\n%s%g\n%s\n", ofHead, p.Of, tunedHead, p.Tuned, strings.Join(columns, "\t"))
	row := func(world uint64, policy string, values ...float64) {
		fmt.Fprintf(&b, "%d\t%s", world, policy)
		for _, v := range values {
			b.WriteByte('\t')
			b.WriteString(strconv.FormatFloat(v, 'g', 6, 64))
		}
		b.WriteByte('\n')
	}
	for _, d := range all {
		fmt.Fprintf(&b, "%s%d %s\n", worldHead, d.number, digests[d.number])
		if d.bound > 0 {
			row(d.number, boundRow, 0, d.bound, 0, 0, 0, 0, 0)
		}
		if o := d.oracle; o != nil {
			kept := 0.0
			if o.kept {
				kept = 1
			}
			row(d.number, oracleRow, 0, 0, kept, o.launches, o.workers, 0, 0)
		}
		for _, o := range d.others {
			row(d.number, o.Policy, o.Loss, o.WorkerSeconds, o.InTime, float64(o.Launches), float64(o.Peak),
				float64(o.Messages), float64(o.Unfinished))
		}
	}
	return b.Bytes()
}

// digests returns the digest of each world, with that of every message of its first draw.
func (b *Box) digests() (map[uint64]string, error) {
	all := map[uint64]string{}
	var lock sync.Mutex
	err := arena.Each(len(b.Numbers), func(i int) error {
		done, err := b.Turn()
		defer done()
		if err != nil {
			return err
		}
		w := b.Draw(b.Numbers[i])
		p, err := worlds.Prepare(w)
		if err != nil {
			return err
		}
		digest, err := w.Digest(p)
		lock.Lock()
		defer lock.Unlock()
		all[w.Number] = digest[:min(len(digest), 16)]
		return err
	})
	return all, err
}

// playAll plays the policy in all worlds, and the baselines where the file does not have what they did. It returns the
// worlds and the reference at its best setting, which is among the others, and writes the file anew if more was played.
func (b *Box) playAll(baselines []contest.Contender) ([]drawn, contest.Contender, error) {
	var none contest.Contender
	now := Published{Of: fmt.Sprintf("baselines %s, each world %s, lower bounds %d", b.Print, b.timesPlayed(),
		arena.LimitRevision)}
	past, err := ReadPublished(b.Outcomes)
	if err != nil {
		return nil, none, err
	}
	if b.Print == "" || past.Of != now.Of || !(past.Tuned > 0) {
		past = Published{}
	}
	digests, err := b.digests()
	if err != nil {
		return nil, none, err
	}
	var missing []uint64
	for _, n := range b.Numbers {
		if w, ok := past.worlds[n]; !ok || w.digest != digests[n] {
			missing = append(missing, n)
		}
	}
	tuned, err := b.tunedAsIn(past)
	if err != nil {
		return nil, none, err
	}
	others := baselines
	// The best setting may be the default one; then it plays only once.
	if tuned.Name != worlds.Reference {
		others = append(others[:len(others):len(others)], tuned)
	}
	b.Say("   plays %d worlds, and the baselines in %d of them", len(b.Numbers), len(missing))
	played, err := b.playDrawn(missing, arena.Ours(), others, true)
	if err != nil {
		return nil, none, err
	}
	var known []uint64
	for _, n := range b.Numbers {
		if !slices.Contains(missing, n) {
			known = append(known, n)
		}
	}
	alone, err := b.playDrawn(known, arena.Ours(), nil, false)
	if err != nil {
		return nil, none, err
	}
	for i := range alone {
		w := past.worlds[alone[i].number]
		alone[i].others, alone[i].bound, alone[i].oracle = w.others, w.bound, w.oracle
		alone[i].missing(others)
	}
	all := append(played, alone...)
	slices.SortFunc(all, func(x, y drawn) int {
		return cmp.Compare(slices.Index(b.Numbers, x.number), slices.Index(b.Numbers, y.number))
	})
	if b.Outcomes == "" || len(missing) == 0 {
		return all, tuned, nil
	}
	now.Tuned = tuned.Value
	kept := slices.Clone(all) // and what the file has of other worlds
	for _, n := range slices.Sorted(maps.Keys(past.worlds)) {
		if w := past.worlds[n]; !slices.Contains(b.Numbers, n) {
			kept = append(kept, drawn{number: n, others: w.others, bound: w.bound, oracle: w.oracle})
			digests[n] = w.digest
		}
	}
	return all, tuned, os.WriteFile(b.Outcomes, now.text(kept, digests), 0o644)
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
