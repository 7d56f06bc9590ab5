// Command notify tells one person of a risk and names that person's contacts, as an example of recursive work on a
// graph. It reads a name from standard input, finds it in the graph of contacts, prints the contacts as children, and
// writes the notice, which stands for a mail, into a file. Everybody has met several others, so the tree is submitted
// with --visited: then each name is one node.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	graph := flag.String("graph", "contacts.json", "who met whom: an object of lists of names")
	mails := flag.String("mails", "mails", "the directory of the notices")
	flag.Parse()
	if err := notify(os.Stdin, os.Stdout, *graph, *mails); err != nil {
		fmt.Fprintln(os.Stderr, "notify:", err)
		os.Exit(1)
	}
}

// child is a line that names a child.
type child struct {
	Key string `json:"key"`
}

// notify works on one person. An unknown name is an error, and the attempt is retried.
func notify(in io.Reader, out io.Writer, graph, mails string) error {
	b, err := io.ReadAll(io.LimitReader(in, 1024))
	if err != nil {
		return err
	}
	name := strings.TrimSpace(string(b))
	text, err := os.ReadFile(graph)
	if err != nil {
		return err
	}
	var met map[string][]string
	if err := json.Unmarshal(text, &met); err != nil {
		return fmt.Errorf("read %s: %w", graph, err)
	}
	contacts, known := met[name]
	if !known {
		return fmt.Errorf("nobody called %.100q is in %s", name, graph)
	}
	if os.Getenv("MUSTER_TREE_DEPTH_LEFT") != "0" { // else the chain ends here
		lines := json.NewEncoder(out)
		for _, c := range contacts {
			if err := lines.Encode(child{c}); err != nil {
				return err
			}
		}
	}
	return write(mails, name, len(contacts))
}

// write adds a line to the person's notices. A mail server would be given the key, so that it sends each notice once
// also when the work is done twice; here the second line shows that it was.
func write(mails, name string, contacts int) error {
	if !filepath.IsLocal(name) || strings.ContainsRune(name, filepath.Separator) {
		return fmt.Errorf("%.100q is no name", name)
	}
	if err := os.MkdirAll(mails, 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(mails, name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "Dear %s, somebody whom you met is ill. You met %d others; they are told. [%s]\n", name,
		contacts, os.Getenv("MUSTER_IDEMPOTENCY_KEY"))
	if err := f.Close(); err != nil {
		return err
	}
	return err
}
