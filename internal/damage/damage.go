// Package damage spoils files as broken disks, careless copies and people do: it flips a bit, cuts off
// the end, zeroes or garbles a sector or a page, or removes a file. Tests use it to prove that a store
// notices damage and says what it lost.
//
// [Draw] chooses a [Damage] at random, by a seeded source, so a failing test can be repeated.
// [Damage.Apply] does it to the file; [Damage.Spoil] does it to a content in memory. [Copy] keeps an
// undamaged copy to compare with.
//
// The damage is done to files that no program has open. A disk that loses its power while a program
// writes is package powercut.
package damage

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// Kind is a kind of damage.
type Kind uint8

// The kinds of damage.
const (
	// Flip changes one bit.
	Flip Kind = iota
	// Cut ends the file at a byte.
	Cut
	// ZeroSector and ZeroPage overwrite an aligned sector or page with zeros.
	ZeroSector
	ZeroPage
	// Garble overwrites an aligned sector with random bytes.
	Garble
	// Miss removes the file.
	Miss
	kinds
)

// The units of the damages, in bytes. They are those of a disk and of SQLite.
const (
	sectorBytes = 512
	pageBytes   = 4096
)

// String returns a name for messages of tests.
func (k Kind) String() string {
	return [...]string{"a flipped bit", "a cut", "a zeroed sector", "a zeroed page", "a garbled sector",
		"a missing file"}[k]
}

// Damage is one damage of one file.
type Damage struct {
	Kind Kind
	// File is the name of the file, relative to the directory.
	File string
	// At is the first damaged byte, and Bit the bit of that byte for a Flip.
	At   int64
	Bit  uint8
	seed uint64
}

// String describes the damage for the failure of a test.
func (d Damage) String() string {
	switch d.Kind {
	case Flip:
		return fmt.Sprintf("%s: bit %d of byte %d is flipped", d.File, d.Bit, d.At)
	case Cut:
		return fmt.Sprintf("%s: cut at byte %d", d.File, d.At)
	case ZeroSector:
		return fmt.Sprintf("%s: the sector at byte %d is zeroed", d.File, d.At)
	case ZeroPage:
		return fmt.Sprintf("%s: the page at byte %d is zeroed", d.File, d.At)
	case Garble:
		return fmt.Sprintf("%s: the sector at byte %d is garbled (%d)", d.File, d.At, d.seed)
	}
	return d.File + ": missing"
}

// Draw chooses a damage of one of the files below dir that are not empty. Half of the damages are drawn
// by file, so that small files get their share, the others by byte.
func Draw(chance *rand.Rand, dir string) (Damage, error) {
	files, err := Files(dir)
	if err != nil {
		return Damage{}, err
	}
	var sum int64
	for _, f := range files {
		sum += f.Bytes
	}
	if sum == 0 {
		return Damage{}, errors.New("draw a damage: no file has any content")
	}
	at := chance.Int64N(sum)
	if chance.IntN(2) == 0 {
		f := files[chance.IntN(len(files))]
		return draw(chance, f.Name, f.Bytes, chance.Int64N(f.Bytes)), nil
	}
	for _, f := range files {
		if at < f.Bytes {
			return draw(chance, f.Name, f.Bytes, at), nil
		}
		at -= f.Bytes
	}
	return Damage{}, errors.New("draw a damage: the files changed")
}

// draw chooses a damage at about the byte at of a file. Sectors and pages are aligned.
func draw(chance *rand.Rand, name string, _, at int64) Damage {
	d := Damage{Kind: Kind(chance.IntN(int(kinds))), File: name, At: at, Bit: uint8(chance.IntN(8)),
		seed: chance.Uint64()}
	switch d.Kind {
	case ZeroSector, Garble:
		d.At = at / sectorBytes * sectorBytes
	case ZeroPage:
		d.At = at / pageBytes * pageBytes
	}
	return d
}

// File is a file below a directory, with its size.
type File struct {
	Name  string
	Bytes int64
}

// Files returns the regular files below dir that are not empty, by name, so that a seed always chooses
// the same.
func Files(dir string) (files []File, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		stat, err := entry.Info()
		if err == nil && stat.Size() > 0 {
			name, _ := filepath.Rel(dir, path)
			files = append(files, File{name, stat.Size()})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the files to damage: %w", err)
	}
	return files, nil
}

// Apply does the damage to the file below dir.
func (d Damage) Apply(dir string) error {
	path := filepath.Join(dir, d.File)
	if d.Kind == Miss {
		return os.Remove(path)
	}
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, d.Spoil(b), 0o600)
	}
	if err != nil {
		return fmt.Errorf("do damage: %w", err)
	}
	return nil
}

// Spoil returns a damaged copy of content; empty for a Miss.
func (d Damage) Spoil(content []byte) []byte {
	b := slices.Clone(content)
	switch d.Kind {
	case Flip:
		b[d.At] ^= 1 << d.Bit
	case Cut:
		b = b[:d.At]
	case ZeroSector:
		clear(b[d.At:min(d.At+sectorBytes, int64(len(b)))])
	case ZeroPage:
		clear(b[d.At:min(d.At+pageBytes, int64(len(b)))])
	case Garble:
		chance := rand.New(rand.NewPCG(d.seed, 1))
		for i := d.At; i < min(d.At+sectorBytes, int64(len(b))); i++ {
			b[i] = byte(chance.Uint32())
		}
	default:
		b = nil
	}
	return b
}

// Copy copies the regular files below one directory to another.
func Copy(from, to string) error {
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(from, path)
		switch {
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		case !entry.Type().IsRegular():
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), b, 0o600)
	})
	if err != nil {
		return fmt.Errorf("copy the files to damage: %w", err)
	}
	return nil
}
