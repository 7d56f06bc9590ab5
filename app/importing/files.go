package importing

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/muster-scale/muster/config/foreign"
	"github.com/muster-scale/muster/internal/misuse"
)

// Files reads the named files. A directory stands for its Terraform files and those of the local modules it calls; - is
// in. Errors are about the request.
func Files(in io.Reader, names []string) (files []foreign.File, err error) {
	for _, name := range names {
		if name == "-" {
			text, err := io.ReadAll(io.LimitReader(in, foreign.MaxBytes+1))
			if err != nil {
				return nil, misuse.Errorf("read what to import from standard input: %w", err)
			}
			files = append(files, foreign.File{Name: "standard input", Text: text})
			continue
		}
		var of []foreign.File
		if about, statErr := os.Stat(name); statErr == nil && about.IsDir() {
			of, err = modulesIn(name)
		} else {
			of, err = readFiles([]string{name}, false)
		}
		if err != nil {
			return nil, misuse.Wrap(err)
		}
		files = append(files, of...)
	}
	return files, nil
}

// readFiles reads files. called says that they belong to a module that another one calls.
func readFiles(names []string, called bool) (files []foreign.File, err error) {
	for _, name := range names {
		text, err := readBounded(name)
		if err != nil {
			return nil, err
		}
		files = append(files, foreign.File{Name: name, Text: text, Called: called})
	}
	return files, nil
}

// localModule matches the source of a module that is given as a relative directory.
var localModule = regexp.MustCompile(`(?m)(?:^\s*source\s*=|"source"\s*:)\s*"(\.\.?/[^"$]*)"`)

// maxModules bounds the directories that are read for one name.
const maxModules = 200

// modulesIn reads the module in a directory and the local modules that it calls.
func modulesIn(root string) (files []foreign.File, err error) {
	directories := []string{filepath.Clean(root)}
	// The list grows while it is read: a called module may call others, even itself.
	for i := 0; i < len(directories) && i < maxModules; i++ {
		names, err := terraformFiles(directories[i])
		if err != nil {
			return nil, err
		}
		if len(names) == 0 && i == 0 {
			return nil, fmt.Errorf("%s is a directory without Terraform files (*.tf); name files", root)
		}
		of, err := readFiles(names, i > 0)
		if err != nil {
			return nil, err
		}
		files = append(files, of...)
		for _, f := range of {
			for _, m := range localModule.FindAllSubmatch(f.Text, -1) {
				if to := filepath.Join(directories[i], string(m[1])); !slices.Contains(directories, to) {
					directories = append(directories, to)
				}
			}
		}
	}
	return files, nil
}

// terraformFiles returns the Terraform files in a directory. Variable files count only for the root module; package
// foreign ignores those of called ones.
func terraformFiles(directory string) (names []string, err error) {
	for _, pattern := range []string{
		"*.tf", "*.tf.json", "terraform.tfvars", "*.auto.tfvars", "terraform.tfvars.json", "*.auto.tfvars.json",
	} {
		found, err := filepath.Glob(filepath.Join(directory, pattern))
		if err != nil {
			return nil, fmt.Errorf("find the Terraform files in %s: %w", directory, err)
		}
		names = append(names, found...)
	}
	slices.Sort(names)
	return names, nil
}

// readBounded reads one byte more than is accepted, so that the parser reports a file that is too large.
func readBounded(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read what to import: %w", err)
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, foreign.MaxBytes+1))
}
